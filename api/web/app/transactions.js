// The transactions of one wallet: simulated, sent, followed to the block, and found again after a
// reload.

import { ChainWatch } from "./chain-watch.js";
import { nameOf, PendingStore } from "./pending-store.js";
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
/** What a wallet answers where it did not send. */
const UNSENT = ["rejected", "unauthorized", "wrong_network", "unsupported", "pending"];

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
    /** Keys of what is kept of requests that may have been sent, by id. @type {Map<string, string>} */
    this._unheard = new Map();
    /** The account's next nonce when what an earlier page asked was looked for, by id. @type {Map<string, number>} */
    this._sought = new Map();
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
    this._hear(found);
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
   * been sent already. The reason is in the transaction.
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
   * Ask the wallet to sign and send. What it refuses is in the transaction's `error`. An answer
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

  /**
   * Take up what an earlier page of this browser sent, or asked without an answer, for the wallet's
   * account and network.
   */
  resume() {
    const { address, chainId } = this._wallet.state;
    if (address === null || chainId === null) return;
    const known = new Set([...this._list.map(nameOf), ...this._unheard.values()]);
    const found = this._store(chainId, address)
      .read()
      .filter((entry) => !known.has(nameOf(entry)));
    const taken = found.map((entry) => {
      const { hash, batchId, asked, nonce, nonceBefore, at } = entry;
      const kept = asked?.calls ?? [{ to: entry.to, data: "0x" }];
      const calls = kept.map((one) => ({ ...one, chain_id: chainId }));
      const start = { id: this._nextId(), title: entry.title, calls, from: address };
      const waiting = after(builtTransaction(start), { type: "asked" });
      if (asked === null) {
        return { ...after(waiting, { type: "sent", hash, batchId, nonceBefore, at }), nonce };
      }
      this._nonces.set(start.id, nonceBefore);
      this._unheard.set(start.id, asked.key);
      return after(waiting, { type: "late", error: new WalletError("unheard") });
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

  /** Look at all that are pending, or that an earlier page asked for, once. */
  async look() {
    for (const transaction of this._list.filter((one) => this._isWatched(one))) {
      try {
        if (!isPending(transaction)) {
          await this._seek(transaction);
          continue;
        }
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
   * Whether something can still become of it without a word of the wallet.
   * @param {Transaction} transaction
   */
  _isWatched(transaction) {
    const { id, phase } = transaction;
    const isOfEarlierPage = phase === "unanswered" && !this._open.get(id)?.length;
    return isPending(transaction) || (isOfEarlierPage && this._unheard.has(id));
  }

  /**
   * Look for what an earlier page asked for, each time that the account has sent something.
   * @param {Transaction} transaction
   */
  async _seek({ id, chainId, from }) {
    await this._wallet.requireChain(chainId);
    const [before, next] = [this._nonces.get(id) ?? null, await this._watch.nextNonce(from)];
    if (before === null || next === null || next <= before) return;
    if (this._sought.get(id) === next) return;
    this._sought.set(id, next);
    await this._isClear(id);
  }

  /**
   * What the wallet was asked for: the transaction itself, and others for the same that may have
   * been sent, whose figures may be older.
   * @param {Transaction} transaction
   */
  _askedFor({ id, title, chainId, from, calls }) {
    return this._list.filter((one) =>
      one.id === id
        ? this._nonces.has(id)
        : this._unheard.has(one.id) &&
          one.title === title &&
          one.chainId === chainId &&
          one.from === from &&
          one.calls[0]?.to.toLowerCase() === calls[0]?.to.toLowerCase(),
    );
  }

  /**
   * Whether the wallet can be asked without fear that it did this already. What the account sent
   * since it was asked is looked at; the transaction itself, if it is among that, is followed.
   * @param {string} id
   * @returns {Promise<boolean>} false: the reason is in the transaction
   */
  async _isClear(id) {
    const transaction = this.get(id);
    const asked = transaction === undefined ? [] : this._askedFor(transaction);
    if (transaction === undefined || asked.length === 0) return true; // it was never asked
    const { chainId, from } = transaction;
    try {
      await this._wallet.requireChain(chainId);
    } catch (thrown) {
      this._apply(id, { type: "failed", error: walletError(thrown) });
      return false;
    }
    const next = await this._watch.nextNonce(from);
    const before = asked.map((one) => this._nonces.get(one.id) ?? -1);
    if (before.includes(-1) || next === null) return this._doubt(id, "unknown_nonce");
    const sent = await this._watch.sentBetween(from, Math.min(...before), next);
    const others = sent.filter((one) => one === null || !this._knows(one));
    for (const one of others) {
      const of = asked.find((request) => one !== null && isCall(one, request));
      if (of === undefined || one === null) continue;
      const { hash, nonce } = one;
      this._follow(of, {
        ...{ type: "sent", hash, batchId: null, nonceBefore: nonce, at: this._now() },
        open: this._open.get(of.id)?.length ?? 0,
      });
      return of.id !== id && this._doubt(id, "moved", [hash]);
    }
    if (others.length > 0)
      return this._doubt(
        id,
        "moved",
        others.flatMap((one) => one?.hash ?? []),
      );
    return !asked.some(isOpen) || this._doubt(id, "unanswered");
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
      this._keep(waiting, nonceBefore);
      const sent = await this._ask(waiting);
      const open = this._close(id, request);
      this._follow(waiting, { type: "sent", ...sent, nonceBefore, at: this._now(), open });
      return true;
    } catch (thrown) {
      const isNewest = this._open.get(id)?.at(-1) === request;
      const open = this._close(id, request);
      if (open === 0 && UNSENT.includes(walletError(thrown).kind)) this._hear(waiting);
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
    // others for the same that failed had no nonce: this one has it now
    for (const one of this._askedFor(waiting)) if (!isOpen(one)) this._hear(one);
    this._hear(waiting);
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
    if (this._isClosed || !this._list.some((one) => this._isWatched(one))) return;
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
    const entry = { hash, batchId, asked: null, title, nonce, nonceBefore };
    const [at, to] = [sent.sentAt ?? this._now(), sent.calls[0]?.to ?? ""];
    this._store(sent.chainId, sent.from).put({ ...entry, at, to });
  }

  /**
   * Keep what the wallet is asked for until it says what became of it.
   * @param {Transaction} waiting
   * @param {number | null} nonceBefore
   */
  _keep({ id, calls, title, chainId, from }, nonceBefore) {
    const key = this._unheard.get(id) ?? `${this._now()}.${Math.random()}`;
    this._unheard.set(id, key);
    const kept = calls.map(({ to, data, value }) => ({ to, data, value: String(value ?? 0) }));
    const entry = { hash: null, batchId: null, asked: { key, calls: kept }, title };
    const more = { nonce: null, nonceBefore, at: this._now(), to: calls[0]?.to ?? "" };
    this._store(chainId, from).put({ ...entry, ...more });
  }

  /**
   * It is known what became of it.
   * @param {Transaction} transaction
   */
  _hear({ id, chainId, from }) {
    const key = this._unheard.get(id);
    if (key === undefined) return;
    this._unheard.delete(id);
    this._store(chainId, from).remove({ hash: null, batchId: null, asked: { key } });
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

/**
 * Whether the wallet may still have the request for it.
 * @param {Transaction} transaction
 */
function isOpen({ phase }) {
  return phase === "waiting" || phase === "unanswered";
}

/** @returns {Storage | null} */
function browserShelf() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null; // the browser forbids storage
  }
}
