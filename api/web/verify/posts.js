/**
 * Hourly anchors against their contract: were exactly these roots posted, in these blocks, in every
 * hour, and is each row no older than the first block that holds it?
 *
 * Every epoch that was posted needs its line, changed or not: a fork that was shown for an hour and
 * taken back stands in that hour's root, and nowhere else. The contract's logs must be as many as its
 * roots are linked. Source: api/client/verify/anchors_check.py.
 */

/** @import {Anchor, Block, EpochPost, Log, RecordFile, Row} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */
/** @import {Pauses} from "./pause.js" */

import { AbiError, decodeValues } from "./abi.js";
import { bytesOf, concat, hexOf, keccak, utf8 } from "./bytes.js";
import { UncheckedError } from "./findings.js";
import { RefusedError } from "./node.js";
import { secondOf } from "./times.js";

const PART = "anchors";
const EPOCH_S = 3_600;
const LATE_S = 2 * EPOCH_S; // after the end of an epoch: what is posted later proves no time
const SHOWN = 10;
const OWED_S = EPOCH_S; // what was posted so long before the record's end must be in it
const MOST_DISOWNED_S = 7 * 24 * EPOCH_S; // from the first post of a stolen key to the handover
const MOST_HOURS = (2 * MOST_DISOWNED_S) / EPOCH_S; // from a line before such hours to the rows
const NO_HOUR = 2n ** 40n; // of hours since 1970, beyond every clock
const START = hexOf(keccak(utf8("record-anchor:v1"))); // the root before the first
const ANCHORED = hexOf(keccak(utf8("Anchored(uint64,bytes32,bytes32)")));
const KEEPER_CHANGED = hexOf(keccak(utf8("KeeperChanged(address,address)")));

/**
 * Epochs that were posted and have no line here, by a key that the factory replaced in a later block.
 * @typedef {object} Handover
 * @property {number[]} epochs
 * @property {number} block
 * @property {number} lastHour in which nothing could be anchored
 */

/**
 * What the contract has posted up to the record's end. `times` of the blocks, by height; `readS` of
 * the last block that was read, `untilS` likewise: of a record that names none nobody knows when it
 * was exported, only that it was after its newest row.
 * @typedef {object} Posted
 * @property {Map<number, EpochPost>} posts by epoch, from the record's first anchor on
 * @property {number} newest the contract's own word
 * @property {boolean} isBegun something was posted at all
 * @property {Map<number, number>} times
 * @property {number} last the last block that was read
 * @property {number} readS
 * @property {number} untilS
 */

/** @param {string} time a record's */
const epochOf = (time) => Math.floor(secondOf(time) / EPOCH_S);
/** The second at which it ends; that second is of the next one. @param {number} epoch */
const endOf = (epoch) => (epoch + 1) * EPOCH_S;
/** @param {readonly Row[]} rows */
const oldestEpoch = (rows) =>
  rows.reduce(
    (least, row) => Math.min(least, epochOf(row.occurredAt), epochOf(row.createdAt)),
    Number.MAX_SAFE_INTEGER,
  );

/**
 * `anchor`, `factory`: the contracts that are trusted. Errors: UncheckedError.
 * @param {RecordFile} record @param {Node} node @param {{anchor: string, factory: string}} trusted
 * @param {Report} report @param {Pauses} pauses
 */
export async function checkPosts(record, node, { anchor, factory }, report, pauses) {
  const posted = await postedBy(record, node, anchor);
  const handovers = await handoversOf(record, node, factory, posted);
  compareLines(record.anchors, posted, report);
  compareStart(record, posted, report);
  await compareTimes(record, posted, handovers, report, pauses);
  report.counts.anchors = record.anchors.length;
  compareEpochs(record, posted, handovers, report);
}

