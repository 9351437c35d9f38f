// Hashes of transactions that were sent and not yet seen mined, kept in the browser for each wallet
// and network, so that a reload loses nothing. Whatever the storage holds is hostile until parsed.

import { plainText } from "./wallet-errors.js";

/**
 * `at` in milliseconds of unix time. One of `hash` and `batchId` is there.
 * @typedef {{
 *   hash: string | null, batchId: string | null, title: string, to: string,
 *   nonce: number | null, nonceBefore: number | null, at: number,
 * }} PendingEntry
 * @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Shelf
 */

const PREFIX = "mandate-wallet.pending.1";
const MOST_ENTRIES = 32;
const MOST_TEXT = 65_536;
const TITLE_LENGTH = 80;
const BATCH_ID_LENGTH = 8194;

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
    const others = this.read().filter((one) => !isSame(one, entry));
    this._write([...others, entry].slice(-MOST_ENTRIES));
  }

  /** @param {Pick<PendingEntry, "hash" | "batchId">} entry */
  remove(entry) {
    this._write(this.read().filter((one) => !isSame(one, entry)));
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
  const { hash, batchId, title, to, nonce, nonceBefore, at } =
    /** @type {Record<string, unknown>} */ (found);
  const isHash = typeof hash === "string" && /^0x[0-9a-f]{64}$/.test(hash);
  const isBatch = typeof batchId === "string" && /^[\x21-\x7e]+$/.test(batchId);
  if (!isHash && !(isBatch && batchId.length <= BATCH_ID_LENGTH)) return null;
  if (typeof to !== "string" || !/^0x[0-9a-f]{40}$/i.test(to)) return null;
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) return null;
  return {
    hash: isHash ? hash : null,
    batchId: isBatch ? batchId : null,
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
 * @param {Pick<PendingEntry, "hash" | "batchId">} one
 * @param {Pick<PendingEntry, "hash" | "batchId">} other
 */
function isSame(one, other) {
  return one.batchId === null && other.batchId === null
    ? one.hash === other.hash
    : one.batchId === other.batchId;
}
