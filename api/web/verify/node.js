/**
 * What is asked of the visitor's own wallet, whose node it is that answers (EIP-1193).
 *
 * Everything goes out here, and nowhere else. All questions together are at most `mostCalls`; a
 * few are under way at once. What a single node says is not doubted here: the same logs come by
 * range and by receipt. Errors of everything here: UncheckedError when the node is away, refuses or
 * answers in another form, or too much is asked; the signal's reason once it is aborted.
 */

/** @import {Block, Log, Outcome} from "./types.js" */

import * as answers from "./answers.js";
import { bytesOf } from "./bytes.js";
import { UncheckedError } from "./findings.js";
import { Pauses } from "./pause.js";

const AT_ONCE = 8;
const ANSWER_MS = 60_000;
const RETRIES = 4;
const FIRST_WAIT_MS = 250;
const FIRST_RANGE = 200;
const WIDEST_RANGE = 10_000; // blocks of one eth_getLogs; more is refused by many providers
const LOGS_AN_ANSWER = 2_000; // a task that reads more of them at once is long
const MOST_SAID = 200;
const REVERTED = 3;
const INVALID_PARAMS = -32602;
const TOO_FAST = new Set([-32005, 429]);
const CODE_FAILED =
  /out ?of ?gas|invalid ?(opcode|jump)|stack ?(under|over)flow|EVM error|VM execution/i;
export const VIEW_GAS = "0x989680"; // 10,000,000, of code that strangers chose

/** @typedef {(call: {method: string, params?: unknown[]}) => Promise<unknown>} Request */
/** @typedef {(part: string, done: number, of: number) => void} Tell */
/** @typedef {"latest" | number | {blockHash: string}} At */

/** The node refused one call. */
export class RefusedError extends Error {
  /** @param {unknown} error */
  constructor(error) {
    const raw = /** @type {{code?: unknown, message?: unknown}} */ (error ?? {});
    super(String(raw.message ?? error).slice(0, MOST_SAID));
    this.code = typeof raw.code === "number" ? raw.code : 0;
    this.data = revertDataOf(error);
  }

  get isRevert() {
    return this.code === REVERTED || this.message.toLowerCase().includes("revert");
  }

  /** Whether a contract's code failed, by a revert or otherwise. */
  get isOfTheCode() {
    return this.isRevert || CODE_FAILED.test(this.message);
  }
}

/** Wallets wrap a node's error in one or two of their own. @param {unknown} error */
function revertDataOf(error) {
  let at = /** @type {any} */ (error);
  for (let depth = 0; depth < 4 && at !== null && typeof at === "object"; depth++) {
    const data = at.data ?? at.originalError ?? at.error ?? at.cause;
    if (typeof data === "string") return /^0x([0-9a-fA-F]{2})*$/.test(data) ? data : "0x";
    at = data;
  }
  return "0x";
}

export class Node {
  /**
   * @param {Request} request @param {number} mostCalls @param {Tell} tell
   * @param {AbortSignal | undefined} signal
   */
  constructor(request, mostCalls, tell, signal) {
    this.request = request;
    this.mostCalls = mostCalls;
    this.tell = tell;
    this.signal = signal;
    this.calls = 0;
    this.pauses = new Pauses(signal);
  }