/** @param {RecordFile} record @param {Node} node @param {string} anchor @returns {Promise<Posted>} */
async function postedBy(record, node, anchor) {
  const last = await lastBlock(record, node);
  const owed = firstOwed(record);
  // never the block that a line names: lines that name later ones hid every post
  const first = owed === null ? last.number : await node.firstAfter(endOf(owed), last.number);
  /** @type {EpochPost[]} */
  const posts = [];
  const filter = { address: anchor, topics: [ANCHORED] };
  for await (const log of node.logs(PART, filter, first, last.number)) posts.push(postOf(log));
  const at = { blockHash: last.hash };
  const newest = hourOf(await wordOf(node, anchor, "epoch()", at));
  const root = hexOf(await wordOf(node, anchor, "root()", at));
  requireLinks(posts, newest, root, owed);
  const heights = [...new Set(posts.map((post) => post.blockNumber))];
  const blocks = await node.blocks(heights);
  const newestRow = record.rows.at(-1);
  const hasEnd = record.head?.asOf !== undefined && record.head.asOf !== null;
  return {
    posts: new Map(posts.map((post) => [post.epoch, post])),
    newest,
    isBegun: root !== START,
    times: new Map([...blocks.values()].map((block) => [block.number, block.at])),
    last: last.number,
    readS: last.at,
    untilS: hasEnd || newestRow === undefined ? last.at : secondOf(newestRow.createdAt),
  };
}

/** @param {RecordFile} record @param {Node} node @returns {Promise<Block>} */
async function lastBlock(record, node) {
  const height = record.head?.asOf?.blockNumber ?? (await node.newest());
  const block = (await node.blocks([height])).get(height);
  if (block === undefined) throw new UncheckedError(PART, `the node has no block ${height}`);
  return block;
}

/** The epoch of the first line; without any, of the oldest row. Null: of a file with neither.
 * @param {RecordFile} record
 */
function firstOwed({ rows, anchors }) {
  const least = anchors.reduce((one, line) => Math.min(one, line.epoch), Number.MAX_SAFE_INTEGER);
  if (rows.length === 0) return anchors.length === 0 ? null : least;
  const oldest = oldestEpoch(rows);
  // no record has a line of an earlier hour, unless a stolen key posted those between
  return Math.max(anchors.length === 0 ? oldest : least, oldest - 1 - MOST_HOURS);
}

/** @param {Log} log @returns {EpochPost} */
function postOf(log) {
  const { topics, data, blockNumber, blockHash, txHash } = log;
  if (topics.length !== 2 || topics[0] !== ANCHORED) {
    throw new UncheckedError(PART, "the log is not an Anchored event");
  }
  const [root, rootBefore] = decoded(["bytes32", "bytes32"], bytesOf(data)).map(String);
  const epoch = hourOf(bytesOf(topics[1] ?? "0x"));
  return { epoch, root: root ?? "", rootBefore: rootBefore ?? "", blockNumber, blockHash, txHash };
}

/** @param {Node} node @param {string} anchor @param {string} call
 * @param {{blockHash: string}} at
 */
async function wordOf(node, anchor, call, at) {
  const data = hexOf(concat(keccak(utf8(call)).subarray(0, 4)));
  try {
    const answer = await node.call(PART, { to: anchor, data }, at);
    return bytesOf(String(decoded(["bytes32"], answer)[0]));
  } catch (error) {
    throw error instanceof RefusedError ? new UncheckedError(PART, error.message) : error;
  }
}

/** What a node says may be any number. @param {Uint8Array} bytes */
function hourOf(bytes) {
  const epoch = BigInt(hexOf(bytes));
  if (epoch >= NO_HOUR) throw new UncheckedError(PART, `no clock has the epoch ${epoch}`);
  return Number(epoch);
}

/** @param {string[]} types @param {Uint8Array} data */
function decoded(types, data) {
  try {
    return decodeValues(types, data);
  } catch (error) {
    throw error instanceof AbiError ? new UncheckedError(PART, error.message) : error;
  }
}

