// What became of a transaction that was sent, as the wallet's own node reports it.
//
// While the wallet is on another network nothing is concluded: its node would answer for that one.

import { refusalOf } from "./refusals.js";
import { walletError } from "./wallet-errors.js";

/**
 * @typedef {import("./wallet.js").Wallet} Wallet
 * @typedef {import("./refusals.js").Refusal} Refusal
 * @typedef {import("./transaction-states.js").Transaction} Transaction
 * @typedef {import("./transaction-states.js").TransactionEvent} TransactionEvent
 * @typedef {{blockNumber: number, hash: string, isSuccess: boolean}} Receipt
 * @typedef {{hash: string, to: string, data: string, nonce: number}} Sent in lower case
 */

// Nodes behind one address may be a block apart: a nonce that has passed counts when seen twice.
const LOOKS_BEFORE_REPLACED = 2;
// How far back a transaction is looked for, and how many of an account's: about nine hours on Base.
const MOST_BLOCKS = 16_384;
const MOST_SENT = 8;

/** Follows the transactions of one wallet. */
export class ChainWatch {
  /** @param {Wallet} wallet */
  constructor(wallet) {
    this._wallet = wallet;
    /** @type {Map<string, number>} */
    this._passed = new Map();
  }

  /**
   * What happened to it since, if anything. Throws WalletError where the node does not answer, or
   * the wallet is on another network.
   * @param {Transaction} transaction
   * @returns {Promise<TransactionEvent | null>}
   */
  async eventOf(transaction) {
    await this._wallet.requireChain(transaction.chainId);
    const event =
      transaction.batchId === null
        ? await this._eventOfHash(transaction)
        : await this._eventOfBatch(transaction.batchId);
    await this._wallet.requireChain(transaction.chainId);
    return event;
  }

  /**
   * The nonce that the account's next transaction gets, as its node sees it.
   * @param {string} from
   * @returns {Promise<number | null>} null where the node does not say
   */
  async nextNonce(from) {
    try {
      return quantityOf(await this._wallet.request("eth_getTransactionCount", [from, "pending"]));
    } catch {
      return null;
    }
  }

  /**
   * What the account sent with the nonces from `first` up to `next`, as far as its node shows it.
   * @param {string} from
   * @param {number} first
   * @param {number} next
   * @returns {Promise<(Sent | null)[]>} null for each that the node does not show
   */
  async sentBetween(from, first, next) {
    const found = [];
    for (let nonce = first; nonce < Math.min(next, first + MOST_SENT); nonce++) {
      found.push(await this._sentWith(from, nonce).catch(() => null));
    }
    return next - first > MOST_SENT ? [...found, null] : found;
  }

  /**
   * The transaction with that nonce, in the block before which the account had not used it: looked
   * for from the newest block down, since nodes forget older states. Or in the block to come.
   * @param {string} from
   * @param {number} nonce
   * @returns {Promise<Sent | null>}
   */
  async _sentWith(from, nonce) {
    const isUsedAt = async (/** @type {number} */ block) => {
      const at = "0x" + block.toString(16);
      const next = quantityOf(await this._wallet.request("eth_getTransactionCount", [from, at]));
      if (next === null) throw new Error("the node does not say");
      return next > nonce;
    };
    const newest = quantityOf(await this._wallet.request("eth_blockNumber")) ?? 0;
    let [unused, used] = [newest, newest + 1];
    for (let step = 1; (await isUsedAt(unused)) && step <= MOST_BLOCKS && unused > 0; step *= 2) {
      [unused, used] = [Math.max(0, newest - step), unused];
    }
    while (used - unused > 1) {
      const middle = Math.floor((unused + used) / 2);
      if (await isUsedAt(middle)) used = middle;
      else unused = middle;
    }
    const block = used > newest ? "pending" : "0x" + used.toString(16);
    const answer = await this._wallet.request("eth_getBlockByNumber", [block, true]);
    return sentIn(answer, from, nonce);
  }

