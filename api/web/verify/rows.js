/**
 * Each row against what the chain gives; reversals and occurrences against one another.
 *
 * A row of the chain is judged by the block that it names: in the chain, it must be exactly the
 * expected row; not in the chain, a later row must take it back. A row without a block is its
 * author's word, and may move no cash.
 */

/** @import {Block, Json, NewRow, Outcome, Row, Subject} from "./types.js" */
/** @import {Expected} from "./expected.js" */
/** @import {Report} from "./findings.js" */
/** @import {Pauses} from "./pause.js" */

import { canonical, isSame } from "./canonical.js";
import { keyOf } from "./expected.js";
import { declared, isTold } from "./forms.js";
import { FormError } from "./lines.js";
import { usdcText } from "./money.js";
import { microsOf } from "./times.js";

// by how much the clocks of the service and of the chain may differ
export const CLOCKS_S = 900;
const DRAFT_ENDS = ["cancelled", "signed"]; // one of both, whichever row comes first
const CLOCKS_US = BigInt(CLOCKS_S) * 1_000_000n;

/** @typedef {[number, number]} Place height and index of a log */

export class RowsCheck {
  /**
   * @param {Subject} subject @param {Row[]} rows @param {Expected} expected
   * @param {ReadonlyMap<number, Block>} blocks @param {ReadonlyMap<string, Outcome>} outcomes
   * @param {Report} report @param {{facts: number, fromBlock: number} | null} held what the record
   * itself says that it lacks
   */
  constructor(subject, rows, expected, blocks, outcomes, report, held) {
    this.subject = subject;
    this.rows = rows;
    this.expected = expected;
    this.blocks = blocks;
    this.outcomes = outcomes;
    this.report = report;
    this.held = held;
    this.reversed = new Set(rows.map((row) => row.reverses).filter((seq) => seq !== null));
    this.bySeq = new Map(rows.map((row) => [row.seq, row]));
    this.lastOf = new Map(
      rows.filter((row) => row.reverses === null).map((row) => [row.baseKey, row.seq]),
    );
    /** @type {Map<string, Row>} */
    this.standing = new Map();
    /** @type {Map<string, number>} */
    this.occurrences = new Map();
    /** Seqs of rows that were taken back with a block that stands. @type {number[]} */
    this.returned = [];
    /** Seqs of rows that a log gives exactly. @type {Set<number>} */
    this.proven = new Set();
    /** @type {Place} */
    this.last = [0, 0];
    /** Notes of the factory have an order of their own. @type {Place} */
    this.lastNote = [0, 0];
  }

  /** @param {Pauses} pauses */
  async run(pauses) {
    /** @type {Row | null} */
    let before = null;
    for (const row of this.rows) {
      if (pauses.isDue) await pauses.pause();
      this.compareWritten(row, before);
      before = row;
      this.row(row);
    }
    this.compareLeftOut();
  }

  /** @param {Row} row */
  row(row) {
    if (!isTold(row) && this.subject.isPaper) {
      this.unproven(row, "a paper mandate has no chain");
    } else if (row.reverses !== null) {
      this.reversal(row);
    } else {
      this.count(row);
      if (row.baseKey.startsWith("log:")) this.logRow(row);
      else if (isTold(row)) this.toldRow(row);
    }
  }

  /** Rows are written one after the other, and after what they tell of.
   * @param {Row} row @param {Row | null} before
   */
  compareWritten(row, before) {
    const { createdAt, occurredAt, seq } = row;
    if (before !== null && createdAt < before.createdAt) {
      const text = `at ${createdAt}, row ${before.seq} at ${before.createdAt}`;
      this.report.say("row.written", seq, text);
    }
    // only the chain's clock is not the service's own
    const late = row.blockHash === null ? 0n : CLOCKS_US;
    if (createdAt < occurredAt && microsOf(createdAt) + late < microsOf(occurredAt)) {
      this.report.say("row.written", seq, `at ${createdAt}, it tells of ${occurredAt}`);
    }
  }

  /** Rows that were taken back with their block, which is not in the chain. */
  lost() {
    return this.rows.filter(
      (row) => this.reversed.has(row.seq) && row.blockHash !== null && !this.isCanonical(row),
    );
  }

  /** @param {NewRow} row */
  isCanonical(row) {
    const block = row.blockNumber === null ? undefined : this.blocks.get(row.blockNumber);
    return block !== undefined && block.hash === row.blockHash;
  }

  /** One fact, one row. @param {Row} row */
  count(row) {
    const { baseKey, seq } = row;
    const before = this.standing.get(baseKey);
    if (before !== undefined) {
      this.report.say("row.doubled", seq, `${baseKey} stands in row ${before.seq} already`);
    }
    const number = (this.occurrences.get(baseKey) ?? 0) + 1;
    this.occurrences.set(baseKey, number);
    if (row.incarnation !== number) {
      const text = `incarnation ${row.incarnation}, it is number ${number} of ${baseKey}`;
      this.report.say("row.incarnation", seq, text);
    }
    this.standing.set(baseKey, row);
    if (row.blockHash !== null && !this.isCanonical(row) && !this.reversed.has(seq)) {
      const text = `block ${row.blockNumber} ${row.blockHash} is not in the chain`;
      this.report.say("row.orphaned_block", seq, text);
    }
  }