/**
 * A log that the node holds back breaks the links; all of them, the contract's own word. Errors:
 * UncheckedError.
 * @param {readonly EpochPost[]} posts @param {number} newest @param {string} root
 * @param {number | null} owed
 */
function requireLinks(posts, newest, root, owed) {
  const [first, last] = [posts[0], posts.at(-1)];
  if (first === undefined || last === undefined) {
    if (owed === null || owed > newest) return;
    throw new UncheckedError(PART, "the node has no logs of what the contract posted");
  }
  if (owed !== null && first.epoch > owed && first.rootBefore !== START) {
    const text = `the node has no log of what the contract posted before epoch ${first.epoch}`;
    throw new UncheckedError(PART, text);
  }
  const isLinked = posts.every((post, at) => at === 0 || post.rootBefore === posts[at - 1]?.root);
  if (!isLinked || last.epoch !== newest || last.root !== root) {
    throw new UncheckedError(PART, "the node's logs are not all that the contract posted");
  }
}

/**
 * Hours without a line are no fault where the factory named another keeper after the last of them,
 * before the next line, and at most a week after the first
 * (docs/decisions/0056-anchors-after-a-handover.md). Errors: UncheckedError.
 * @param {RecordFile} record @param {Node} node @param {string} factory @param {Posted} posted
 */
async function handoversOf(record, node, factory, posted) {
  const leftOut = leftOutOf(record, posted);
  /** @type {Handover[]} */
  const found = [];
  /** @type {number[]} */
  let group = [];
  for (const epoch of [...owedEpochs(record, posted), null]) {
    if (epoch !== null && leftOut.has(epoch)) {
      group.push(epoch);
      continue;
    }
    const one = await handoverOf(record, node, factory, posted, group);
    if (one !== null) found.push(one);
    group = [];
  }
  return found;
}

/** @param {RecordFile} record @param {Node} node @param {string} factory @param {Posted} posted
 * @param {number[]} epochs
 * @returns {Promise<Handover | null>}
 */
async function handoverOf({ anchors }, node, factory, posted, epochs) {
  const [first, last] = [epochs[0], epochs.at(-1)].map((one) => posted.posts.get(one ?? -1));
  if (first === undefined || last === undefined) return null;
  const lines = anchors.filter((line) => line.epoch > last.epoch && posted.posts.has(line.epoch));
  const until = leastOf(
    lines.map((line) => posted.posts.get(line.epoch)?.blockNumber ?? posted.last),
    posted.last,
  );
  const filter = { address: factory, topics: [KEEPER_CHANGED] };
  // the block of the last one too: whoever sees the handover coming posts right before it
  for await (const { blockNumber } of node.logs(PART, filter, last.blockNumber, until)) {
    const block = (await node.blocks([blockNumber])).get(blockNumber);
    const since = posted.times.get(first.blockNumber) ?? 0;
    if (block === undefined || block.at - since > MOST_DISOWNED_S) return null;
    return { epochs, block: blockNumber, lastHour: Math.floor(block.at / EPOCH_S) };
  }
  return null;
}

/** @param {Handover} one @param {number} epoch */
const isOf = (one, epoch) => (one.epochs[0] ?? Infinity) <= epoch && epoch <= one.lastHour;

/** Those that were posted, from the first whose post is owed a line.
 * @param {RecordFile} record @param {Posted} posted
 */
function owedEpochs({ rows, anchors }, posted) {
  const oldest = rows.length > 0 ? oldestEpoch(rows) : posted.newest + 1;
  const first = leastOf(
    anchors.map((line) => line.epoch),
    oldest,
  );
  return [...posted.posts.keys()].filter((epoch) => epoch >= first).sort((a, b) => a - b);
}

/** Those without a line that were posted long before the record's end, or before its last line.
 * @param {RecordFile} record @param {Posted} posted
 */
