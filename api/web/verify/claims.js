/**
 * What nobody but its author vouches for, and what the logs say against it.
 *
 * | report | the transaction must have | amount |
 * |---|---|---|
 * | move, buy | a call that moved money | of one call or of all |
 * | sell | something that came in | of one log or of all |
 * | fee as tools | a payment | of one payment or of all |
 * | resolve | something that came in | any: it is a result, not a sum |
 * | fee otherwise, note | any | any |
 */

/** @import {NewRow, Row} from "./types.js" */
/** @import {Report} from "./findings.js" */

import { isObject, member } from "./canonical.js";
import { usableUsdc, usdcText } from "./money.js";
import { FEE_CLASSES } from "./tables.js";

/** What the logs of one transaction say, log by log.
 * @typedef {{acted: bigint[], received: bigint[], paid: bigint[], isFailed: boolean}} Moved
 */

/**
 * Each report of the agent against the logs of its transaction.
 * @param {readonly Row[]} rows @param {Iterable<NewRow>} logs
 * @param {ReadonlySet<string>} failed transactions that are proven to have failed
 * @param {Report} report
 */
export function compareClaims(rows, logs, failed, report) {
  const moved = movedBy(logs);
  for (const txHash of failed) {
    moved.set(txHash, { acted: [], received: [], paid: [], isFailed: true });
  }
  for (const row of rows) {
    const isReport = row.reportedBy === "agent" && row.blockHash === null && row.reverses === null;
    const found = isReport && row.txHash !== null ? moved.get(row.txHash) : undefined;
    if (found !== undefined) compare(row, found, report);
  }
}

/** @param {Iterable<NewRow>} logs @returns {Map<string, Moved>} */
function movedBy(logs) {
  /** @type {Map<string, Moved>} */
  const moved = new Map();
  for (const row of logs) {
    const txHash = row.txHash ?? "";
    const one = moved.get(txHash) ?? { acted: [], received: [], paid: [], isFailed: false };
    moved.set(txHash, one);
    const [amount, executed] = [row.amount ?? 0n, member(row.payload, "executed")];
    if (isObject(executed)) {
      one.acted.push(amount);
      one.received.push(usableUsdc(member(executed, "received")) ?? 0n);
    }
    if (row.kind === "note" && row.cashDelta > 0n) one.received.push(amount);
    if (row.kind === "fee") one.paid.push(amount);
  }
  for (const one of moved.values()) one.received = one.received.filter((amount) => amount !== 0n);
  return moved;
}

/** @param {Row} row @param {Moved} moved @param {Report} report */
function compare(row, moved, report) {
  const { amount, txHash, seq } = row;
  if (row.kind === "note" && isObject(member(row.payload, "refusal"))) {
    if (moved.isFailed) return;
    report.say("claim.kind", seq, `says ${txHash} was refused, which has logs`);
    return;
  }
  const wanted = amountsOf(row, moved);
  if (wanted === null) return;
  if (wanted.length === 0) {
    const what = moved.isFailed ? "failed" : "has no log of that";
    report.say("claim.kind", seq, `says ${row.kind}, ${txHash} ${what}`);
    return;
  }
  const sum = wanted.reduce((all, one) => all + one, 0n);
  if (amount === null || amount === sum || wanted.includes(amount)) return;
  const given = wanted.map(usdcText).join(", ");
  report.say("claim.amount", seq, `says ${usdcText(amount)}, the logs of ${txHash} ${given}`);
}

/** The amounts of which a claim may be; none at all: no claim of that kind; null: any.
 * @param {Row} row @param {Moved} moved
 */
function amountsOf(row, moved) {
  if (row.kind === "move" || row.kind === "buy") return moved.acted;
  if (row.kind === "sell") return moved.received;
  if (row.kind === "resolve") return moved.received.length > 0 ? null : [];
  return row.kind === "fee" && feeClassOf(row) === "tools" ? moved.paid : null;
}

/** @param {Row} row */
function feeClassOf(row) {
  const kind = member(row.payload, "fee_kind");
  return typeof kind === "string" && Object.hasOwn(FEE_CLASSES, kind) ? FEE_CLASSES[kind] : null;
}
