// ABI encoding for the calls that an owner sends, and decoding of answers: every answer is hostile
// until it is parsed.
//
// Numbers are bigint in and out; addresses come out with their checksum, bytes as 0x hex.

import { checksummed } from "./keccak.js";

const WORD = 64; // hex digits of 32 bytes

/** An answer that does not have the form that the ABI says. */
export class AbiError extends Error {}

/**
 * @param {bigint | number} value
 * @returns {string} a word, 64 hex digits without 0x
 */
export function uintWord(value) {
  const number = BigInt(value);
  if (number < 0n || number >> 256n) throw new AbiError(`${number} is no uint256`);
  return number.toString(16).padStart(WORD, "0");
}

/** @param {string} address */
export function addressWord(address) {
  if (!/^0x[0-9a-f]{40}$/i.test(address)) throw new AbiError("not an address");
  return address.slice(2).toLowerCase().padStart(WORD, "0");
}

/**
 * ASCII text in the 32 bytes of a bytes32, as the reasons of a stop are.
 * @param {string} text
 */
export function textWord(text) {
  if (!/^[\x20-\x7e]{1,32}$/.test(text)) throw new AbiError("not 1 to 32 ASCII characters");
  const digits = [...text].map((letter) => letter.charCodeAt(0).toString(16)).join("");
  return digits.padEnd(WORD, "0");
}

/**
 * The arguments of unwind: an array of {target, maxSpend, data}, with maxSpend 0.
 * @param {readonly {target: string, data: string}[]} calls
 * @returns {string} hex digits without 0x
 */
export function unwindArguments(calls) {
  const tuples = calls.map(({ target, data }) => {
    const bytes = data.slice(2);
    const padded = bytes.padEnd(Math.ceil(bytes.length / WORD) * WORD, "0");
    const length = uintWord(bytes.length / 2);
    return addressWord(target) + uintWord(0) + uintWord(3 * 32) + length + padded;
  });
  let offset = calls.length * 32;
  const offsets = tuples.map((tuple) => {
    const word = uintWord(offset);
    offset += tuple.length / 2;
    return word;
  });
  return uintWord(32) + uintWord(calls.length) + offsets.join("") + tuples.join("");
}

/**
 * The words of an answer.
 * @param {unknown} answer
 * @param {number} [count] exactly so many; without it, any
 * @returns {string[]} of 64 hex digits each, in lower case
 */
export function wordsOf(answer, count) {
  if (typeof answer !== "string" || !/^0x(?:[0-9a-f]{64})*$/i.test(answer)) {
    throw new AbiError("not an answer of whole words");
  }
  const words = answer.slice(2).toLowerCase().match(/.{64}/g) ?? [];
  if (count !== undefined && words.length !== count) {
    throw new AbiError(`${words.length} words, not ${count}`);
  }
  return words;
}

/**
 * The first word of an answer, as an unsigned number below 2^bits.
 * @param {string | undefined} word
 * @param {number} [bits]
 * @returns {bigint}
 */
export function uintOf(word, bits = 256) {
  if (word === undefined || !/^[0-9a-f]{64}$/.test(word)) throw new AbiError("not a word");
  const value = BigInt("0x" + word);
  if (value >> BigInt(bits)) throw new AbiError(`${value} does not fit uint${bits}`);
  return value;
}

/**
 * @param {string | undefined} word
 * @returns {boolean}
 */
export function boolOf(word) {
  return uintOf(word, 1) === 1n;
}

/**
 * @param {string | undefined} word
 * @returns {string}
 */
export function addressOfWord(word) {
  return checksummed("0x" + uintOf(word, 160).toString(16).padStart(40, "0"));
}

/**
 * The ASCII text of a bytes32; "" for zero.
 * @param {string | undefined} word
 * @returns {string} printable ASCII, other bytes as "?"
 */
export function textOfWord(word) {
  uintOf(word);
  const digits = (word ?? "").replace(/(?:00)+$/, "").match(/../g) ?? [];
  const letters = digits.map((pair) => String.fromCharCode(parseInt(pair, 16)));
  return letters.map((letter) => (letter >= " " && letter <= "~" ? letter : "?")).join("");
}

/**
 * @typedef {{target: string, selector: string, kind: number}} Rule
 * @param {unknown} answer of rules(): an array of (address, bytes4, uint8, uint8)
 * @returns {Rule[]}
 */
export function rulesOf(answer) {
  const words = wordsOf(answer);
  const count = Number(uintOf(words[1], 8));
  if (uintOf(words[0]) !== 32n || words.length !== 2 + 4 * count) {
    throw new AbiError("not a list of rules");
  }
  return Array.from({ length: count }, (_, i) => {
    const [target, selector, , kind] = words.slice(2 + 4 * i, 6 + 4 * i);
    return {
      target: addressOfWord(target),
      selector: "0x" + (selector ?? "").slice(0, 8),
      kind: Number(uintOf(kind, 8)),
    };
  });
}

/**
 * The text of a dynamic string that is the only argument.
 * @param {string} digits the arguments as hex digits
 * @returns {string} at most 200 characters
 */
export function stringOf(digits) {
  const length = Number(uintOf(digits.slice(WORD, 2 * WORD).toLowerCase(), 32));
  const content = digits.slice(2 * WORD, 2 * WORD + 2 * Math.min(length, 200));
  const bytes = (content.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
  return new TextDecoder().decode(new Uint8Array(bytes));
}
