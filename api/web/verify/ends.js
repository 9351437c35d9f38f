/**
 * Where the record ends, what lies after it, and what it says was lost with a block.
 *
 * A chain forgets what it lost, and anybody can write that something was there and went. A node that
 * followed the chain at the time may still know the block by its hash. What no node knows is never
 * proven, and never sound.
 */

/** @import {Block, Row, Subject} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */

import { ofTerms } from "./expected.js";
import { UncheckedError } from "./findings.js";
import { secondOf } from "./times.js";

const BEHIND_S = 3_600; // by how much the newest row may be later than the block after the last one
const UP_TO_DATE_S = 900;
const AHEAD = 10_000;
const SHOWN = 10;

/**
 * `rows`: of blocks that are not in the chain, and taken back. `returned`: seqs of rows that were
 * taken back with a block that is in it. Errors: UncheckedError.
 * @param {readonly Row[]} rows @param {readonly number[]} returned @param {Node} node
 * @param {Report} report
 */
export async function checkLost(rows, returned, node, report) {
  if (returned.length > 0) {
    const text = `${returned.length} rows (${shown(returned)}) were taken back with blocks that are`;
    report.doubt(
      `lost blocks: ${text} in the chain; whether those were ever lost is the record's word`,
    );
  }
  const hashes = [...new Set(rows.map((row) => row.blockHash).filter((one) => one !== null))];
  const found = await node.blocksOf(hashes);
  const unknown = [];
  for (const row of rows) {
    const block = found.get(row.blockHash ?? "");
    if (block === undefined) unknown.push(row.seq);
    else compareLost(row, block, report);
  }
  if (unknown.length > 0) {
    const text = `${unknown.length} rows (${shown(unknown)}) were taken back with blocks that the`;
    report.doubt(
      `lost blocks: ${text} node does not know; whether there were any is the record's word`,
    );
  }
}

/** @param {Row} row @param {Block} block @param {Report} report */
function compareLost(row, block, report) {
  const { seq, blockHash, txHash } = row;
  if (block.number !== row.blockNumber) {
    report.say("row.place", seq, `block ${blockHash} has the height ${block.number}`);
  }
  if (block.at !== secondOf(row.occurredAt) || !row.occurredAt.endsWith(".000000Z")) {
    report.say("row.time", seq, `block ${blockHash} is of another time`);
  }
  if (!block.txHashes.includes(txHash ?? "")) {
    report.say("row.transaction", seq, `${txHash} is not in block ${blockHash}`);
  }
}

/**
 * What is after the record's last block, in words; null: nothing. Errors: UncheckedError.
 * @param {Subject} subject @param {string} vault @param {Block} last @param {Node} node
 */
export async function laterLogs(subject, vault, last, node) {
  const [first, newest] = [last.number + 1, await node.newest()];
  /** @type {[string, {address: string, topics?: unknown[]}][]} */
  const filters = [
    ["vault", { address: vault }],
    ["factory", ofTerms(subject, vault)],
  ]; // prettier-ignore
  for (const [who, filter] of filters) {
    for await (const log of node.logs(`later logs of the ${who}`, filter, first, newest)) {
      return `the ${who} has logs after it, the first in block ${log.blockNumber}`;
    }
  }
  return null;
}

/**
 * A record with rows that were written long after its last block says nothing of the chain in
 * between. Errors: UncheckedError for such a record.
 * @param {readonly Row[]} rows @param {Block} last @param {Node} node
 */
export async function checkRowsAfter(rows, last, node) {
  const after = (await node.blocks([last.number + 1])).get(last.number + 1);
  const newest = rows.at(-1);
  if (after === undefined || newest === undefined) return;
  const behind = secondOf(newest.createdAt) - after.at;
  if (behind <= BEHIND_S) return;
  const text = `its newest row was written ${Math.floor(behind / 60)} minutes after the next block`;
  const part = `the record ends at block ${last.number}`;
  throw new UncheckedError(part, `${text}, and nothing of the chain meanwhile is in it`);
}

/**
 * A last block that there is not yet. A node whose newest block is of these minutes is not behind:
 * that block is invented.
 * @param {number} height @param {number} newest @param {number} now @param {Node} node
 * @param {Report} report
 */
export async function judgeAhead(height, newest, now, node, report) {
  const block = (await node.blocks([newest])).get(newest);
  const isUpToDate = block !== undefined && now - block.at <= UP_TO_DATE_S;
  if (isUpToDate && height > newest + AHEAD) {
    const text = `the record is of block ${height}, the node is up to date and has ${newest}`;
    report.say("head.block", null, text);
  }
}

/** @param {readonly number[]} seqs */
const shown = (seqs) => seqs.slice(0, SHOWN).join(", ") + (seqs.length > SHOWN ? ", ..." : "");
