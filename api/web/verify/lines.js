/** The form of a record's lines: exactly these keys, each in one spelling (docs/record.md). */

/** @import {Anchor, AsOf, Head, Json, JsonObject, Row, RowAuthor} from "./types.js" */

import { checksum, HASH_FORM } from "./bytes.js";
import { hasKeys, isObject, member } from "./canonical.js";
import { usdcOf, usdcText } from "./money.js";
import { KINDS, REPORTERS } from "./tables.js";
import { isTime } from "./times.js";

export const FORMAT = "mandate-record";
export const VERSION = 2;

const FIRST_TEXTS = [
  "format",
  "mandate_id",
  "market_mode",
  "factory",
  "terms_digest",
  "genesis_hash",
]; // prettier-ignore
const FIRST_NUMBERS = ["version", "chain_id", "terms_version"];
const FIRST_MAYBE_TEXTS = ["vault", "signature"];
const FIRST_LISTS = ["rules", "guard_targets"];
export const FIRST_KEYS = new Set([
  ...FIRST_TEXTS,
  ...FIRST_NUMBERS,
  ...FIRST_MAYBE_TEXTS,
  ...FIRST_LISTS,
  "terms",
]); // prettier-ignore
const LINE_KEYS = new Set(["body", "prev_hash", "row_hash"]);
const TEXTS = ["base_key", "cash_delta_usdc", "created_at", "kind", "occurred_at", "reported_by"]; // prettier-ignore
const MAYBE_TEXTS = ["amount_usdc", "block_hash", "tx_hash"];
/** The least that each number may be. @type {[string, number][]} */
const NUMBERS = [
  ["incarnation", 1],
  ["seq", 1],
]; // prettier-ignore
/** @type {[string, number][]} */
const MAYBE_NUMBERS = [
  ["block_number", 0],
  ["chain_id", 1],
  ["log_index", 0],
  ["reverses_seq", 1],
]; // prettier-ignore
const BODY_KEYS = new Set([
  ...TEXTS,
  ...MAYBE_TEXTS,
  ...[...NUMBERS, ...MAYBE_NUMBERS].map(([key]) => key),
  "payload",
]); // prettier-ignore
const SIGNED_BODY_KEYS = new Set([...BODY_KEYS, "author"]);
const AUTHOR_KEYS = new Set(["prev", "sequence", "signature", "signer"]);
const SIGNATURE_FORM = /^0x(?:[0-9a-f]{2}){0,8191}$/;
const HEAD_KEYS = new Set(["as_of", "row_hash", "seq", "totals"]);
const AS_OF_KEYS = new Set(["block_hash", "block_number", "reverts_block_number"]);
const HELD_KEYS = new Set(["facts", "from_block"]);
const ANCHOR_HASHES = ["block_hash", "root", "root_before", "row_hash", "tx_hash"];
const ANCHOR_NUMBERS = ["block_number", "epoch", "seq"];
const ANCHOR_KEYS = new Set([...ANCHOR_HASHES, ...ANCHOR_NUMBERS, "proof"]);

/** A line, a row or a value has another form than a record's. */
export class FormError extends Error {}

/** @param {Json | undefined} value @returns {value is string} */
export const isHash = (value) => typeof value === "string" && HASH_FORM.test(value);

/** @param {JsonObject} line */
export function isFirstLine(line) {
  return (
    hasKeys(line, FIRST_KEYS) &&
    line.format === FORMAT &&
    line.version === VERSION &&
    FIRST_TEXTS.every((key) => typeof line[key] === "string") &&
    FIRST_NUMBERS.every((key) => typeof line[key] === "number") &&
    FIRST_MAYBE_TEXTS.every((key) => line[key] === null || typeof line[key] === "string") &&
    FIRST_LISTS.every((key) => Array.isArray(line[key])) &&
    isObject(line.terms)
  );
}

/**
 * The row of a record's line. Errors: FormError.
 * @param {JsonObject} line
 * @returns {Row}
 */
export function rowOf(line) {
  demand(hasKeys(line, LINE_KEYS), "the line has other keys than a record's");
  const body = line.body;
  demand(isObject(body), "body: an object");
  demand(
    hasKeys(body, Object.hasOwn(body, "author") ? SIGNED_BODY_KEYS : BODY_KEYS),
    "body has other keys than a record's",
  );
  const { payload } = body;
  demand(isObject(payload), "body.payload has another form than a record's");
  requireNumbers(body);
  const reverses = numberOrNull(body, "reverses_seq");
  demand(
    reverses === null || member(payload, "reverses_seq") === reverses,
    "body.reverses_seq: name the row that the payload names",
  );
  const amount = body.amount_usdc;
  return {
    kind: oneOf(KINDS, body, "kind"),
    reportedBy: oneOf(REPORTERS, body, "reported_by"),
    occurredAt: time(body, "occurred_at"),
    baseKey: text(body, "base_key"),
    amount: amount === null ? null : usdc(body, "amount_usdc"),
    cashDelta: usdc(body, "cash_delta_usdc"),
    chainId: numberOrNull(body, "chain_id"),
    txHash: hashOrNull(body, "tx_hash"),
    logIndex: numberOrNull(body, "log_index"),
    blockNumber: numberOrNull(body, "block_number"),
    blockHash: hashOrNull(body, "block_hash"),
    payload,
    author: Object.hasOwn(body, "author") ? authorOf(body.author) : null,
    seq: Number(body.seq),
    incarnation: Number(body.incarnation),
    reverses,
    createdAt: time(body, "created_at"),
    prevHash: hash(line, "prev_hash"),
    rowHash: hash(line, "row_hash"),
  };
}

