/**
 * The service's judge of reports: which rules a move, buy or sell broke, and by how much.
 * Source: core/mandate/rules/violations.py, reported.py.
 */

/** @import {Json, JsonObject, NewRow, Subject} from "./types.js" */
/** @import {Outflow} from "./fold.js" */

import { checksum, ZERO_ADDRESS } from "./bytes.js";
import { isObject, member } from "./canonical.js";
import { CODE_OF_WORD } from "./claims.js";
import { most, usdcText } from "./money.js";
import { DAY_S, utcText } from "./times.js";

const ADDRESS = /^0[xX][0-9a-fA-F]{40}$/;

/**
 * What a report is held against.
 * @typedef {object} Judgement
 * @property {Subject} subject
 * @property {string} status
 * @property {boolean} wasStopped
 * @property {ReadonlySet<string>} allowed lower-case addresses of the rules, and the vault
 * @property {bigint} cash
 * @property {readonly Outflow[]} outflows of at least the last 24 hours
 * @property {number} now unix seconds of the newest block, for paper of the clock
 * @property {boolean} isShort the ledger lacked facts of the chain
 * @property {string} word what the chain's rows say of the report
 */

/** @typedef {{[code: string]: JsonObject}} Found */

/**
 * The flag of the rules that a report breaks, as it is stored; null when it breaks none.
 * @param {NewRow} report without the service's flags @param {Judgement} against
 * @returns {JsonObject | null}
 */
export function judge(report, against) {
  if (Object.hasOwn(CODE_OF_WORD, against.word)) {
    return { codes: [CODE_OF_WORD[against.word] ?? ""], detail: {} };
  }
  const isBorneOut = against.word === "borne_out"; // the vault checked the rest
  const found = { ...(isBorneOut ? {} : life(against)), ...target(report, against) };
  if (report.kind !== "sell" && !isBorneOut) Object.assign(found, caps(report, against));
  const codes = Object.keys(found);
  return codes.length === 0 ? null : { codes, detail: Object.assign({}, ...Object.values(found)) };
}

/** @param {Judgement} against @returns {Found} */
function life({ status, wasStopped, now, subject, isShort }) {
  const isDropped = status === "stopped" || status === "cancelled";
  if (isDropped || (status === "settled" && wasStopped)) return { mandate_stopped: { status } };
  const endsAt = Number(subject.terms.endsAt);
  if (status === "settled" || now >= endsAt) {
    return { mandate_ended: { ends_at: utcText(endsAt) } };
  }
  return status !== "working" && !isShort ? { mandate_not_working: { status } } : {};
}

/** @param {NewRow} report @param {Judgement} against @returns {Found} */
function target(report, against) {
  const read = targetOf(report.payload);
  if (read.fault !== undefined) {
    const isNeeded = report.kind !== "sell" || read.fault !== "absent";
    return isNeeded ? { target_missing: { target_detail: read.fault } } : {};
  }
  const chainId = against.subject.chainId;
  const isOther = read.chainId !== null && read.chainId !== chainId;
  if (!isOther && against.allowed.has(read.address.toLowerCase())) return {};
  const shown = { kind: "contract", chain_id: read.chainId ?? chainId, address: read.address };
  const target_detail = isOther ? "other_chain" : "not_on_the_list";
  return { target_not_allowed: { target: shown, target_detail } };
}

/** @typedef {{fault: string} | {fault?: undefined, chainId: number | null, address: string}} Target */

/** The target of a report, or why there is none that can be read.
 * @param {JsonObject} payload @returns {Target}
 */
export function targetOf(payload) {
  const [said, detail] = [member(payload, "target") ?? null, member(payload, "detail")];
  const found = said ?? (isObject(detail) ? (member(detail, "target") ?? null) : null);
  if (found === null) return { fault: "absent" };
  return targetFrom(typeof found === "string" ? { address: found } : found);
}

/** @param {Json} found @returns {Target} */
function targetFrom(found) {
  if (!isObject(found)) return { fault: "not_an_address_or_object" };
  const kind = Object.hasOwn(found, "kind") ? found.kind : "contract";
  const chainId = member(found, "chain_id") ?? null;
  if (kind !== "contract") return { fault: "unknown_kind" };
  if (chainId !== null && typeof chainId !== "number") return { fault: "bad_chain_id" };
  const address = member(found, "address");
  if (typeof address !== "string" || !ADDRESS.test(address)) return { fault: "bad_address" };
  const read = checksum(address.toLowerCase());
  return read === ZERO_ADDRESS ? { fault: "bad_address" } : { chainId, address: read };
}

/** @param {NewRow} report @param {Judgement} against @returns {Found} */
function caps(report, against) {
  const { amount } = report;
  if (amount === null) return {};
  /** @type {Found} */
  const found = {};
  const { terms } = against.subject;
  const [perTx, daily] = [BigInt(terms.perTxCap ?? 0n), BigInt(terms.dailyCap ?? 0n)];
  const left = leftToday(report, against, daily);
  const requested_usdc = usdcText(amount);
  if (amount > perTx) {
    found.over_per_tx_cap = { per_tx_cap_usdc: usdcText(perTx), requested_usdc };
  }
  if (amount > left) {
    const day = { daily_cap_usdc: usdcText(daily), left_today_usdc: usdcText(left) };
    found.over_daily_cap = { ...day, requested_usdc };
  }
  if (!against.isShort && amount > against.cash && !isCounted(report, against)) {
    const left_total_usdc = usdcText(most(0n, against.cash));
    found.over_budget = { left_total_usdc, requested_usdc };
  }
  return found;
}

/** What the day had left without this transaction: on paper it may have been reported before.
 * @param {NewRow} report @param {Judgement} against @param {bigint} daily
 */
function leftToday({ txHash }, { outflows, now }, daily) {
  let spent = 0n;
  for (const one of outflows) {
    const isCounted = now - DAY_S < one.at && one.at <= now;
    if (isCounted && (txHash === null || one.txHash !== txHash)) spent += one.amount;
  }
  return most(0n, daily - spent);
}

/** @param {NewRow} report @param {Judgement} against */
const isCounted = ({ txHash }, { outflows }) =>
  txHash !== null && outflows.some((one) => one.txHash === txHash);
