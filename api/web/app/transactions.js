// The transactions of one wallet: simulated, sent, followed to the block, and found again after a
// reload.

import { ChainWatch } from "./chain-watch.js";
import { PendingStore } from "./pending-store.js";
import { refusalOf } from "./refusals.js";
import { after, builtTransaction, isPending } from "./transaction-states.js";
import { WalletError, walletError } from "./wallet-errors.js";

/**
 * @typedef {import("./wallet.js").Wallet} Wallet
 * @typedef {import("./wallet.js").Call} Call
 * @typedef {import("./transaction-states.js").Transaction} Transaction
 * @typedef {import("./transaction-states.js").TransactionEvent} TransactionEvent
 * @typedef {{
 *   wallet: Wallet, shelf?: import("./pending-store.js").Shelf | null, pollMs?: number,
 *   now?: () => number,
 * }} Options
 */

const POLL_MS = 2_000;
const FIRST_POLL_MS = 250;

/** The list of transactions, the newest first, and what can be done with each. */
export class Transactions {
  /** @param {Options} options */
  constructor({ wallet, shelf = browserShelf(), pollMs = POLL_MS, now = Date.now }) {
    this._wallet = wallet;
    this._shelf = shelf;
    this._pollMs = pollMs;
    this._now = now;
    /** @type {Transaction[]} */
    this._list = [];
    /** @type {Set<(list: readonly Transaction[]) => void>} */
    this._listeners = new Set();
    this._watch = new ChainWatch(wallet);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this._timer = undefined;
    this._number = 0;
    this._pauseMs = FIRST_POLL_MS;
    this._isClosed = false;
  }

  /** @returns {readonly Transaction[]} */
  list() {
    return this._list;
  }

  /**
   * @param {string} id
   * @returns {Transaction | undefined}
   */
  get(id) {
    return this._list.find((one) => one.id === id);
  }

  /**
   * Called at each change.
   * @param {(list: readonly Transaction[]) => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    this._listeners.add(listener);
    return () => void this._listeners.delete(listener);
  }

  /** Stop following; what is pending stays in the browser's storage. */
  close() {
    this._isClosed = true;
    clearTimeout(this._timer);
    this._listeners.clear();
  }

  /**
   * Add a transaction that nobody has been asked for yet.
   * @param {string} title
   * @param {readonly Call[]} calls more than one: sent as one batch
   * @param {string} from
   * @returns {string} its id
   */
  add(title, calls, from) {
    const id = this._nextId();
    this._put([builtTransaction({ id, title, calls, from }), ...this._list]);
    return id;
  }

  /**
   * Forget a transaction. One that was sent may still be mined; it is followed no more.
   * @param {string} id
   */
  discard(id) {
    const found = this.get(id);
    if (found === undefined || found.phase === "waiting") return;
    this._forget(found);
    this._put(this._list.filter((one) => one.id !== id));
  }

  /**
   * Run the call at the latest block, as its sender. Of a batch the first call alone: the others
   * depend on it.
   * @param {string} id
   * @returns {Promise<boolean>} whether it would pass; false too where the node did not answer
   */
  async simulate(id) {
    const transaction = this.get(id);
    const call = transaction?.calls[0];
    if (transaction === undefined || call === undefined) return false;
    try {
      await this._wallet.requireChain(transaction.chainId);
      await this._wallet.request("eth_call", [asked(call, transaction.from), "latest"]);
      this._apply(id, { type: "simulated" });
      return true;
    } catch (thrown) {
      const error = walletError(thrown);
      const isRefusal = error.kind === "reverted";
      if (isRefusal) this._apply(id, { type: "refused", refusal: refusalOf(error.data) });
      else this._apply(id, { type: "failed", error });
      return false;
    }
  }

  /**
   * Ask the wallet to sign and send. What it refuses stands in the transaction's `error`.
   * @param {string} id
   * @returns {Promise<boolean>} whether it was sent
   */
  async send(id) {
    const transaction = this.get(id);
    this._apply(id, { type: "asked" });
    const waiting = this.get(id);
    if (transaction === undefined || waiting === undefined || waiting === transaction) return false;
    try {
      const nonceBefore = await this._watch.nextNonce(waiting.from);
      const sent = await this._ask(waiting);
      this._apply(id, { type: "sent", ...sent, nonceBefore, at: this._now() });
    } catch (thrown) {
      this._apply(id, { type: "failed", error: walletError(thrown) });
      return false;
    }
    this._remember(id);
    this._pauseMs = FIRST_POLL_MS;
    this._schedule();
    return true;
  }

