/**
 * The declared form of every row that no log gives: one key, kind, author and payload each
 * (docs/verify.md#forms-of-rows). A row is taken apart into what its writer was told and written
 * again; what no writer writes is of no declared form.
 */

/** @import {JsonObject, NewRow, Row, Subject} from "./types.js" */

import { isObject, member } from "./canonical.js";
import { LEG_FORMS } from "./leg_forms.js";
import { FormError } from "./lines.js";
import { usdcOf, usdcText } from "./money.js";
import { heightOf, objectOf, textOf, why, written } from "./payloads.js";
import { REASONS, RESERVED_KEYS } from "./tables.js";
import { secondOf, timeText, utcText } from "./times.js";

export const TRADES = ["move", "buy", "sell"];
const AGENT_KINDS = new Set([...TRADES, "fee", "resolve", "note"]);
const FLAGS = ["violation", "unseen"]; // the service's own, on a report
const FACT = /^[0-9a-f]{32}$/;
const GUARD = /^guard:0x[0-9a-f]{64}:([0-9]{1,12})$/;
const HOUR_S = 3_600;
const EXPIRED_NOTE = "The signed terms expired without a vault";

/** @typedef {(row: Row, subject: Subject, fact: string) => NewRow} Write */

/**
 * The row as its writer would have written it; null when no writer writes one of this key in a
 * mandate of this mode. Errors: FormError for what its writer would have refused.
 * @param {Row} row @param {Subject} subject
 */
export function declared(row, subject) {
  const colon = row.baseKey.indexOf(":");
  const prefix = colon === -1 ? row.baseKey : row.baseKey.slice(0, colon);
  const forms = FORMS.get(prefix);
  const write = forms && (subject.isPaper ? forms[0] : forms[1]);
  return write ? write(row, subject, colon === -1 ? "" : row.baseKey.slice(colon + 1)) : null;
}

/** The block by whose time terms had ended, as the row says; 0 when it names none.
 * @param {Row} row
 */
export function safeBlockOf(row) {
  const expired = member(row.payload, "terms_expired");
  const height = isObject(expired) ? member(expired, "safe_block") : undefined;
  return typeof height === "number" && height >= 0 ? height : 0;
}

/** Whether a row is somebody's word: its key names neither a log nor a call that failed.
 * @param {Row} row
 */
export function isTold(row) {
  const isProof = row.baseKey.startsWith("log:") || row.baseKey.startsWith("revert:");
  return !isProof && row.reverses === null;
}

/** What the agent sent: a report's payload without the service's flags. @param {NewRow} row */
export function toldPayload(row) {
  const told = Object.entries(row.payload).filter(([key]) => !FLAGS.includes(key));
  return Object.fromEntries(told);
}

/** @type {Write} */
const signed = (row, subject) =>
  written(row, {
    kind: "signed",
    reportedBy: "owner",
    baseKey: "signed",
    payload: { terms_digest: subject.digest, version: subject.version },
  });

/** @type {Write} */
const paperDeposit = (row, subject) =>
  written(row, {
    kind: "deposit",
    reportedBy: "owner",
    baseKey: "paper_deposit",
    amount: subject.budget,
    cashDelta: subject.budget,
    payload: { paper: true },
  });

/** @type {Write} */
const stop = (row) => {
  const by = row.reportedBy === "agent" ? "agent" : "owner";
  const stopped = { by, reason: by, worth_usdc: null };
  /** @type {JsonObject} */
  const payload = { stopped };
  const returned = member(row.payload, "positions_void"); // compared in sums.js
  if (returned !== undefined) payload.positions_void = returned;
  return written(row, { kind: "stop", reportedBy: by, baseKey: "stop", payload });
};

/** @type {Write} */
const cancelled = (row) =>
  written(row, {
    kind: "note",
    reportedBy: "owner",
    baseKey: "cancelled",
    payload: { cancelled: true },
  });

/** @type {Write} */
const expired = (row, subject) => {
  const safe_block = heightOf(objectOf(row.payload, "terms_expired"), "safe_block");
  const endsAt = Number(subject.terms.endsAt);
  if (!(endsAt < 253_402_300_800)) throw new FormError("an end that no calendar has");
  const terms_expired = { ends_at: utcText(endsAt), safe_block };
  return written(row, {
    kind: "note",
    reportedBy: "chain",
    occurredAt: timeText(endsAt),
    baseKey: "expired",
    payload: { terms_expired, note: EXPIRED_NOTE },
  });
};

