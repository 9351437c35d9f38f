/** Hex outside, bytes inside; addresses with their checksum (EIP-55), hashes in lower case. */

import { keccak_256, sha256 } from "../vendor/noble.js";

const MOST_REMEMBERED = 65_536;
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;
export const HASH_FORM = /^0x[0-9a-f]{64}$/;
export const NO_HASH = `0x${"00".repeat(32)}`;
export const ZERO_ADDRESS = `0x${"00".repeat(20)}`;
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const encoder = new TextEncoder();
/** @type {Map<string, string>} */
const checksums = new Map();

/** @param {Uint8Array} bytes */
export function hexOf(bytes) {
  let text = "0x";
  for (const byte of bytes) text += DIGITS[byte];
  return text;
}

/**
 * Errors: RangeError for what is not 0x and pairs of hex digits.
 * @param {string} text
 */
export function bytesOf(text) {
  if (!HEX.test(text)) throw new RangeError("not 0x and pairs of hex digits");
  const bytes = new Uint8Array(text.length / 2 - 1);
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number.parseInt(text.slice(2 + 2 * at, 4 + 2 * at), 16);
  }
  return bytes;
}

/** @param {string} text */
export function utf8(text) {
  return encoder.encode(text);
}

/** @param {Uint8Array[]} parts */
export function concat(...parts) {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** @param {Uint8Array} bytes */
export const keccak = (bytes) => keccak_256(bytes);

/** @param {string} text of hex @returns {string} */
export const keccakOfHex = (text) => hexOf(keccak(bytesOf(text)));

/** @param {string} before 0x hex @param {Uint8Array} body */
export const chainHash = (before, body) => hexOf(sha256(concat(bytesOf(before), body)));

/** @param {string} publicId */
export const genesisHash = (publicId) => hexOf(sha256(utf8(`mandate-ledger:v1:${publicId}`)));

/**
 * 32 bytes, big end first.
 * @param {bigint | number} number not negative
 */
export function word(number) {
  return bytesOf(`0x${BigInt(number).toString(16).padStart(64, "0")}`);
}

/** @param {Uint8Array} bytes */
export function numberOf(bytes) {
  return bytes.length === 0 ? 0n : BigInt(hexOf(bytes));
}

/**
 * The checksum form of 0x and 40 hex digits in any case, remembered: a checksum is a hash.
 * @param {string} address
 */
export function checksum(address) {
  const lower = address.toLowerCase();
  const known = checksums.get(lower);
  if (known !== undefined) return known;
  const digits = hexOf(keccak(utf8(lower.slice(2))));
  let text = "0x";
  for (let at = 2; at < lower.length; at++) {
    const letter = /** @type {string} */ (lower[at]);
    text += Number.parseInt(digits[at] ?? "0", 16) > 7 ? letter.toUpperCase() : letter;
  }
  if (checksums.size >= MOST_REMEMBERED) checksums.clear();
  checksums.set(lower, text);
  return text;
}

/**
 * Whether it is an address; mixed case must be the checksum.
 * @param {unknown} text
 * @returns {text is string}
 */
export function isAddress(text) {
  if (typeof text !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(text)) return false;
  const digits = text.slice(2);
  return (
    digits === digits.toLowerCase() || digits === digits.toUpperCase() || checksum(text) === text
  );
}
