// The transactions of one wallet: simulated, sent, followed to the block, and found again after a
// reload.

import { ChainWatch } from "./chain-watch.js";
import { PendingStore } from "./pending-store.js";
import { refusalOf } from "./refusals.js";
import { after, builtTransaction, isPending } from "./transaction-states.js";
import { PERSON_TIMEOUT_MS } from "./wallet.js";
import { WalletError, walletError } from "./wallet-errors.js";

/**
 * @typedef {import("./wallet.js").Wallet} Wallet
 * @typedef {import("./wallet.js").Call} Call
 * @typedef {import("./transaction-states.js").Transaction} Transaction
 * @typedef {import("./transaction-states.js").TransactionEvent} TransactionEvent
 * @typedef {{
 *   wallet: Wallet, shelf?: import("./pending-store.js").Shelf | null, pollMs?: number,
 *   patienceMs?: number, now?: () => number,
 * }} Options
 * @typedef {Extract<TransactionEvent, {type: "sent"}>} SentEvent
 */

const POLL_MS = 2_000;
const FIRST_POLL_MS = 250;

/** The list of transactions, the newest first, and what can be done with each. */
export class Transactions {
  /** @param {Options} options */
  constructor({ wallet, shelf = browserShelf(), pollMs = POLL_MS, now = Date.now, ...more }) {
    this._wallet = wallet;
    this._shelf = shelf;
    this._pollMs = pollMs;
    this._patienceMs = more.patienceMs ?? PERSON_TIMEOUT_MS;
    this._now = now;
    /** The account's next nonce when the wallet was asked last, by id. @type {Map<string, number | null>} */
    this._nonces = new Map();
    /** Requests that the wallet has not answered, by id, the newest last. @type {Map<string, symbol[]>} */
    this._open = new Map();
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
   * @returns {Promise<boolean>} whether it would pass; false too where the node gave no verdict
   */
  async simulate(id) {
    return (await this._verdict(id)) === "passes";
  }

  /**
   * Simulate and send, as a button does it: nothing is sent that would be refused, or that may have
   * been sent already. The reason stands in the transaction.
   * @param {string} id
   * @param {{isSure?: boolean, isForced?: boolean}} [consent] the owner's: though it may have been
   *   sent already; though the simulation refused it, or could not be run
   * @returns {Promise<boolean>} whether it was sent
   */
  async pursue(id, { isSure = false, isForced = false } = {}) {
    if (!isSure && !(await this._isClear(id))) return false;
    const verdict = isForced ? "passes" : await this._verdict(id);
    const goes = verdict === "passes" || (verdict === "unknown" && isSure);
    return goes && this.send(id, { isSure: true });
  }

  /**
   * Ask the wallet to sign and send. What it refuses stands in the transaction's `error`. An answer
   * that comes after the page's patience is taken all the same.
   * @param {string} id
   * @param {{isSure?: boolean}} [consent] the owner's, though it may have been sent already
   * @returns {Promise<boolean>} whether it was sent within the page's patience
   */
  async send(id, { isSure = false } = {}) {
    if (!isSure && !(await this._isClear(id))) return false;
    const transaction = this.get(id);
    this._apply(id, { type: "asked" });
    const waiting = this.get(id);
    if (transaction === undefined || waiting === undefined || waiting === transaction) return false;
    const request = Symbol(id);
    this._open.set(id, [...(this._open.get(id) ?? []), request]);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve(this._late(id, request)), this._patienceMs);
    });
    const answered = this._askAndFollow(waiting, request).finally(() => clearTimeout(timer));
    return /** @type {Promise<boolean>} */ (Promise.race([answered, late]));
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
   * @param {string} id
   * @returns {Promise<"passes" | "refused" | "unknown" | "failed">} failed: the wallet is elsewhere
   */
  async _verdict(id) {
    const transaction = this.get(id);
    const call = transaction?.calls[0];
    if (transaction === undefined || call === undefined) return "failed";
    try {
      await this._wallet.requireChain(transaction.chainId);
    } catch (thrown) {
      this._apply(id, { type: "failed", error: walletError(thrown) });
      return "failed";
    }
    try {
      const request = [asked(call, transaction.from), "latest"];
      const answer = await this._wallet.request("eth_call", request);
      if (typeof answer !== "string") throw new WalletError("failed");
      this._apply(id, { type: "simulated" });
      return "passes";
    } catch (thrown) {
      const { kind, data, detail, code } = walletError(thrown);
      if (kind === "reverted") {
        this._apply(id, { type: "refused", refusal: refusalOf(data) });
        return "refused";
      }
      const error = new WalletError("unsimulated", { detail, code });
      this._apply(id, { type: "unsimulated", error });
      return "unknown";
    }
  }

  /**
   * Whether the wallet can be asked without fear that it did this already. What the account sent
   * since it was asked is looked at; the transaction itself, if it is among that, is followed.
   * @param {string} id
   * @returns {Promise<boolean>} false: the reason stands in the transaction
   */
  async _isClear(id) {
    const transaction = this.get(id);
    const before = this._nonces.get(id);
    if (transaction === undefined || before === undefined) return true; // it was never asked
    const { chainId, from, phase } = transaction;
    try {
      await this._wallet.requireChain(chainId);
    } catch (thrown) {
      this._apply(id, { type: "failed", error: walletError(thrown) });
      return false;
    }
    const next = await this._watch.nextNonce(from);
    if (before === null || next === null) return this._doubt(id, "unknown_nonce");
    const sent = await this._watch.sentBetween(from, before, next);
    const own = sent.find((one) => one !== null && isCall(one, transaction) && !this._knows(one));
    if (own) {
      const { hash, nonce } = own;
      this._follow(transaction, {
        ...{ type: "sent", hash, batchId: null, nonceBefore: nonce, at: this._now() },
        open: this._open.get(id)?.length ?? 0,
      });
      return false;
    }
    const others = sent.filter((one) => one === null || !this._knows(one));
    if (others.length > 0)
      return this._doubt(
        id,
        "moved",
        others.flatMap((one) => one?.hash ?? []),
      );
    return phase !== "unanswered" || this._doubt(id, "unanswered");
  }

  /**
   * @param {string} id
   * @param {import("./wallet-errors.js").WalletErrorKind} kind
   * @param {readonly string[]} [hashes]
   * @returns {false}
   */
  _doubt(id, kind, hashes = []) {
    this._apply(id, { type: "doubted", error: new WalletError(kind), hashes });
    return false;
  }

  /**
   * Whether a card of the list has it.
   * @param {{hash: string}} sent
   */
  _knows({ hash }) {
    return this._list.some((one) => one.hash === hash);
  }

  /**
   * @param {Transaction} waiting
   * @param {symbol} request
   * @returns {Promise<boolean>} whether it was sent
   */
  async _askAndFollow(waiting, request) {
    const { id, chainId, from } = waiting;
    try {
      await this._wallet.requireChain(chainId);
      const nonceBefore = await this._watch.nextNonce(from);
      this._nonces.set(id, nonceBefore);
      const sent = await this._ask(waiting);
      const open = this._close(id, request);
      this._follow(waiting, { type: "sent", ...sent, nonceBefore, at: this._now(), open });
      return true;
    } catch (thrown) {
      const isNewest = this._open.get(id)?.at(-1) === request;
      const open = this._close(id, request);
      const isHere = isNewest || this.get(id)?.phase === "unanswered";
      if (isHere) this._apply(id, { type: "failed", error: walletError(thrown), open });
      return false;
    }
  }

  /**
   * The wallet has answered.
   * @param {string} id
   * @param {symbol} request
   * @returns {number} how many requests for the same are still open
   */
  _close(id, request) {
    const left = (this._open.get(id) ?? []).filter((one) => one !== request);
    this._open.set(id, left);
    return left.length;
  }

  /**
   * The page's patience is over; the request stays open.
   * @param {string} id
   * @param {symbol} request
   * @returns {false}
   */
  _late(id, request) {
    if (this._open.get(id)?.at(-1) === request) {
      this._apply(id, { type: "late", error: new WalletError("unanswered") });
    }
    return false;
  }

  /**
   * Follow what was sent: on its card, and on one of its own where the card was dismissed meanwhile
   * or follows another transaction already.
   * @param {Transaction} waiting
   * @param {SentEvent} event
   */
  _follow(waiting, event) {
    if (event.hash !== null && this._knows({ hash: event.hash })) return;
    const found = this.get(waiting.id);
    const isFollowed = found !== undefined && found.sentAt !== null;
    const id = isFollowed ? this._nextId() : waiting.id;
    if (found === undefined || isFollowed) this._put([{ ...waiting, id }, ...this._list]);
    this._apply(id, { type: "asked" });
    this._apply(id, event);
    this._remember(id);
    this._pauseMs = FIRST_POLL_MS;
    this._schedule();
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

/**
 * Whether what was sent is the transaction's one call.
 * @param {import("./chain-watch.js").Sent} sent
 * @param {Transaction} transaction
 */
function isCall({ to, data }, { calls }) {
  const [call] = calls;
  const isOne = call !== undefined && calls.length === 1;
  return isOne && to === call.to.toLowerCase() && data === call.data.toLowerCase();
}

/** @returns {Storage | null} */
function browserShelf() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null; // the browser forbids storage
  }
}