function leftOutOf(record, posted) {
  const lines = new Set(record.anchors.map((line) => line.epoch));
  const newestLine = record.anchors.reduce((most, line) => Math.max(most, line.epoch), 0);
  const isOwed = (/** @type {number} */ epoch) =>
    epoch < newestLine || timeOf(posted, epoch) <= posted.untilS - OWED_S;
  return new Set(owedEpochs(record, posted).filter((epoch) => !lines.has(epoch) && isOwed(epoch)));
}

/** @param {Posted} posted @param {number} epoch */
const timeOf = (posted, epoch) =>
  posted.times.get(posted.posts.get(epoch)?.blockNumber ?? -1) ?? posted.untilS;

/** @param {readonly Anchor[]} lines @param {Posted} posted @param {Report} report */
function compareLines(lines, posted, report) {
  for (const line of lines) {
    const post = posted.posts.get(line.epoch);
    const isSame =
      post !== undefined &&
      post.root === line.root &&
      post.rootBefore === line.rootBefore &&
      post.blockNumber === line.blockNumber &&
      post.blockHash === line.blockHash &&
      post.txHash === line.txHash;
    if (isSame) continue;
    const text = `epoch ${line.epoch} is ${line.root} in block ${line.blockNumber} here`;
    const said = post === undefined ? "nothing" : `${post.root} in block ${post.blockNumber}`;
    report.say("anchor.post", line.seq || null, `${text}, the contract posted ${said}`);
  }
}

/** The first line proves that there was no row yet, or is the contract's first post.
 * @param {RecordFile} record @param {Posted} posted @param {Report} report
 */
function compareStart({ rows, anchors }, posted, report) {
  const first = anchors[0];
  if (first === undefined || rows.length === 0) return;
  const oldest = oldestEpoch(rows);
  const post = posted.posts.get(first.epoch) ?? first;
  if (post.rootBefore === START || (first.seq === 0 && first.epoch <= oldest)) return;
  const text = `the first anchor is of epoch ${first.epoch} and holds ${first.seq} rows`;
  report.say("anchor.start", null, `${text}; the rows begin in epoch ${oldest}`);
}

/** A row is no older than the first block that holds it, and no newer.
 * @param {RecordFile} record @param {Posted} posted @param {readonly Handover[]} handovers
 * @param {Report} report @param {Pauses} pauses
 */
async function compareTimes(record, posted, handovers, report, pauses) {
  /** @type {Map<Handover, number>} */
  const unproven = new Map(handovers.map((one) => [one, 0]));
  const lines = record.anchors.filter((line) => posted.times.has(line.blockNumber));
  /** @type {number[]} */
  const late = [];
  let most = 0;
  const seqs = lines.map((line) => (most = Math.max(most, line.seq)));
  for (const row of record.rows) {
    if (pauses.isDue) await pauses.pause();
    const at = firstFrom(seqs, row.seq);
    const [before, holds] = [lines[at - 1], lines[at]];
    const epoch = epochOf(row.createdAt);
    if (before !== undefined && before.epoch >= epoch) {
      const text = `block ${before.blockNumber} of epoch ${before.epoch} does not hold it`;
      report.say("anchor.backdated", row.seq, `says ${row.createdAt}, and ${text}`);
    }
    if (holds === undefined || !isHeldLate(row, epoch, holds, posted, report)) continue;
    const excuse = handovers.find((one) => isOf(one, epoch));
    if (excuse === undefined) late.push(row.seq);
    else unproven.set(excuse, (unproven.get(excuse) ?? 0) + 1);
  }
  for (const [{ epochs, block }, count] of unproven) {
    const text = `epochs ${epochs[0]} to ${epochs.at(-1)} were posted by a key that was handed over`;
    const rows = `the times of ${count} rows of these hours are the service's word`;
    report.remark(`${text} in block ${block}, and have no anchor here: ${rows}`);
  }
  if (late.length === 0) return;
  const named = late.slice(0, SHOWN).join(", ") + (late.length > SHOWN ? ", ..." : "");
  const text = `the hours of ${late.length} rows (${named}) were posted more than two hours late`;
  const why = "as after an outage; when these rows were written is the service's word";
  report.remark(`${PART}: ${text}, ${why}`);
}