/** @param {JsonObject} line @returns {Anchor} */
export function anchorOf(line) {
  const anchor = line.anchor;
  demand(Object.keys(line).length === 1 && isObject(anchor), "an object, alone in its line");
  demand(hasKeys(anchor, ANCHOR_KEYS), "the anchor has other keys than a record's");
  for (const key of ANCHOR_NUMBERS) {
    const number = anchor[key];
    demand(typeof number === "number" && number >= 0, `${key}: a whole number from 0 on`);
  }
  for (const key of ANCHOR_HASHES) demand(isHash(anchor[key]), `${key}: not a hash`);
  return {
    epoch: Number(anchor.epoch),
    root: hash(anchor, "root"),
    rootBefore: hash(anchor, "root_before"),
    blockNumber: Number(anchor.block_number),
    blockHash: hash(anchor, "block_hash"),
    txHash: hash(anchor, "tx_hash"),
    seq: Number(anchor.seq),
    rowHash: hash(anchor, "row_hash"),
    proof: text(anchor, "proof"),
  };
}

/** Null: not the form of a record's head. @param {JsonObject} line @returns {Head | null} */
export function headOf(line) {
  const head = line.head;
  if (Object.keys(line).length !== 1 || !isObject(head)) return null;
  const { held, ...rest } = head;
  if (!hasKeys(rest, HEAD_KEYS) || !isObject(head.totals)) return null;
  const short = held === undefined ? null : heldOf(held);
  const asOf = head.as_of === null ? null : asOfOf(head.as_of);
  if (short === undefined || asOf === undefined) return null;
  // a number or hash of another form differs from the one that the rows give, and is said so
  const seq = typeof head.seq === "number" ? head.seq : -1;
  const rowHash = typeof head.row_hash === "string" ? head.row_hash : "";
  return { seq, rowHash, totals: head.totals, asOf, held: short };
}

/** @param {Json | undefined} raw @returns {AsOf | undefined} */
function asOfOf(raw) {
  if (!isObject(raw) || !hasKeys(raw, AS_OF_KEYS) || !isHash(raw.block_hash)) return undefined;
  const [number, reverts] = [raw.block_number, raw.reverts_block_number];
  if (typeof number !== "number" || number < 0) return undefined;
  if (typeof reverts !== "number" || reverts < 0) return undefined;
  return { blockHash: raw.block_hash, blockNumber: number, revertsBlockNumber: reverts };
}

/** @param {Json} raw @returns {{facts: number, fromBlock: number} | undefined} */
function heldOf(raw) {
  if (!isObject(raw) || !hasKeys(raw, HELD_KEYS)) return undefined;
  const [facts, fromBlock] = [raw.facts, raw.from_block];
  if (typeof facts !== "number" || facts < 1) return undefined;
  if (typeof fromBlock !== "number" || fromBlock < 0) return undefined;
  return { facts, fromBlock };
}

/** @param {Json | undefined} said @returns {RowAuthor} */
function authorOf(said) {
  demand(isObject(said) && hasKeys(said, AUTHOR_KEYS), "body.author has another form");
  const { signer, sequence, prev, signature } = said;
  demand(
    typeof signer === "string" && /^0x[0-9a-fA-F]{40}$/.test(signer) && checksum(signer) === signer,
    "body.author.signer: write a checksum address",
  );
  demand(typeof sequence === "number" && sequence >= 1, "body.author.sequence: from 1 on");
  demand(isHash(prev), "body.author.prev: not a hash");
  demand(
    typeof signature === "string" && SIGNATURE_FORM.test(signature),
    "body.author.signature: write 0x and lower-case hex",
  );
  return { signer, sequence, prev, signature };
}

/** @param {JsonObject} body */
function requireNumbers(body) {
  for (const [key, least] of NUMBERS) {
    const number = body[key];
    demand(typeof number === "number" && number >= least, `body.${key}: write ${least} or more`);
  }
  for (const [key, least] of MAYBE_NUMBERS) {
    const number = body[key];
    const isRight = number === null || (typeof number === "number" && number >= least);
    demand(isRight, `body.${key}: write ${least} or more`);
  }
}

/** @param {JsonObject} of @param {string} key */
function text(of, key) {
  const found = of[key];
  demand(typeof found === "string", `${key}: write text`);
  return found;
}

/** @param {readonly string[]} words @param {JsonObject} of @param {string} key */
function oneOf(words, of, key) {
  const found = text(of, key);
  demand(words.includes(found), `${key}: one of ${words.join(", ")}`);
  return found;
}

/** @param {JsonObject} of @param {string} key */
function time(of, key) {
  const found = text(of, key);
  demand(isTime(found), `${key}: write 2026-02-02T09:00:00.000000Z`);
  return found;
}

/** @param {JsonObject} of @param {string} key */
function usdc(of, key) {
  const found = text(of, key);
  const amount = usdcOf(found);
  demand(amount !== null && usdcText(amount) === found, `${key}: write six decimals`);
  return amount;
}

/** @param {JsonObject} of @param {string} key */
function numberOrNull(of, key) {
  const found = of[key];
  return typeof found === "number" ? found : null;
}

/** @param {JsonObject} of @param {string} key */
function hashOrNull(of, key) {
  return of[key] === null ? null : hash(of, key);
}

/** @param {JsonObject} of @param {string} key */
function hash(of, key) {
  const found = of[key];
  demand(isHash(found), `${key}: write 0x and 64 lower-case hex digits`);
  return found;
}

/** @type {(holds: boolean, otherwise: string) => asserts holds} */
function demand(holds, otherwise) {
  if (!holds) throw new FormError(otherwise);
}
