/**
 * Values of the contract ABI, as far as the record needs them: bytes in, values of the domain out.
 *
 * Integers are BigInt, addresses checksum text, bytes and bytesN 0x lower-case hex, structs and
 * lists arrays. What is read in all is bounded by what is there, since offsets may overlap.
 */

import { checksum, concat, hexOf, numberOf, word } from "./bytes.js";

const WORD = 32;
const MOST_READS = 4; // of each byte, on average

/** Bytes from outside do not have the form that the ABI says. */
export class AbiError extends Error {}

/** @typedef {AbiValue[]} AbiValues */
/** @typedef {string | bigint | boolean | AbiValues} AbiValue */

/**
 * The types inside brackets: "(address,(uint8,bytes)[])" is address and (uint8,bytes)[].
 * @param {string} type
 */
export function memberTypes(type) {
  const found = [];
  let [depth, start] = [0, 1];
  for (let at = 1; at < type.length; at++) {
    const letter = type[at];
    if (letter === "(") depth += 1;
    if ((letter === "," || letter === ")") && depth === 0) {
      if (at > start) found.push(type.slice(start, at));
      start = at + 1;
    }
    if (letter === ")") depth -= 1;
  }
  return found;
}

/** @param {string} type @returns {boolean} */
function isDynamic(type) {
  if (type.endsWith("]") || type === "string" || type === "bytes") return true;
  return type.startsWith("(") && memberTypes(type).some(isDynamic);
}

/** Words of a type's head. @param {string} type @returns {number} */
function headWords(type) {
  if (isDynamic(type) || !type.startsWith("(")) return 1;
  return memberTypes(type).reduce((sum, member) => sum + headWords(member), 0);
}

/**
 * Errors: AbiError.
 * @param {readonly string[]} types @param {Uint8Array} data
 * @returns {AbiValue[]}
 */
export function decodeValues(types, data) {
  const isStatic = !types.some(isDynamic);
  const words = types.reduce((sum, type) => sum + headWords(type), 0);
  if (isStatic && data.length !== words * WORD) {
    throw new AbiError(`${data.length} bytes, not ${words} words`);
  }
  return new Decoder(data).members(types, 0);
}

class Decoder {
  /** @param {Uint8Array} data */
  constructor(data) {
    this.data = data;
    this.left = MOST_READS * (data.length + WORD);
  }

  /** @param {number} start @param {number} size */
  read(start, size) {
    this.left -= size;
    if (this.left < 0) throw new AbiError("it unfolds into more than it is");
    if (start + size > this.data.length) throw new AbiError("it is cut short");
    return this.data.subarray(start, start + size);
  }

  /** A length or offset. @param {number} start */
  size(start) {
    const size = numberOf(this.read(start, WORD));
    if (size > BigInt(this.data.length)) throw new AbiError("it is cut short");
    return Number(size);
  }

  /** @param {readonly string[]} types @param {number} start of the head, from where offsets count */
  members(types, start) {
    let at = start;
    return types.map((type) => {
      const place = isDynamic(type) ? start + this.size(at) : at;
      at += headWords(type) * WORD;
      return this.value(type, place);
    });
  }

  /** @param {string} type @param {number} start @returns {AbiValue} */
  value(type, start) {
    if (type.endsWith("[]")) {
      const [length, of] = [this.size(start), type.slice(0, -2)];
      return this.members(Array(length).fill(of), start + WORD);
    }
    if (type.startsWith("(")) return this.members(memberTypes(type), start);
    if (type === "bytes" || type === "string") return this.content(type, start);
    return valueOfWord(type, this.read(start, WORD));
  }

  /** @param {string} type @param {number} start */
  content(type, start) {
    const size = this.size(start);
    const padded = this.read(start + WORD, Math.ceil(size / WORD) * WORD);
    if (padded.subarray(size).some(Boolean)) throw new AbiError("its padding is not empty");
    const bytes = padded.subarray(0, size);
    if (type === "bytes") return hexOf(bytes);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new AbiError("text that is not UTF-8");
    }
  }
}

/** @param {string} type @param {Uint8Array} bytes 32 @returns {AbiValue} */
function valueOfWord(type, bytes) {
  if (type === "address") {
    if (bytes.subarray(0, 12).some(Boolean)) throw new AbiError("a word that is no address");
    return checksum(hexOf(bytes.subarray(12)));
  }
  if (type === "bool") {
    const value = numberOf(bytes);
    if (value > 1n) throw new AbiError("a word that is no bool");
    return value === 1n;
  }
  const size = Number(type.replace(/^\D+/, ""));
  if (type.startsWith("bytes")) {
    if (bytes.subarray(size).some(Boolean)) throw new AbiError(`a word that is no ${type}`);
    return hexOf(bytes.subarray(0, size));
  }
  const value = numberOf(bytes);
  if (value >> BigInt(size)) throw new AbiError(`a word that is no ${type}`);
  return value;
}

/**
 * A dynamic `bytes` argument behind its length, filled up to whole words.
 * @param {Uint8Array} bytes
 */
export function encodedBytes(bytes) {
  const filled = new Uint8Array(Math.ceil(bytes.length / WORD) * WORD);
  filled.set(bytes);
  return concat(word(bytes.length), filled);
}
