/**
 * One way to write a value as text: RFC 8785 over text, whole numbers within plus or minus
 * 2**53 - 1, true, false, null, lists and objects. Money is text, so no number is a fraction.
 */

/** @import {Json, JsonObject} from "./types.js" */

const MOST_DEPTH = 500;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** What a record may not hold: a fraction, a number that is too large, text that is not Unicode. */
export class NotCanonicalError extends Error {}

/**
 * @param {Json | undefined} value undefined is written as null
 * @param {number} [depth]
 * @returns {string}
 */
export function canonical(value, depth = 0) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return textOf(value);
  if (typeof value === "number") return wholeOf(value);
  if (depth > MOST_DEPTH) throw new NotCanonicalError("nested too deeply");
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  }
  const members = Object.keys(value)
    .sort()
    .map((key) => `${textOf(key)}:${canonical(value[key], depth + 1)}`);
  return `{${members.join(",")}}`;
}

/** @param {Json | undefined} one @param {Json | undefined} two */
export const isSame = (one, two) => canonical(one) === canonical(two);

/**
 * Whether a line's numbers are all whole and exact; of a line that JSON.parse took.
 * @param {string} line
 */
export function hasOnlyWholeNumbers(line) {
  const outside = line.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const numbers = outside.match(/-?[0-9][0-9.eE+-]*/g) ?? [];
  return numbers.every((text) => /^-?[0-9]+$/.test(text) && Number.isSafeInteger(Number(text)));
}

/**
 * @param {unknown} value
 * @returns {value is JsonObject}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A member of an object that came from outside, its own and no prototype's.
 * @param {JsonObject} of @param {string} key
 * @returns {Json | undefined}
 */
export function member(of, key) {
  return Object.hasOwn(of, key) ? of[key] : undefined;
}

/** @param {JsonObject} found @param {ReadonlySet<string>} wanted */
export function hasKeys(found, wanted) {
  const keys = Object.keys(found);
  return keys.length === wanted.size && keys.every((key) => wanted.has(key));
}

/** @param {string} text */
function textOf(text) {
  if (text.includes("\0") || LONE_SURROGATE.test(text)) {
    throw new NotCanonicalError("text with NUL or a lone surrogate");
  }
  return JSON.stringify(text);
}

/** @param {number} number */
function wholeOf(number) {
  if (!Number.isSafeInteger(number)) {
    throw new NotCanonicalError("a number that is a fraction or too large");
  }
  return String(number === 0 ? 0 : number);
}
