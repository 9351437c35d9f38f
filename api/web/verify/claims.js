/**
 * What nobody but its author vouches for, and what the chain says against it: a report of the agent
 * that the chain contradicts is told, and is no difference of the record.
 * Source: core/mandate/rules/borne_out.py, which has the table of what bears out a report.
 */

/** @import {NewRow, Row} from "./types.js" */
/** @import {Report} from "./findings.js" */

import { isObject, member } from "./canonical.js";
import { chainFact, spentAndReceived } from "./fold.js";
import { TRADES } from "./forms.js";
import { targetOf } from "./judge.js";
import { FEE_CLASSES } from "./tables.js";

/** @typedef {{target: string, spent: bigint, received: bigint}} CallSeen */

/** What the chain's rows of one transaction say.
 * @typedef {{calls: CallSeen[], paid: bigint[], isReverted: boolean, isKnown: boolean}} TxFacts
 */

/** How a report that the chain contradicts is flagged, by what the chain says of it.
 * @type {{[word: string]: string}}
 */
export const CODE_OF_WORD = {
  reverted: "tx_reverted",
  not_reverted: "tx_not_reverted",
  other_target: "other_target",
  other_amount: "other_amount",
};

/** @param {NewRow} row */
export const isReport = (row) => row.reportedBy === "agent" && row.blockHash === null;

/** @param {Iterable<NewRow>} rows of one transaction; reports among them are left out
 * @returns {TxFacts}
 */
export function factsOf(rows) {
  /** @type {TxFacts} */
  const facts = { calls: [], paid: [], isReverted: false, isKnown: false };
  for (const row of rows) if (!isReport(row)) addRow(facts, row);
  return facts;
}

/** @param {TxFacts} facts @param {NewRow} row of the chain */
function addRow(facts, row) {
  const call = callOf(row);
  if (call !== null) facts.calls.push(call);
  if (row.kind === "fee") facts.paid.push(row.amount ?? 0n);
  if (member(row.payload, "reverted") === true) facts.isReverted = true;
  facts.isKnown = true;
}

/** @param {NewRow} row @returns {CallSeen | null} */
function callOf(row) {
  const [executed, unwound] = [chainFact(row, "executed"), chainFact(row, "unwound")];
  const proceeds = chainFact(row, "proceeds");
  const named = executed ?? unwound ?? proceeds;
  if (named === null) return null;
  const isProceeds = executed === null && unwound === null;
  const target = String(member(named, isProceeds ? "adapter" : "target")).toLowerCase();
  if (executed !== null) return { target, ...spentAndReceived(row) };
  return { target, spent: 0n, received: row.amount ?? 0n };
}

/** What the chain's rows say of a report.
 * @param {NewRow} report @param {TxFacts} facts @param {string | null} vault
 */
export function chainWord(report, facts, vault) {
  const { kind, txHash, payload } = report;
  if (txHash === null) return "not_known";
  if (TRADES.includes(kind)) return wordOfTrade(report, facts, vault);
  if (kind === "note" && isObject(member(payload, "refusal"))) {
    if (facts.isReverted) return "borne_out";
    return facts.isKnown ? "not_reverted" : "not_known";
  }
  if (kind === "fee" && feeClassOf(report) === "tools") return wordOfPayment(report, facts);
  return kind === "resolve" && facts.isReverted ? "reverted" : "not_known";
}

/** @param {NewRow} report @param {TxFacts} facts @param {string | null} vault */
function wordOfTrade(report, facts, vault) {
  if (facts.isReverted) return "reverted";
  if (!facts.isKnown) return "not_known";
  const { chainId } = report;
  const said = targetOf(report.payload);
  const isAny =
    said.fault !== undefined || said.address.toLowerCase() === (vault ?? "").toLowerCase();
  const calls = facts.calls.filter(({ target }) => isAny || target === said.address?.toLowerCase());
  const isElsewhere =
    said.fault === undefined &&
    said.chainId !== null &&
    chainId !== null &&
    said.chainId !== chainId;
  if (calls.length === 0 || isElsewhere) return "other_target";
  return wordOfAmount(report.amount, amountsOf(report.kind, calls));
}