  /** @param {Row} row */
  logRow(row) {
    if (row.blockHash === null || row.txHash === null || row.logIndex === null) {
      this.unproven(row, "names no block, transaction or log");
    } else if (this.isCanonical(row)) {
      const wanted = this.expected.rows.get(row.baseKey);
      if (wanted === undefined || !this.hasReceipt(row)) this.explain(row);
      else this.compare(row, wanted);
    }
    if (this.reversed.has(row.seq)) return;
    if (isNote(row)) this.lastNote = this.inOrder(row, this.lastNote);
    else this.last = this.inOrder(row, this.last);
  }

  /** @param {Row} row @param {Place} last @returns {Place} */
  inOrder(row, last) {
    const place = orderOf(row);
    if (!isBefore(place, last)) return place;
    const text = `block ${place[0]} log ${place[1]} stands after block ${last[0]} log ${last[1]}`;
    this.report.say("row.order", row.seq, text);
    return last;
  }

  /** The receipt says the same of this log as the node's answer to the range did.
   * @param {Row} row
   */
  hasReceipt(row) {
    const outcome = this.outcomes.get(row.txHash ?? "");
    if (outcome === undefined || outcome.status !== 1) return false;
    if (outcome.blockHash !== row.blockHash) return false;
    const [one, two] = [outcome.logs.get(row.logIndex ?? 0), this.expected.logs.get(row.baseKey)];
    return one !== undefined && two !== undefined && isSame({ ...one }, { ...two });
  }

  /** Why the chain gives no such row. @param {Row} row */
  explain(row) {
    const { seq, txHash, logIndex } = row;
    const outcome = this.outcomes.get(txHash ?? "");
    if (outcome === undefined) {
      this.report.say("row.transaction", seq, `there is no transaction ${txHash}`);
      return;
    }
    const log = outcome.logs.get(logIndex ?? -1);
    if (outcome.status !== 1) {
      this.report.say("row.status", seq, `${txHash} failed`);
    } else if (outcome.blockHash !== row.blockHash) {
      const text = `${txHash} stands in block ${outcome.blockNumber} ${outcome.blockHash}`;
      this.report.say("row.place", seq, text);
    } else if (log === undefined) {
      this.report.say("row.log_index", seq, `${txHash} has no log ${logIndex}`);
    } else if (keyOf(log) !== row.baseKey) {
      const text = `its key is ${row.baseKey}, its place ${keyOf(log)}`;
      this.report.say("row.place", seq, text);
    } else {
      const text = `log ${log.logIndex} is of ${log.address} and not of this mandate`;
      this.report.say("row.foreign_log", seq, text);
    }
  }

  /** Everything but the cash delta, which depends on the rows before (sums.js).
   * @param {Row} row @param {NewRow} wanted
   */
  compare(row, wanted) {
    let isProven = row.blockHash !== null;
    for (const [name, said, given] of pairsOf(row, wanted)) {
      if (said === given) continue;
      isProven = false;
      this.report.say(name, row.seq, `the row says ${said}, it must be ${given}`);
    }
    if (isProven) this.proven.add(row.seq);
  }

  /** Logs without a row. Those that the record says it holds back are a gap and no difference; one
   * more than it says is one.
   */
  compareLeftOut() {
    const leftOut = [...this.expected.rows].filter(([key]) => !this.hasRow(key));
    const held = this.heldAmong(leftOut);
    for (const [key, wanted] of leftOut) {
      if (held.has(key)) continue;
      const text = `${key} in block ${wanted.blockNumber}: ${wanted.kind}`;
      this.report.say("row.left_out", null, `${text} ${canonical(wanted.payload)}`);
    }
  }

  /** @param {[string, NewRow][]} leftOut @returns {Set<string>} */
  heldAmong(leftOut) {
    const { held } = this;
    if (held === null) return new Set();
    // what follows a fact that is held back queues behind it, notes of the factory apart: a log
    // before one that has its row was not held back, it was dropped
    /** @type {Place} */
    let newest = [0, 0];
    for (const [key, row] of this.standing) {
      const isOfLog = this.expected.rows.has(key) && this.isCanonical(row) && !isNote(row);
      if (isOfLog && isBefore(newest, orderOf(row))) newest = orderOf(row);
    }
    const found = leftOut.filter(
      ([, wanted]) =>
        (wanted.blockNumber ?? 0) >= held.fromBlock &&
        (isNote(wanted) || isBefore(newest, orderOf(wanted))),
    );
    return new Set(found.length <= held.facts ? found.map(([key]) => key) : []);
  }

  /** @param {string} key */
  hasRow(key) {
    const row = this.standing.get(key);
    return row !== undefined && this.isCanonical(row);
  }

