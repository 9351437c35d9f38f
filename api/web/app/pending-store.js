// Hashes of transactions that were sent and not yet seen mined, and requests of which a wallet has
// not said what became, kept in the browser for each wallet and network, so that a reload loses
// nothing. Whatever the storage holds is hostile until parsed.

import { plainText } from "./wallet-errors.js";

/**
 * `at` in milliseconds of unix time. One of `hash`, `batchId` and `asked` is there.
 * @typedef {{key: string, calls: {to: string, data: string, value: string}[]}} Asked
 * @typedef {{
 *   hash: string | null, batchId: string | null, asked: Asked | null, title: string, to: string,
 *   nonce: number | null, nonceBefore: number | null, at: number,
 * }} PendingEntry
 * @typedef {Pick<PendingEntry, "hash" | "batchId"> & {asked?: {key: string} | null}} Named
 * @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Shelf
 */

const PREFIX = "mandate-wallet.pending.1";
const MOST_ENTRIES = 32;
const MOST_TEXT = 65_536;
const TITLE_LENGTH = 80;
const BATCH_ID_LENGTH = 8194;
const KEY_LENGTH = 64;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

/** The pending hashes of one account on one network. */
export class PendingStore {
  /**
   * @param {Shelf | null} shelf localStorage; null where the browser gives none
   * @param {number} chainId
   * @param {string} account
   */
  constructor(shelf, chainId, account) {
    this._shelf = shelf;
    this._key = `${PREFIX}.${chainId}.${account.toLowerCase()}`;
  }

  /**
   * @returns {PendingEntry[]} the oldest first
   */
  read() {
    try {
      const text = this._shelf?.getItem(this._key) ?? "[]";
      const found = text.length > MOST_TEXT ? [] : JSON.parse(text);
      if (!Array.isArray(found)) return [];
      return found.slice(-MOST_ENTRIES).flatMap((one) => pendingEntry(one) ?? []);
    } catch {
      return []; // no JSON, or the browser refuses storage
    }
  }

  /**
   * Keep an entry; the oldest gives way when there are too many.
   * @param {PendingEntry} entry
   */
  put(entry) {
    const others = this.read().filter((one) => nameOf(one) !== nameOf(entry));
    this._write([...others, entry].slice(-MOST_ENTRIES));
  }

  /** @param {Named} entry */
  remove(entry) {
    this._write(this.read().filter((one) => nameOf(one) !== nameOf(entry)));
  }

  /** @param {PendingEntry[]} entries */
  _write(entries) {
    try {
      if (entries.length === 0) this._shelf?.removeItem(this._key);
      else this._shelf?.setItem(this._key, JSON.stringify(entries));
    } catch {
      // Storage is full or forbidden: the transaction is still followed while the page is open.
    }
  }
}

/**
 * @param {unknown} found
 * @returns {PendingEntry | null}
 */
function pendingEntry(found) {
  if (typeof found !== "object" || found === null) return null;
  const { hash, batchId, asked, title, to, nonce, nonceBefore, at } =
    /** @type {Record<string, unknown>} */ (found);
  const request = askedOf(asked);
  const isHash = typeof hash === "string" && /^0x[0-9a-f]{64}$/.test(hash);
  const isBatch = typeof batchId === "string" && /^[\x21-\x7e]+$/.test(batchId);
  if (!isHash && !(isBatch && batchId.length <= BATCH_ID_LENGTH) && request === null) return null;
  if (typeof to !== "string" || !ADDRESS.test(to)) return null;
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) return null;
  return {
    hash: isHash ? hash : null,
    batchId: isBatch ? batchId : null,
    asked: request,
    title: plainText(title, TITLE_LENGTH) || "Transaction",
    to,
    nonce: count(nonce),
    nonceBefore: count(nonceBefore),
    at,
  };
}

/** @param {unknown} value */
function count(value) {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/**
 * @param {unknown} found
 * @returns {Asked | null}
 */
function askedOf(found) {
  const { key, calls } = /** @type {any} */ (found ?? {});
  if (typeof key !== "string" || key === "" || key.length > KEY_LENGTH) return null;
  if (!Array.isArray(calls) || calls.length === 0) return null;
  const read = calls.map((one) => ({ to: one?.to, data: one?.data, value: String(one?.value) }));
  const isRight = read.every(
    ({ to, data, value }) =>
      ADDRESS.test(String(to)) &&
      /^0x(?:[0-9a-f]{2})*$/i.test(String(data)) &&
      /^(?:0x[0-9a-f]{1,64}|[0-9]{1,78})$/i.test(value),
  );
  return isRight ? { key, calls: read } : null;
}

/**
 * What identifies an entry.
 * @param {Named} entry
 * @returns {string | null}
 */
export function nameOf({ hash, batchId, asked }) {
  return asked?.key ?? batchId ?? hash;
}