/** @param {string} kind @param {CallSeen[]} calls */
function amountsOf(kind, calls) {
  if (kind === "buy") return calls.map(({ spent }) => spent);
  if (kind === "sell") return calls.map(({ received }) => received).filter((one) => one !== 0n);
  return calls.map(({ spent, received }) => (spent === 0n ? received : spent));
}

/** @param {NewRow} report @param {TxFacts} facts */
function wordOfPayment({ amount }, facts) {
  if (facts.isReverted) return "reverted";
  if (!facts.isKnown) return "not_known";
  return facts.paid.length === 0 ? "other_target" : wordOfAmount(amount, facts.paid);
}

/** @param {bigint | null} said @param {bigint[]} amounts */
function wordOfAmount(said, amounts) {
  const sum = amounts.reduce((all, one) => all + one, 0n);
  const isOne = said === null || said === sum || amounts.includes(said);
  return amounts.length > 0 && isOne ? "borne_out" : "other_amount";
}

/** Whether what a report says of positions counts.
 * @param {NewRow} report @param {TxFacts} facts @param {string | null} vault
 */
export function movesWorth(report, facts, vault) {
  if (report.kind === "resolve") return facts.calls.length > 0 && !facts.isReverted;
  return chainWord(report, facts, vault) === "borne_out";
}

/**
 * Each report of the agent against the logs of its transaction.
 * @param {readonly Row[]} rows @param {Iterable<NewRow>} logs
 * @param {ReadonlySet<string>} failed transactions that are proven to have failed
 * @param {string} vault @param {Report} report
 */
export function compareClaims(rows, logs, failed, vault, report) {
  /** @type {Map<string, TxFacts>} */
  const facts = new Map();
  for (const txHash of failed) facts.set(txHash, { ...factsOf([]), isReverted: true });
  for (const log of logs) {
    const found = facts.get(log.txHash ?? "") ?? factsOf([]);
    addRow(found, log);
    facts.set(log.txHash ?? "", found);
  }
  const seqs = [];
  for (const row of rows) {
    if (!isReport(row) || row.reverses !== null) continue;
    const word = chainWord(row, facts.get(row.txHash ?? "") ?? factsOf([]), vault);
    if (Object.hasOwn(CODE_OF_WORD, word)) seqs.push(row.seq);
  }
  if (seqs.length === 0) return;
  const text = `the chain contradicts ${seqs.length} of the agent's reports: the record says truly`;
  report.remark(`${text} what was reported, and counts none of it as confirmed`);
}

/** @param {NewRow} row */
function feeClassOf(row) {
  const kind = member(row.payload, "fee_kind");
  return typeof kind === "string" && Object.hasOwn(FEE_CLASSES, kind) ? FEE_CLASSES[kind] : null;
}

/**
 * Of each stop that a log proves: at the line the vault measured itself; the reason of a party's stop
 * is that party's word, which the vault only carries. And what the vault measured last.
 * @param {readonly Row[]} rows that are proven and count @param {Report} report
 */
export function tellMeasures(rows, report) {
  for (const row of rows) {
    const { mark, stopped } = row.payload;
    const measured = [mark, stopped].filter(isObject).find((one) => member(one, "worth_usdc"));
    if (measured !== undefined && row.blockNumber !== null) {
      const usdc = String(member(measured, "worth_usdc"));
      const atCostUsdc = String(member(measured, "unvalued_out_usdc"));
      report.newestMark = { usdc, atCostUsdc, block: row.blockNumber, row: row.seq };
    }
    if (row.kind !== "stop" || !isObject(stopped)) continue;
    const by = row.reportedBy;
    const reason = `the reason (${member(stopped, "reason")}) is the ${by}'s word`;
    report.remark(
      measured === undefined
        ? `row ${row.seq}: stopped by the ${by}; ${reason}, and nothing on chain measures it`
        : `row ${row.seq}: stopped at the line; the worth of ${member(measured, "worth_usdc")} is the vault's own measure`,
    );
  }
}