  /**
   * One question. Errors: also RefusedError.
   * @template T
   * @param {string} part @param {string} method @param {unknown[]} params
   * @param {(value: unknown) => T} parse
   */
  async once(part, method, params, parse) {
    for (let tries = 0; ; tries++) {
      this.signal?.throwIfAborted();
      if (this.calls >= this.mostCalls) {
        throw new UncheckedError(part, `more than ${this.mostCalls} calls would be needed`);
      }
      this.calls += 1;
      try {
        return parse(await this.answer(method, params));
      } catch (error) {
        this.signal?.throwIfAborted();
        if (error instanceof answers.AnswerError) {
          throw new UncheckedError(part, `the node's answer to ${method} is ${error.message}`);
        }
        const refused = new RefusedError(error);
        if (!TOO_FAST.has(refused.code) || tries >= RETRIES) throw refused;
        await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * 2 ** tries));
      }
    }
  }

  /** @param {string} method @param {unknown[]} params @returns {Promise<unknown>} */
  async answer(method, params) {
    let end = () => {};
    const late = new Promise((_, reject) => {
      const aborted = () => reject(this.signal?.reason);
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), ANSWER_MS);
      this.signal?.addEventListener("abort", aborted);
      end = () => {
        clearTimeout(timer);
        this.signal?.removeEventListener("abort", aborted);
      };
    });
    try {
      return await Promise.race([this.request({ method, params }), late]);
    } finally {
      end();
    }
  }

  /**
   * One question whose refusal leaves the part unchecked.
   * @template T
   * @param {string} part @param {string} method @param {unknown[]} params
   * @param {(value: unknown) => T} parse
   */
  async ask(part, method, params, parse) {
    try {
      return await this.once(part, method, params, parse);
    } catch (error) {
      throw error instanceof RefusedError ? new UncheckedError(part, error.message) : error;
    }
  }

  /**
   * The answers to many questions, in their order.
   * @template Q, T
   * @param {string} part @param {readonly Q[]} questions @param {(one: Q) => Promise<T>} ask
   */
  async each(part, questions, ask) {
    const found = /** @type {T[]} */ (Array(questions.length));
    let [next, done] = [0, 0];
    const worker = async () => {
      while (next < questions.length) {
        const at = next++;
        found[at] = await ask(/** @type {Q} */ (questions[at]));
        done += 1;
        this.tell(part, done, questions.length);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, questions.length) }, worker));
    return found;
  }

  chainId() {
    return this.ask("the chain's id", "eth_chainId", [], answers.number);
  }

  newest() {
    return this.ask("the newest block", "eth_blockNumber", [], answers.number);
  }

  /** @param {string} part @param {string} address @param {At} [at] */
  async codeAt(part, address, at = "latest") {
    return await this.ask(part, "eth_getCode", [address, tag(at)], answers.hex);
  }

  /**
   * What a contract answers. Errors: also RefusedError.
   * @param {string} part @param {{to: string, data: string, gas?: string}} call @param {At} at
   */
  async call(part, call, at) {
    return bytesOf(await this.once(part, "eth_call", [call, tag(at)], answers.hex));
  }

  /**
   * By height; one that the node does not have is left out.
   * @param {readonly number[]} heights @param {boolean} [isWhole] with its transactions
   */
  async blocks(heights, isWhole = false) {
    const found = await this.each("blocks", heights, (height) =>
      this.ask("blocks", "eth_getBlockByNumber", [hexNumber(height), isWhole], answers.block),
    );
    /** @type {Map<number, Block>} */
    const blocks = new Map();
    found.forEach((block, at) => {
      if (block !== null && block.number === heights[at]) blocks.set(block.number, block);
    });
    return blocks;
  }

  /** Also such as are not in the chain any more. @param {readonly string[]} hashes */
  async blocksOf(hashes) {
    const part = "lost blocks";
    const found = await this.each(part, hashes, (hash) =>
      this.ask(part, "eth_getBlockByHash", [hash, false], answers.block),
    );
    const known = found.filter((block) => block !== null);
    return new Map(known.map((block) => [block.hash, block]));
  }

  /**
   * The first height up to `last` whose block is of this second or later, by halving.
   * @param {number} at @param {number} last
   */
  async firstAfter(at, last) {
    let [low, high] = [0, last];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const block = (await this.blocks([middle])).get(middle);
      if (block === undefined || block.at < at) low = middle + 1;
      else high = middle;
    }
    return high;
  }

  /**
   * The first height up to `last` at which the address has code, by halving; 0 on a node without the
   * state of past blocks.
   * @param {string} address @param {number} last
   */
  async firstWithCode(address, last) {
    let [low, high] = [0, last];
    try {
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if ((await this.codeAt("a contract's age", address, middle)) === "0x") low = middle + 1;
        else high = middle;
      }
    } catch (error) {
      if (error instanceof UncheckedError) return 0;
      throw error;
    }
    return high;
  }

  /**
   * How many transactions an account had sent by the end of each of these blocks.
   * @param {string} account @param {readonly number[]} heights
   */
  async transactionCounts(account, heights) {
    const counts = await this.each("nonces", heights, (height) =>
      this.ask("nonces", "eth_getTransactionCount", [account, hexNumber(height)], answers.number),
    );
    return new Map(heights.map((height, at) => [height, /** @type {number} */ (counts[at])]));
  }

  /**
   * Of these transactions, with the logs of these indices; an unknown one is left out.
   * @param {ReadonlyMap<string, ReadonlySet<number>>} wanted
   */
  async outcomes(wanted) {
    const found = await this.each("receipts", [...wanted], ([txHash, indices]) =>
      this.ask("receipts", "eth_getTransactionReceipt", [txHash], answers.outcome(indices)),
    );
    /** @type {Map<string, Outcome>} */
    const outcomes = new Map();
    [...wanted.keys()].forEach((txHash, at) => {
      const one = found[at];
      if (one && one.txHash === txHash) outcomes.set(txHash, one);
    });
    return outcomes;
  }

  /**
   * The logs of these heights that pass the filter, in the order of the chain.
   * @param {string} part @param {{address: string, topics?: unknown[]}} filter
   * @param {number} first @param {number} last @param {number} [width] of how many blocks is asked
   * first
   */
  async *logs(part, filter, first, last, width = FIRST_RANGE) {
    let at = first;
    while (at <= last) {
      const until = Math.min(last, at + width - 1);
      const range = { fromBlock: hexNumber(at), toBlock: hexNumber(until) };
      let found;
      try {
        found = await this.once(part, "eth_getLogs", [{ ...filter, ...range }], answers.unreadLogs);
      } catch (error) {
        const isRefused = error instanceof RefusedError || error instanceof UncheckedError;
        if (!isRefused || this.calls >= this.mostCalls) throw error;
        if (width === 1) throw new UncheckedError(part, error.message);
        width = Math.max(1, Math.floor(Math.min(width, until - at + 1) / 4));
        continue;
      }
      for (const raw of found) {
        if (this.pauses.isDue) await this.pauses.pause();
        yield logOf(part, raw, filter.address, at, until);
      }
      this.tell(part, until - first + 1, last - first + 1);
      at = until + 1;
      const fitting = Math.floor((width * LOGS_AN_ANSWER) / Math.max(1, found.length));
      width = Math.max(1, Math.min(WIDEST_RANGE, width * 2, fitting));
    }
  }
}

/** @param {number} number */
export const hexNumber = (number) => `0x${number.toString(16)}`;

/** @param {At} at */
function tag(at) {
  return typeof at === "number" ? hexNumber(at) : at;
}

/** @param {RefusedError} error */
export const isOfTheParams = (error) => error.code === INVALID_PARAMS;

/**
 * A log, if it is one of those that were asked for. Errors: UncheckedError.
 * @param {string} part @param {unknown} raw @param {string} address @param {number} first
 * @param {number} last
 * @returns {Log}
 */
function logOf(part, raw, address, first, last) {
  try {
    const log = answers.log(raw);
    if (log.address === address && log.blockNumber >= first && log.blockNumber <= last) return log;
  } catch (error) {
    if (!(error instanceof answers.AnswerError)) throw error;
    throw new UncheckedError(part, `a log of the node is ${error.message}`);
  }
  throw new UncheckedError(part, "the node gives logs that nobody asked for");
}
