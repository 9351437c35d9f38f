// Check a record here: its hash chain is computed again, and what it says of transactions and of its
// newest anchor is looked up at the visitor's own node.
//
// A page proves nothing against the service that serves it, and this is a part of what verify-record
// checks (docs/verify.md): no signature, no sum, and no row that was left out.

import { bytesOf, concat, hexOf, keccak, utf8, word } from "./bytes.js";
import { canonical } from "./canonical.js";

const FORMAT = "mandate-record";
const VERSION = 2;
const MOST_LINES = 200_000;
const MOST_LINE = 1_000_000; // characters
const AT_ONCE = 8; // questions to the node
const ANCHORED = hexOf(keccak(utf8("Anchored(uint64,bytes32,bytes32)")));

/**
 * @typedef {(method: string, params: unknown[]) => Promise<unknown>} Request
 * @typedef {{seq: number | null, text: string}} Problem `seq`: the row's number
 * @typedef {{epoch: number, seq: number, isOnChain: boolean}} NewestAnchor
 * @typedef {object} Checked
 * @property {number} rows
 * @property {number} transactions looked up at the node
 * @property {number} claims rows that name no block: no node can say anything of them
 * @property {NewestAnchor | null} anchor null: the record has none yet
 * @property {Problem[]} problems
 * @property {string[]} unknown what could not be checked
 *
 * @typedef {object} Options
 * @property {string} mandate the id that the record must be of
 * @property {Request | null} request of the visitor's node; null: nothing is looked up
 * @property {string | null} anchor the contract of anchors
 * @property {(part: string, done: number, of: number) => void} [onProgress]
 * @property {AbortSignal} [signal]
 *
 * @typedef {Record<string, any>} Json an object of the file, as JSON.parse gives it
 */

/**
 * Check a record. Errors: the signal's reason once it is aborted.
 * @param {string} text the file @param {Options} options
 * @returns {Promise<Checked>}
 */
export async function checkRecord(text, options) {
  const check = new RecordCheck(options);
  await check.read(text);
  await check.lookUpTransactions();
  await check.lookUpAnchor();
  return check.found;
}