/** @type {Write} */
const report = (row, subject, fact) => {
  requireFact(fact);
  if (!AGENT_KINDS.has(row.kind)) throw new FormError(`an agent reports no ${row.kind}`);
  if (row.amount !== null && row.amount < 0n && row.kind !== "resolve") {
    throw new FormError("amount_usdc: only a resolve may be negative");
  }
  const told = toldPayload(row);
  const reserved = RESERVED_KEYS.find((key) => Object.hasOwn(told, key));
  if (reserved !== undefined) throw new FormError(`payload.${reserved}: the service writes it`);
  const { kind, amount, txHash, payload } = row;
  return written(row, { kind, amount, txHash, chainId: subject.chainId, payload });
};

/** @type {Write} */
const refusal = (row, subject, fact) => {
  const said = objectOf(row.payload, "refusal");
  const guard = GUARD.exec(fact);
  if (guard !== null) return guardRefusal(row, said, Number(guard[1]));
  if (fact !== row.txHash) requireFact(fact);
  if (Object.hasOwn(said, "code")) return afterStop(row, subject, said);
  const [reason, amount] = [textOf(said, "reason"), attempted(said)];
  if (!REASONS.includes(reason)) throw new FormError("reason: none that a record knows");
  if (reason === "server_guard" && row.txHash !== null) {
    throw new FormError("tx_hash: the guard refuses before anything is sent");
  }
  if (amount !== null && amount < 0n) throw new FormError("amount_usdc: write 0 or more");
  const note = {
    reason,
    source: "agent",
    reason_source: "agent",
    check: "reported",
    server_check: "unconfirmed",
    ...(amount === null ? {} : { attempted: { amount_usdc: usdcText(amount) } }),
  };
  const baseKey = `refusal:${row.txHash ?? fact}`;
  return written(row, { kind: "note", baseKey, txHash: row.txHash, payload: { refusal: note } });
};

/** @param {Row} row @param {JsonObject} said @param {number} hour */
function guardRefusal(row, said, hour) {
  if (hour !== Math.floor(secondOf(row.occurredAt) / HOUR_S)) {
    throw new FormError("base_key: name the hour that it was refused in");
  }
  const note = {
    reason: "server_guard",
    source: "agent",
    reason_source: "server",
    check: "server",
    server_check: "confirmed",
    detail: textOf(said, "detail"),
  };
  return written(row, { kind: "note", payload: { refusal: note } });
}

/** The service refuses a trade after a stop itself on paper alone.
 * @param {Row} row @param {Subject} subject @param {JsonObject} said
 */
function afterStop(row, subject, said) {
  const kind = member(objectOf(said, "attempted"), "kind");
  if (typeof kind !== "string" || !TRADES.includes(kind) || !subject.isPaper) {
    throw new FormError("refusal: it is none that the service writes");
  }
  const amount = attempted(said);
  const note = {
    reason: "MandateStopped",
    code: "mandate_stopped",
    source: "agent",
    reason_source: "server",
    check: "server",
    server_check: "confirmed",
    attempted: { kind, ...(amount === null ? {} : { amount_usdc: usdcText(amount) }) },
  };
  const payload = { refusal: note, ...why(row.payload) };
  return written(row, { kind: "note", txHash: row.txHash, payload });
}

/** @type {Write} */
const stopRequest = (row, _, fact) => {
  requireFact(fact);
  return written(row, { kind: "note", payload: { stop_requested: true, ...why(row.payload) } });
};

/** By key up to the colon: (on paper, on testnet). @type {Map<string, [Write?, Write?]>} */
const FORMS = new Map([
  ["signed", [signed, signed]],
  ["paper_deposit", [paperDeposit, undefined]],
  ["stop", [stop, undefined]],
  ["cancelled", [cancelled, cancelled]],
  ["expired", [undefined, expired]],
  ["report", [report, report]],
  ["refusal", [refusal, refusal]],
  ["stop_request", [undefined, stopRequest]],
  .../** @type {[string, [undefined, Write]][]} */ (
    [...LEG_FORMS].map(([key, write]) => [key, [undefined, write]])
  ),
]);

/** @param {JsonObject} refused */
function attempted(refused) {
  const of = member(refused, "attempted");
  const text = isObject(of) ? (member(of, "amount_usdc") ?? null) : null;
  if (text === null) return null;
  const amount = usdcOf(String(text));
  if (amount === null || usdcText(amount) !== text) {
    throw new FormError("amount_usdc: write six decimals");
  }
  return amount;
}

/** @param {string} fact */
function requireFact(fact) {
  if (!FACT.test(fact)) throw new FormError("base_key: end it with 32 lower-case hex digits");
}