  /** A row of somebody's word: exactly as its writer writes it, and of no block.
   * @param {Row} row
   */
  toldRow(row) {
    let wanted;
    try {
      wanted = declared(row, this.subject);
    } catch (error) {
      if (!(error instanceof FormError)) throw error;
      this.report.say("row.payload", row.seq, `${row.baseKey}: ${error.message}`);
      return;
    }
    if (wanted === null || (row.reportedBy === "chain" && wanted.reportedBy !== "chain")) {
      this.unproven(row, `is ${row.reportedBy}'s word alone`);
    } else if (
      DRAFT_ENDS.includes(row.baseKey) &&
      DRAFT_ENDS.every((key) => this.standing.has(key))
    ) {
      const dropped = this.standing.get("cancelled") ?? row;
      this.unproven(dropped, "only a draft is dropped, and these terms were signed");
    } else {
      this.compare(row, wanted);
    }
  }

  /** @param {Row} row @param {string} why */
  unproven(row, why) {
    this.report.say("row.unproven", row.seq, `${row.baseKey}: ${why}`);
  }

  /** @param {Row} row */
  reversal(row) {
    const target = this.bySeq.get(row.reverses ?? 0);
    const stands =
      target !== undefined &&
      target.seq < row.seq &&
      target.reverses === null &&
      this.standing.get(target.baseKey) === target;
    if (!stands) {
      const text = `row ${row.reverses} is no earlier row that stands`;
      this.report.say("reversal.target", row.seq, text);
      return;
    }
    this.standing.delete(target.baseKey);
    if (!isSame(mirror(row), mirrored(target))) {
      const text = `differs from the mirror of row ${target.seq}`;
      this.report.say("reversal.content", row.seq, text);
    }
    // a reversal tells of the moment in which it is written, by the service's own clock
    const since = microsOf(row.createdAt) - microsOf(row.occurredAt);
    if (since < 0n || since > CLOCKS_US) {
      const text = `taken back at ${row.occurredAt}, written at ${row.createdAt}`;
      this.report.say("row.time", row.seq, text);
    }
    this.compareCause(row, target);
  }

  /** @param {Row} row @param {Row} target */
  compareCause(row, target) {
    const name = "reversal.without_cause";
    // a block may be lost and found again with the same hash: then its facts return
    const comesBack = (this.lastOf.get(target.baseKey) ?? 0) > target.seq;
    if (this.isCanonical(target) && comesBack) {
      this.returned.push(target.seq);
    } else if (this.isCanonical(target)) {
      const text = `block ${target.blockNumber} of row ${target.seq} is in the chain`;
      this.report.say(name, row.seq, text);
    }
    if (target.blockHash === null) {
      this.report.say(name, row.seq, `row ${target.seq} is of no block that could be lost`);
    }
  }
}

/** Whether the factory said it, of all vaults at once. @param {NewRow} row */
export const isNote = (row) => row.payload.factory === true;

/** @param {NewRow} row @returns {Place} */
const orderOf = (row) => [row.blockNumber ?? 0, row.logIndex ?? 0];

/** @param {Place} one @param {Place} two */
const isBefore = (one, two) => one[0] < two[0] || (one[0] === two[0] && one[1] < two[1]);

/** @param {Row} row @param {NewRow} wanted @returns {[string, string, string][]} */
function pairsOf(row, wanted) {
  return [
    ["row.kind", row.kind, wanted.kind],
    ["row.reported_by", row.reportedBy, wanted.reportedBy],
    ["row.time", row.occurredAt, wanted.occurredAt],
    ["row.amount", amountText(row.amount), amountText(wanted.amount)],
    ["row.place", placeOf(row).join(", "), placeOf(wanted).join(", ")],
    ["row.payload", canonical(row.payload), canonical(wanted.payload)],
  ];
}

/** @param {bigint | null} amount */
const amountText = (amount) => (amount === null ? "null" : usdcText(amount));

/** @param {NewRow} row */
const placeOf = (row) =>
  [row.chainId, row.txHash, row.logIndex, row.blockNumber, row.blockHash, row.baseKey].map(String);

/** @param {NewRow} row @returns {Json[]} */
const standsAt = (row) => [row.chainId, row.txHash, row.logIndex, row.blockNumber, row.blockHash];

/** @param {Row} row @returns {Json[]} */
function mirror(row) {
  const [amount, delta] = [amountText(row.amount), usdcText(row.cashDelta)];
  const said = [row.baseKey, row.kind, amount, delta, row.incarnation, row.reportedBy];
  return [...said, ...standsAt(row), row.payload];
}

/** @param {Row} target @returns {Json[]} */
function mirrored(target) {
  const [amount, delta] = [amountText(target.amount), usdcText(-target.cashDelta)];
  const key = `reversal:${target.baseKey}`;
  const payload = { reversal: true, reverses_seq: target.seq, cause: "reorg" };
  const said = [key, target.kind, amount, delta, target.incarnation, "chain"];
  return [...said, ...standsAt(target), payload];
}