/** Whether its hour was posted too late to prove its time.
 * @param {Row} row @param {number} epoch @param {Anchor} holds @param {Posted} posted
 * @param {Report} report
 */
function isHeldLate(row, epoch, holds, posted, report) {
  const [heldS, createdS] = [posted.times.get(holds.blockNumber) ?? 0, secondOf(row.createdAt)];
  const isLater = createdS > heldS || (createdS === heldS && !row.createdAt.endsWith(".000000Z"));
  if (isLater) {
    const text = `block ${holds.blockNumber} before that holds it`;
    report.say("anchor.postdated", row.seq, `says ${row.createdAt}, and ${text}`);
    return false;
  }
  return row.blockHash === null && heldS > endOf(epoch) + LATE_S;
}

/** The first place whose number is at least this, of rising ones.
 * @param {readonly number[]} numbers @param {number} wanted
 */
function firstFrom(numbers, wanted) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Every epoch was posted, and every one that was has its line, but those of a key that was handed
 * over. Errors: UncheckedError for epochs that the record may be too old to have.
 * @param {RecordFile} record @param {Posted} posted @param {readonly Handover[]} handovers
 * @param {Report} report
 */
function compareEpochs(record, posted, handovers, report) {
  const { rows } = record;
  const lines = new Set(record.anchors.map((line) => line.epoch));
  const disowned = new Set(handovers.flatMap((one) => one.epochs));
  const unlined = leftOutOf(record, posted);
  const epochs = owedEpochs(record, posted);
  const leftOut = [...unlined].filter((epoch) => !disowned.has(epoch));
  const later = epochs.filter(
    (epoch) =>
      !lines.has(epoch) && !unlined.has(epoch) && timeOf(posted, epoch) <= posted.readS - OWED_S,
  );
  sayEpochs(epochs, leftOut, disowned, posted, report);
  if (rows.length > 0 && lines.size === 0 && leftOut.length === 0 && posted.isBegun) {
    const text = "no anchor holds these rows yet, and none shows that there were no others before";
    throw new UncheckedError(PART, `${text}; export again once their hour is posted`);
  }
  if (later.length > 0 && !record.head?.asOf) {
    const text = `epochs ${later[0]} to ${later.at(-1)} were posted after the newest row`;
    throw new UncheckedError(PART, `${text} and have no anchor here; export again`);
  }
}

/** @param {Iterable<number>} numbers @param {number} otherwise where there is none */
function leastOf(numbers, otherwise) {
  let least = Infinity;
  for (const one of numbers) least = Math.min(least, one);
  return least === Infinity ? otherwise : least;
}

/** @param {readonly number[]} epochs @param {readonly number[]} leftOut
 * @param {ReadonlySet<number>} disowned @param {Posted} posted @param {Report} report
 */
function sayEpochs(epochs, leftOut, disowned, posted, report) {
  let start = leftOut[0];
  leftOut.forEach((epoch, at) => {
    if (leftOut[at + 1] === epoch + 1) return;
    report.say("anchor.left_out", null, `epochs ${start} to ${epoch} have no anchor here`);
    start = leftOut[at + 1];
  });
  epochs.forEach((epoch, at) => {
    const after = epochs[at + 1];
    if (after === undefined || after === epoch + 1) return;
    if (disowned.has(epoch) || disowned.has(after)) return;
    report.say("anchor.missing_epoch", null, `after epoch ${epoch} the contract has ${after}`);
  });
  const { newest, untilS } = posted;
  if (endOf(newest + 1) + LATE_S < untilS) {
    const hours = Math.floor((untilS - endOf(newest)) / EPOCH_S);
    const text = `the contract has nothing after epoch ${newest}`;
    report.say("anchor.missing_epoch", null, `${text}, and the record goes on for ${hours} hours`);
  }
}