class RecordCheck {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.onProgress = options.onProgress ?? (() => {});
    /** @type {Checked} */
    this.found = { rows: 0, transactions: 0, claims: 0, anchor: null, problems: [], unknown: [] };
    /** @type {Json[]} */
    this.bodies = [];
    /** @type {Map<number, string>} */
    this.hashes = new Map();
    /** @type {Json | null} */
    this.anchor = null; // the newest
  }

  /** @param {number | null} seq @param {string} text */
  problem(seq, text) {
    this.found.problems.push({ seq, text });
  }

  /** The file by itself. @param {string} text */
  async read(text) {
    const lines = text.split("\n").filter(Boolean);
    if (lines.length > MOST_LINES) {
      this.found.unknown.push(`The file has more than ${MOST_LINES} lines.`);
      return;
    }
    const [first, ...rest] = lines.map((line) => (line.length > MOST_LINE ? null : objectOf(line)));
    const id = this.options.mandate;
    if (first?.format !== FORMAT || first.version !== VERSION || first.mandate_id !== id) {
      this.problem(null, `The file does not begin as a record of ${id}, version ${VERSION}.`);
      return;
    }
    let before = await sha256(utf8(`mandate-ledger:v1:${id}`));
    if (first.genesis_hash !== before) this.problem(null, "genesis_hash is not this mandate's.");
    this.hashes.set(0, before);
    let head = null;
    for (const [number, line] of rest.entries()) {
      this.options.signal?.throwIfAborted();
      if (line === null) this.problem(null, `Line ${number + 2} cannot be read.`);
      else if (head !== null) this.problem(null, `Line ${number + 2} comes after the head.`);
      else if ("head" in line) head = line.head;
      else if ("anchor" in line) this.anchor = line.anchor;
      else before = await this.row(line, before);
      if (number % 500 === 0) this.onProgress("rows", number, rest.length);
    }
    this.found.rows = this.bodies.length;
    if (head === null) this.problem(null, "The file ends without its head.");
    else if (head?.seq !== this.bodies.length || head?.row_hash !== before) {
      this.problem(null, "The head is not that of the last row.");
    }
  }

  /** @param {Json} line @param {string} before @returns {Promise<string>} the row's hash */
  async row(line, before) {
    const seq = this.bodies.length + 1;
    const body = objectOrEmpty(line.body);
    this.bodies.push(body);
    const hash = await this.hashOf(body, before);
    if (body.seq !== seq) this.problem(seq, `The row says that it is number ${shown(body.seq)}.`);
    if (line.prev_hash !== before)
      this.problem(seq, "prev_hash is not the hash of the row before.");
    if (line.row_hash !== hash) this.problem(seq, "row_hash is not the hash of the row's content.");
    this.hashes.set(seq, hash ?? "");
    return typeof line.row_hash === "string" ? line.row_hash : "";
  }

  /** Null: of what no record may hold. @param {Json} body @param {string} before */
  async hashOf(body, before) {
    try {
      return await sha256(concat(bytesOf(before), utf8(canonical(body))));
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  }

  /** Each row that names a block: does the node have its transaction there, with that log? */
  async lookUpTransactions() {
    const named = this.bodies.filter(isOfBlock).length;
    this.found.claims = this.bodies.length - named;
    const standing = this.standing();
    const { request } = this.options;
    if (request === null) {
      if (named) this.found.unknown.push("No wallet is connected: nothing was looked up.");
      return;
    }
    /** @type {Map<string, number[]>} */
    const byHash = new Map();
    for (const [seq, row] of standing) {
      if (!isOfBlock(row)) continue;
      const of = byHash.get(row.tx_hash);
      if (of === undefined) byHash.set(row.tx_hash, [seq]);
      else of.push(seq);
    }
    let done = 0;
    const todo = [...byHash];
    const worker = async () => {
      for (let next = todo.pop(); next; next = todo.pop()) {
        this.options.signal?.throwIfAborted();
        const [hash, of] = next;
        const receipt = await this.receiptOf(hash);
        if (receipt !== undefined) for (const seq of of) this.compare(seq, receipt);
        this.onProgress("transactions", ++done, byHash.size);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    this.found.problems.sort((one, other) => (one.seq ?? 0) - (other.seq ?? 0));
  }

  /** The rows that count, by number: one that takes another back is of the same transaction, and neither does. */
  standing() {
    /** @type {Map<number, Json>} */
    const standing = new Map();
    for (const [before, row] of this.bodies.entries()) {
      const { reverses_seq: reverses = null, tx_hash: hash, block_hash: block } = row;
      const taken = standing.get(reverses);
      if (reverses === null) standing.set(before + 1, row);
      else if (taken === undefined || taken.tx_hash !== hash || taken.block_hash !== block) {
        this.problem(before + 1, `The row takes back row ${shown(reverses)}, which it may not.`);
      } else standing.delete(reverses);
    }
    return standing;
  }

  /** Undefined: the node gave no verdict. @param {string} hash @returns {Promise<Json | null | undefined>} */
  async receiptOf(hash) {
    try {
      const answer = await this.options.request?.("eth_getTransactionReceipt", [hash]);
      this.found.transactions += 1;
      return answer === null ? null : objectOrEmpty(answer);
    } catch {
      this.options.signal?.throwIfAborted();
      this.found.unknown.push(`Your wallet's node did not answer for transaction ${shown(hash)}.`);
      return undefined;
    }
  }

  /** @param {number} seq @param {Json | null} receipt */
  compare(seq, receipt) {
    const row = this.bodies[seq - 1] ?? {};
    const { payload, log_index: index } = row;
    if (receipt === null) {
      this.problem(seq, `Your wallet's node does not know transaction ${shown(row.tx_hash)}.`);
      return;
    }
    const status = objectOrEmpty(payload).reverted === true ? 0 : 1;
    if (numberOf(receipt.status) !== status) {
      this.problem(seq, `The transaction ${status ? "failed" : "did not fail"}.`);
    }
    if (
      receipt.blockHash !== row.block_hash ||
      numberOf(receipt.blockNumber) !== row.block_number
    ) {
      this.problem(seq, `The transaction is in another block: ${shown(receipt.blockHash)}.`);
    }
    if (index !== null && !logsOf(receipt).some((log) => numberOf(log.logIndex) === index)) {
      this.problem(seq, `The transaction has no log ${shown(index)}.`);
    }
  }

  /** The newest anchor: its head is in this record, under its root, which the contract posted. */
  async lookUpAnchor() {
    const line = this.anchor;
    if (line === null) return;
    const { epoch, seq, root, row_hash: hash, tx_hash: tx } = objectOrEmpty(line);
    this.found.anchor = { epoch, seq, isOnChain: false };
    if (this.hashes.get(seq) !== hash) {
      this.problem(seq || null, "The newest anchor holds another row of this number.");
    }
    const proven = rootOf(this.options.mandate, objectOrEmpty(line));
    if (proven === null || proven !== root) {
      this.problem(seq || null, "The newest anchor's proof does not lead to its root.");
    }
    const { request, anchor } = this.options;
    if (request === null || anchor === null) {
      this.found.unknown.push("The newest anchor was not looked up on chain.");
      return;
    }
    const receipt = await this.receiptOf(tx);
    if (receipt === undefined) return;
    const posted = hexOf(word(Number.isSafeInteger(epoch) && epoch >= 0 ? epoch : 0));
    this.found.anchor.isOnChain = logsOf(receipt ?? {}).some(
      ({ address, topics, data }) =>
        shown(address).toLowerCase() === anchor.toLowerCase() &&
        topics?.[0] === ANCHORED &&
        topics[1] === posted &&
        shown(data).slice(0, 66) === root,
    );
    if (!this.found.anchor.isOnChain) {
      this.problem(seq || null, "The contract of anchors did not post the newest anchor's root.");
    }
  }
}

// The sparse Merkle tree of all mandates' heads (docs/record.md#anchors)

const HASH = 32;
const EMPTY = new Uint8Array(HASH);
const ABSENT_BY_OTHER = 2; // the path ends at the leaf of another key

/**
 * The root that an anchor's proof leads to; null where it is no proof of the head.
 * @param {string} mandate @param {Json} anchor
 */
function rootOf(mandate, { seq, row_hash: hash, proof }) {
  try {
    const key = keccak(utf8(`record-anchor:key:v1:${mandate}`));
    const value =
      seq === 0 ? null : keccak(concat(Uint8Array.of(2), word(seq).subarray(24), bytesOf(hash)));
    const { ending, siblings, rest } = proofOf(proof);
    if ((value === null) === (ending === 0)) return null;
    let found = value === null ? EMPTY : leafOf(key, value);
    if (ending === ABSENT_BY_OTHER) {
      const other = rest.subarray(0, HASH);
      const isElsewhere = siblings.some((_, depth) => bitOf(key, depth) !== bitOf(other, depth));
      if (isElsewhere || hexOf(other) === hexOf(key)) return null;
      found = leafOf(other, rest.subarray(HASH));
    }
    for (const [depth, sibling] of [...siblings.entries()].reverse()) {
      const pair = bitOf(key, depth) ? [sibling, found] : [found, sibling];
      found = keccak(concat(Uint8Array.of(1), ...pair));
    }
    return hexOf(found);
  } catch {
    return null; // of another form than a proof's
  }
}

/** Errors: of what is no proof. @param {string} text base64 */
function proofOf(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const [ending = 0, depth = 0] = bytes;
  let at = 2 + Math.ceil(depth / 8);
  const bits = [...bytes.subarray(2, at)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const siblings = [...bits.slice(bits.length - depth)].map((bit) => {
    if (bit === "0") return EMPTY;
    at += HASH;
    return bytes.subarray(at - HASH, at);
  });
  const rest = bytes.subarray(at);
  const wanted = ending === ABSENT_BY_OTHER ? 2 * HASH : 0;
  if (ending > ABSENT_BY_OTHER || rest.length !== wanted) throw new RangeError("no proof");
  return { ending, siblings, rest };
}

/** @param {Uint8Array} key @param {Uint8Array} value */
const leafOf = (key, value) => keccak(concat(Uint8Array.of(0), key, value));

/** @param {Uint8Array} key @param {number} depth */
const bitOf = (key, depth) => ((key[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1;

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<string>} */
const sha256 = async (bytes) => hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

/** @param {unknown} value from outside */
const shown = (value) => (isPlain(value) ? String(value).slice(0, 80) : "that is none");

/** @param {unknown} value from outside */
const numberOf = (value) => (isPlain(value) ? Number(value) : Number.NaN);

/** @param {Json} body */
const isOfBlock = ({ tx_hash: hash, block_number: block }) => Boolean(hash && block);

/** Whether it is no object, which may refuse to become a text. @param {unknown} value */
const isPlain = (value) => Object(value) !== value;

/** @param {Json} receipt @returns {Json[]} */
const logsOf = ({ logs }) => (Array.isArray(logs) ? logs.map(objectOrEmpty) : []);

/** @param {unknown} value @returns {Json} */
const objectOrEmpty = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

/** Null: the line is no JSON object. @param {string} line @returns {Json | null} */
function objectOf(line) {
  try {
    const found = JSON.parse(line);
    return found === objectOrEmpty(found) ? found : null;
  } catch {
    return null;
  }
}