  /**
   * @param {Transaction} transaction
   * @returns {Promise<TransactionEvent | null>}
   */
  async _eventOfHash(transaction) {
    const hash = transaction.hash ?? "";
    const receipt = await this._receipt(hash);
    if (receipt?.isSuccess) return { type: "mined", block: receipt.blockNumber, hash };
    if (receipt) {
      const refusal = await this._reasonOf(hash, receipt.blockNumber);
      return { type: "reverted", block: receipt.blockNumber, hash, refusal };
    }
    const found = await this._wallet.request("eth_getTransactionByHash", [hash]);
    const nonce = quantityOf(/** @type {any} */ (found)?.nonce);
    if (nonce !== null) return nonce === transaction.nonce ? null : { type: "seen", nonce };
    return (await this._isPassed(transaction)) ? { type: "replaced" } : null;
  }

  /**
   * Whether another transaction of the sender has used its nonce.
   * @param {Transaction} transaction
   */
  async _isPassed({ id, from, nonce, nonceBefore }) {
    const own = nonce ?? nonceBefore;
    const next = quantityOf(
      await this._wallet.request("eth_getTransactionCount", [from, "latest"]),
    );
    if (own === null || next === null || next <= own) {
      this._passed.delete(id);
      return false;
    }
    const looks = (this._passed.get(id) ?? 0) + 1;
    this._passed.set(id, looks);
    return looks >= LOOKS_BEFORE_REPLACED;
  }

  /**
   * @param {string} batchId
   * @returns {Promise<TransactionEvent | null>}
   */
  async _eventOfBatch(batchId) {
    const { status, receipts } = await this._wallet.batchStatus(batchId);
    if (status === "pending") return null;
    const hash = receipts.at(-1)?.hash ?? null;
    const isDone = status === "done" && hash !== null && receipts.every((one) => one.isSuccess);
    if (!isDone) return { type: "reverted", block: null, hash, refusal: null };
    const receipt = await this._receipt(hash);
    return receipt === null ? null : { type: "mined", block: receipt.blockNumber, hash };
  }

  /**
   * Why a mined transaction reverted: it is run again on the state before its block, and after it.
   * @param {string} hash
   * @param {number} block
   * @returns {Promise<Refusal | null>} null: neither run reverts, or the node has no such state
   */
  async _reasonOf(hash, block) {
    try {
      const found = await this._wallet.request("eth_getTransactionByHash", [hash]);
      const sent = /** @type {any} */ (found);
      const call = { from: sent.from, to: sent.to, data: sent.input, value: sent.value };
      for (const at of [block - 1, block]) {
        const data = await this._revertData(call, "0x" + at.toString(16));
        if (data !== null) return refusalOf(data);
      }
    } catch {
      // Not known, then.
    }
    return null;
  }

  /**
   * @param {Record<string, unknown>} call
   * @param {string} block
   * @returns {Promise<string | null>}
   */
  async _revertData(call, block) {
    try {
      await this._wallet.request("eth_call", [call, block]);
      return null;
    } catch (thrown) {
      return walletError(thrown).data;
    }
  }

  /** @param {string} hash */
  async _receipt(hash) {
    return receiptOf(await this._wallet.request("eth_getTransactionReceipt", [hash]), hash);
  }
}

/**
 * @param {unknown} block with its transactions
 * @param {string} from
 * @param {number} nonce
 * @returns {Sent | null}
 */
function sentIn(block, from, nonce) {
  const listed = /** @type {any} */ (block)?.transactions;
  for (const one of Array.isArray(listed) ? listed : []) {
    const [sender, to, data, hash] = [one?.from, one?.to, one?.input, one?.hash].map((text) =>
      String(text).toLowerCase(),
    );
    const isOf = sender === from.toLowerCase() && quantityOf(one?.nonce) === nonce;
    if (isOf && /^0x[0-9a-f]{64}$/.test(hash ?? "")) {
      return { hash: hash ?? "", to: to ?? "", data: data ?? "", nonce };
    }
  }
  return null;
}

/**
 * @param {unknown} answer
 * @param {string} hash
 * @returns {Receipt | null} null where there is none yet, or it is of another transaction
 */
function receiptOf(answer, hash) {
  const receipt = /** @type {any} */ (answer);
  const blockNumber = quantityOf(receipt?.blockNumber);
  const isOf = String(receipt?.transactionHash).toLowerCase() === hash;
  if (blockNumber === null || !isOf || !/^0x[01]$/.test(String(receipt.status))) return null;
  return { blockNumber, hash, isSuccess: receipt.status === "0x1" };
}

/**
 * @param {unknown} quantity
 * @returns {number | null}
 */
function quantityOf(quantity) {
  if (typeof quantity !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(quantity)) return null;
  return Number(quantity);
}
