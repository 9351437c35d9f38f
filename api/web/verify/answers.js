/**
 * What each method of a node promises, read strictly: another form is an error, never a guess.
 * Sizes are bounded before anything is computed. Errors of everything here: AnswerError.
 */

/** @import {Block, Call, Log, Outcome} from "./types.js" */

import { checksum } from "./bytes.js";

const MOST_LOGS = 20_000;
const MOST_TRANSACTIONS = 100_000;
const MOST_INDEX = 2 ** 28;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;
const NUMBER = /^0x0{0,50}[0-9a-fA-F]{1,13}$/; // below 2**52
const TIME = /^0x0{0,55}[0-9a-fA-F]{1,9}$/;
const STATUS = /^0x0{0,63}[01]$/;

export class AnswerError extends Error {}

/** @param {unknown} value @param {RegExp} form @returns {string} */
function matching(value, form) {
  if (typeof value !== "string" || !form.test(value)) throw new AnswerError("of another form");
  return value;
}

/** @param {unknown} value @returns {{[key: string]: unknown}} */
function object(value) {
  if (typeof value !== "object" || value === null) throw new AnswerError("no object");
  return /** @type {{[key: string]: unknown}} */ (value);
}

/** @param {unknown} value @param {number} most @returns {unknown[]} */
function list(value, most) {
  if (!Array.isArray(value) || value.length > most) throw new AnswerError("no list, or too long");
  return value;
}

/** @param {unknown} value */
export const number = (value) => Number.parseInt(matching(value, NUMBER), 16);
/** @param {unknown} value */
export const hex = (value) => matching(value, HEX).toLowerCase();
/** @param {unknown} value */
const hash = (value) => matching(value, HASH).toLowerCase();
/** @param {unknown} value */
const address = (value) => checksum(matching(value, ADDRESS));
/** @param {unknown} value */
const addressOrNull = (value) => (value === null ? null : address(value));

/** @param {unknown} value */
function index(value) {
  const found = number(value);
  if (found >= MOST_INDEX) throw new AnswerError("an index out of range");
  return found;
}

/** Null: not there. @param {unknown} value @returns {Block | null} */
export function block(value) {
  if (value === null) return null;
  const raw = object(value);
  const listed = list(raw.transactions, MOST_TRANSACTIONS);
  const whole = listed.filter((one) => typeof one !== "string").map(call);
  return {
    number: number(raw.number),
    hash: hash(raw.hash),
    parentHash: hash(raw.parentHash),
    at: Number.parseInt(matching(raw.timestamp, TIME), 16),
    txHashes: whole.length ? whole.map((one) => one.txHash) : listed.map(hash),
    calls: whole,
  };
}

/** @param {unknown} value @returns {Call} */
function call(value) {
  const raw = object(value);
  return { txHash: hash(raw.hash), sender: address(raw.from), to: addressOrNull(raw.to) };
}

/** Errors: AnswerError. @param {unknown} value @returns {Log} */
export function log(value) {
  const raw = object(value);
  return {
    address: address(raw.address),
    topics: list(raw.topics, 4).map(hash),
    data: hex(raw.data),
    blockNumber: number(raw.blockNumber),
    blockHash: hash(raw.blockHash),
    txHash: hash(raw.transactionHash),
    txIndex: index(raw.transactionIndex),
    logIndex: index(raw.logIndex),
  };
}

/** Logs that are still to be read, each by `log`. @param {unknown} value */
export const unreadLogs = (value) => list(value, MOST_LOGS);

/**
 * A receipt with the logs of these indices alone; null: there is no such transaction.
 * @param {ReadonlySet<number>} wanted
 * @returns {(value: unknown) => Outcome | null}
 */
export function outcome(wanted) {
  return (value) => {
    if (value === null) return null;
    const raw = object(value);
    const picked = list(raw.logs, MOST_LOGS)
      .filter((one) => wanted.has(number(object(one).logIndex)))
      .map(log);
    return {
      txHash: hash(raw.transactionHash),
      status: Number.parseInt(matching(raw.status, STATUS), 16),
      blockNumber: number(raw.blockNumber),
      blockHash: hash(raw.blockHash),
      sender: address(raw.from),
      to: addressOrNull(raw.to),
      logs: new Map(picked.map((one) => [one.logIndex, one])),
    };
  };
}

/**
 * A transaction that can be run again.
 * @param {unknown} value
 * @returns {{from: string, to: string | null, input: string, gas: string} | null}
 */
export function transaction(value) {
  if (value === null) return null;
  const raw = object(value);
  hash(raw.hash);
  return {
    from: address(raw.from),
    to: addressOrNull(raw.to),
    input: hex(raw.input),
    gas: matching(raw.gas, NUMBER),
  };
}

/** @param {unknown} value */
export const plain = (value) => value;
