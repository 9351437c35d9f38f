/**
 * The record's own lines of hourly anchors: each holds a head that is on the record's chain, and its
 * proof leads from that head to the root (docs/record.md#anchors).
 *
 * Whether the contract posted these roots, and no others: posts.js.
 */

/** @import {Anchor, RecordFile} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Pauses} from "./pause.js" */

import { bytesOf, concat, hexOf, keccak, utf8, word } from "./bytes.js";

const MOST_PROOF_CHARACTERS = 12_288;
const KEY_BITS = 256;
const HASH = 32;
const EMPTY = new Uint8Array(HASH);
const OTHER = 2; // the path ends at the leaf of another key

/** @typedef {{siblings: Uint8Array[], ending: number, other: [Uint8Array, Uint8Array] | null}} Proof */

/** @param {RecordFile} record @param {Report} report @param {Pauses} pauses */
export async function checkLines(record, report, pauses) {
  const publicId = String(record.first?.mandate_id);
  const key = keccak(utf8(`record-anchor:key:v1:${publicId}`));
  const hashes = new Map(record.rows.map((row) => [row.seq, row.rowHash]));
  hashes.set(0, String(record.first?.genesis_hash));
  /** @type {Anchor | null} */
  let before = null;
  for (const line of record.anchors) {
    if (pauses.isDue) await pauses.pause();
    if (before !== null) compareOrder(before, line, report);
    before = line;
    const { epoch, seq, rowHash, root } = line;
    if (hashes.get(seq) !== rowHash) {
      const text = `epoch ${epoch} holds row ${seq} with the hash ${rowHash}`;
      report.say("anchor.head", seq || null, `${text}, here it has ${hashes.get(seq) ?? "none"}`);
    }
    if (!isProven(key, line)) {
      const text = `epoch ${epoch}: the proof does not give the root ${root}`;
      report.say("anchor.proof", seq || null, text);
    }
  }
}

/** @param {Anchor} before @param {Anchor} line @param {Report} report */
function compareOrder(before, line, report) {
  const { epoch, seq } = line;
  if (epoch <= before.epoch) {
    report.say("anchor.order", null, `epoch ${epoch} follows epoch ${before.epoch}`);
  } else if (epoch === before.epoch + 1 && line.rootBefore !== before.root) {
    report.say("anchor.post", null, `epoch ${epoch} is on top of another root`);
  }
  if (seq < before.seq) {
    const text = `epoch ${epoch} holds ${seq} rows, the one before ${before.seq}`;
    report.say("anchor.order", seq || null, text);
  }
}

/** @param {Uint8Array} key @param {Anchor} line */
function isProven(key, line) {
  const proof = proofOf(line.proof);
  if (proof === null) return false;
  const count = word(line.seq).subarray(HASH - 8);
  const head = concat(Uint8Array.of(2), count, bytesOf(line.rowHash));
  const root = rootOf(proof, key, line.seq === 0 ? null : keccak(head));
  return root !== null && hexOf(root) === line.root;
}

/**
 * The root that a proof puts `value` under, or no leaf (null); null when it proves neither.
 * @param {Proof} proof @param {Uint8Array} key @param {Uint8Array | null} value
 */
function rootOf({ siblings, ending, other }, key, value) {
  if ((value === null) === (ending === 0)) return null;
  let found = value === null ? EMPTY : leafOf(key, value);
  if (other !== null) {
    if (sharedBits(key, other[0]) < siblings.length) return null;
    if (hexOf(key) === hexOf(other[0])) return null;
    found = leafOf(...other);
  }
  for (let depth = siblings.length - 1; depth >= 0; depth--) {
    const sibling = siblings[depth] ?? EMPTY;
    const pair = bitOf(key, depth) ? [sibling, found] : [found, sibling];
    found = keccak(concat(Uint8Array.of(1), ...pair));
  }
  return found;
}

/** Null unless it is exactly what the tree writes. @param {string} text @returns {Proof | null} */
function proofOf(text) {
  if (text.length > MOST_PROOF_CHARACTERS) return null;
  let raw;
  try {
    raw = atob(text);
  } catch {
    return null;
  }
  if (btoa(raw) !== text || raw.length < 2) return null;
  const bytes = Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
  const [ending = 0, depth = 0] = bytes;
  let at = 2 + Math.ceil(depth / 8);
  const bits = [...bytes.subarray(2, at)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const [spare, told] = [bits.slice(0, bits.length - depth), bits.slice(bits.length - depth)];
  if (ending > OTHER || bits.length < depth || spare.includes("1")) return null;
  const siblings = [];
  for (const bit of told) {
    const sibling = bit === "1" ? bytes.subarray(at, at + HASH) : EMPTY;
    at += bit === "1" ? HASH : 0;
    // one that is written out is never empty: it has another spelling
    if (sibling.length !== HASH || (bit === "1" && !sibling.some(Boolean))) return null;
    siblings.push(sibling);
  }
  const rest = bytes.subarray(at);
  if (rest.length !== (ending === OTHER ? 2 * HASH : 0)) return null;
  const other = ending === OTHER ? pairOf(rest) : null;
  return { siblings, ending, other };
}

/** @param {Uint8Array} rest @returns {[Uint8Array, Uint8Array]} */
const pairOf = (rest) => [rest.subarray(0, HASH), rest.subarray(HASH)];

/** @param {Uint8Array} key @param {Uint8Array} value */
const leafOf = (key, value) => keccak(concat(Uint8Array.of(0), key, value));

/** @param {Uint8Array} key @param {number} depth */
const bitOf = (key, depth) => ((key[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1;

/** @param {Uint8Array} one @param {Uint8Array} two */
function sharedBits(one, two) {
  for (let depth = 0; depth < KEY_BITS; depth++) {
    if (bitOf(one, depth) !== bitOf(two, depth)) return depth;
  }
  return KEY_BITS;
}
