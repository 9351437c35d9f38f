// Hex outside, bytes inside.

import { keccak256 } from "./keccak.js";

const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;
const encoder = new TextEncoder();

/** @param {Uint8Array} bytes @returns {string} 0x hex in lower case */
export function hexOf(bytes) {
  return "0x" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Errors: RangeError for what is not 0x and pairs of hex digits.
 * @param {string} text
 */
export function bytesOf(text) {
  if (!HEX.test(text)) throw new RangeError("not 0x and pairs of hex digits");
  const pairs = text.slice(2).match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}

/** @param {string} text */
export const utf8 = (text) => encoder.encode(text);

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

/** @param {Uint8Array} bytes @returns {Uint8Array} */
export const keccak = (bytes) => bytesOf(keccak256(bytes));

/**
 * 32 bytes, big end first.
 * @param {bigint | number} number not negative
 */
export const word = (number) => bytesOf(`0x${BigInt(number).toString(16).padStart(64, "0")}`);
