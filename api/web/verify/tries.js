/**
 * RLP and proofs of the state trie (Ethereum yellow paper, appendices B and D), with bounded sizes.
 * Errors of everything here: ProofError.
 */

import { bytesOf, concat, hexOf, keccak } from "./bytes.js";

const MOST_NODES = 64;
const MOST_NODE_CHARACTERS = 2 + 2 * 2_000;
const MOST_DEPTH = 4;
const BRANCH = 17;
const HASH = 32;

/** A proof, or a header, that does not hold. */
export class ProofError extends Error {}

/** @typedef {Item[]} Items */
/** @typedef {Uint8Array | Items} Item */

/** @param {Item} item @returns {Uint8Array} */
export function encode(item) {
  if (item instanceof Uint8Array) {
    return item.length === 1 && (item[0] ?? 0) < 0x80 ? item : withLength(0x80, item);
  }
  return withLength(0xc0, concat(...item.map(encode)));
}

/** @param {number} base @param {Uint8Array} content */
function withLength(base, content) {
  const size = content.length;
  if (size < 56) return concat(Uint8Array.of(base + size), content);
  const digits = numberBytes(BigInt(size));
  return concat(Uint8Array.of(base + 55 + digits.length), digits, content);
}

/** A number without leading zeros. @param {bigint} number */
export function numberBytes(number) {
  if (number === 0n) return new Uint8Array();
  const digits = number.toString(16);
  return bytesOf(`0x${digits.length % 2 ? "0" : ""}${digits}`);
}

/** @param {Uint8Array} bytes @returns {Item} */
export function decode(bytes) {
  const [item, end] = decodeAt(bytes, 0, 0);
  if (end !== bytes.length) throw new ProofError("bytes after an item");
  return item;
}

/** @param {Uint8Array} bytes @param {number} start @param {number} depth @returns {[Item, number]} */
function decodeAt(bytes, start, depth) {
  const prefix = bytes[start];
  if (prefix === undefined || depth > MOST_DEPTH) throw new ProofError("cut short, or too deep");
  if (prefix < 0x80) return [bytes.subarray(start, start + 1), start + 1];
  const isList = prefix >= 0xc0;
  let [size, from] = [prefix - (isList ? 0xc0 : 0x80), start + 1];
  if (size > 55) {
    const digits = bytes.subarray(from, from + size - 55);
    from += size - 55;
    size = Number.parseInt(hexOf(digits), 16);
  }
  const end = from + size;
  if (!(end <= bytes.length)) throw new ProofError("an item is cut short");
  if (!isList) return [bytes.subarray(from, end), end];
  /** @type {Item[]} */
  const items = [];
  while (from < end) {
    const [item, next] = decodeAt(bytes, from, depth + 1);
    items.push(item);
    from = next;
  }
  if (from !== end) throw new ProofError("a list of another length");
  return [items, end];
}

/**
 * The value of the key in the trie of this root; empty when the proof says that there is none.
 * @param {Uint8Array} root @param {Uint8Array} key @param {unknown} proof
 */
export function provenValue(root, key, proof) {
  if (!Array.isArray(proof) || proof.length > MOST_NODES) throw new ProofError("no proof");
  /** @type {Map<string, Item>} */
  const nodes = new Map();
  for (const text of proof) {
    if (typeof text !== "string" || text.length > MOST_NODE_CHARACTERS) {
      throw new ProofError("no node of a proof");
    }
    const bytes = bytesOf(text);
    nodes.set(hexOf(keccak(bytes)), decode(bytes));
  }
  return walk(nodes, root, hexOf(keccak(key)).slice(2));
}

/** @param {Map<string, Item>} nodes @param {Item} start @param {string} path nibbles
 * @returns {Uint8Array}
 */
function walk(nodes, start, path) {
  let [at, left] = [start, path];
  for (let steps = 0; steps <= 2 * MOST_NODES; steps++) {
    const node = resolved(nodes, at);
    if (node === null) return new Uint8Array();
    if (node.length === BRANCH) {
      if (left === "") return bytesOfItem(node[BRANCH - 1]);
      at = node[Number.parseInt(left[0] ?? "0", 16)] ?? new Uint8Array();
      left = left.slice(1);
      continue;
    }
    const { nibbles, isLeaf } = pathOf(bytesOfItem(node[0]));
    const next = node[1];
    if (node.length !== 2 || next === undefined) throw new ProofError("no node of a trie");
    if (isLeaf) return nibbles === left ? bytesOfItem(next) : new Uint8Array();
    if (!left.startsWith(nibbles)) return new Uint8Array();
    [at, left] = [next, left.slice(nibbles.length)];
  }
  throw new ProofError("a path without end");
}

/** A node by its hash, or one that stands in its parent; null: nothing.
 * @param {Map<string, Item>} nodes @param {Item} at
 */
function resolved(nodes, at) {
  if (!(at instanceof Uint8Array)) return at;
  if (at.length === 0) return null;
  const node = at.length === HASH ? nodes.get(hexOf(at)) : undefined;
  if (node === undefined || node instanceof Uint8Array) throw new ProofError("a node is missing");
  return node;
}

/** Of an extension or a leaf, in hex-prefix form. @param {Uint8Array} bytes */
function pathOf(bytes) {
  const text = hexOf(bytes).slice(2);
  const flag = Number.parseInt(text[0] ?? "f", 16);
  if (flag > 3) throw new ProofError("no path of a trie");
  return { nibbles: text.slice(flag % 2 ? 1 : 2), isLeaf: flag >= 2 };
}

/** @param {Item | undefined} item */
export function bytesOfItem(item) {
  if (!(item instanceof Uint8Array)) throw new ProofError("a list in place of bytes");
  return item;
}