  /** Take up what an earlier page of this browser sent, for the wallet's account and network. */
  resume() {
    const { address, chainId } = this._wallet.state;
    if (address === null || chainId === null) return;
    const known = new Set(this._list.map((one) => one.batchId ?? one.hash));
    const found = this._store(chainId, address)
      .read()
      .filter((entry) => !known.has(entry.batchId ?? entry.hash));
    const taken = found.map((entry) => {
      const calls = [{ to: entry.to, data: "0x", chain_id: chainId }];
      const start = { id: this._nextId(), title: entry.title, calls, from: address };
      const { hash, batchId, nonce, nonceBefore, at } = entry;
      const waiting = after(builtTransaction(start), { type: "asked" });
      return { ...after(waiting, { type: "sent", hash, batchId, nonceBefore, at }), nonce };
    });
    this._put([...taken.reverse(), ...this._list]);
    this._schedule();
  }

  /**
   * The service's record has the transaction.
   * @param {string} hash
   */
  recorded(hash) {
    const found = this._list.find((one) => one.hash === hash.toLowerCase());
    if (found !== undefined) this._apply(found.id, { type: "recorded" });
  }

  /** Look at all that are pending, once. */
  async look() {
    for (const transaction of this._list.filter(isPending)) {
      try {
        const event = await this._watch.eventOf(transaction);
        if (event !== null) this._apply(transaction.id, event);
        if (event?.type === "seen") this._remember(transaction.id);
      } catch {
        // The node did not answer: the transaction is as it was, and is looked at again.
      }
    }
  }

  /**
   * @param {Transaction} transaction
   * @returns {Promise<{hash: string | null, batchId: string | null}>}
   */
  async _ask({ calls, from }) {
    const [call, second] = calls;
    if (call === undefined) throw new WalletError("failed", { message: "Nothing to send." });
    return second === undefined
      ? { hash: await this._wallet.send(call, { from }), batchId: null }
      : { hash: null, batchId: await this._wallet.sendBatch(calls, { from }) };
  }

  _schedule() {
    clearTimeout(this._timer);
    if (this._isClosed || !this._list.some(isPending)) return;
    const pauseMs = Math.min(this._pauseMs, this._pollMs);
    this._pauseMs = 2 * pauseMs;
    this._timer = setTimeout(() => void this.look().finally(() => this._schedule()), pauseMs);
  }

  /**
   * @param {string} id
   * @param {TransactionEvent} event
   */
  _apply(id, event) {
    const before = this.get(id);
    if (before === undefined) return;
    const next = after(before, event);
    if (next === before) return;
    if (isPending(before) && next.phase !== "sent") this._forget(before);
    this._put(this._list.map((one) => (one.id === id ? next : one)));
  }

  /** @param {string} id */
  _remember(id) {
    const sent = this.get(id);
    if (sent === undefined) return;
    const { hash, batchId, title, nonce, nonceBefore } = sent;
    const entry = { hash, batchId, title, nonce, nonceBefore, at: sent.sentAt ?? this._now() };
    this._store(sent.chainId, sent.from).put({ ...entry, to: sent.calls[0]?.to ?? "" });
  }

  /** @param {Transaction} transaction */
  _forget(transaction) {
    this._store(transaction.chainId, transaction.from).remove(transaction);
  }

  /**
   * @param {number} chainId
   * @param {string} account
   */
  _store(chainId, account) {
    return new PendingStore(this._shelf, chainId, account);
  }

  /** @param {Transaction[]} list */
  _put(list) {
    this._list = list;
    for (const listener of this._listeners) listener(list);
  }

  _nextId() {
    this._number += 1;
    return `t${this._number}`;
  }
}

/**
 * @param {Call} call
 * @param {string} from
 */
function asked(call, from) {
  return { from, to: call.to, data: call.data, value: "0x" + BigInt(call.value ?? 0).toString(16) };
}

/** @returns {Storage | null} */
function browserShelf() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null; // the browser forbids storage
  }
}
