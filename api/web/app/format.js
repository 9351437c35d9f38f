// Text of numbers and times. Amounts stay text: no float ever holds money.

import { AMOUNT, amountText, units } from "./words.js";

export { amountText, units } from "./words.js";

/**
 * An amount as people read it: "1234.500000" is "1,234.50"; digits beyond cents stay where they say something.
 * @param {string} text
 * @returns {string}
 */
export function usdc(text) {
  const found = AMOUNT.exec(text);
  if (!found) return text;
  const [, sign, whole = "", rest = ""] = found;
  const decimals = rest.padEnd(6, "0").replace(/0{1,4}$/, "");
  return `${sign ? "−" : ""}${grouped(BigInt(whole).toString())}.${decimals.padEnd(2, "0")}`;
}

/**
 * An amount with two decimals, the rest cut off, so that nothing is shown that is not there; one below a cent whole.
 * @param {string} text
 */
export function cents(text) {
  const value = units(text);
  if (value === null || (value > -10_000n && value < 10_000n)) return usdc(text);
  return usdc(amountText(value - (value % 10_000n)));
}

/** Text of the service with its addresses and hashes shortened. @param {string} text */
export function shortened(text) {
  return text.replace(/0x[0-9a-f]{40,64}/gi, shortHash);
}

/** @param {string} digits */
function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {number | bigint | null | undefined} count */
export function integer(count) {
  return count === null || count === undefined ? null : grouped(String(count));
}

/** @param {string | null | undefined} text @returns {-1 | 0 | 1} */
export function signOf(text) {
  const value = units(text);
  return value === null || value === 0n ? 0 : value < 0n ? -1 : 1;
}

/**
 * Hundredths of a percent as a percentage: 1271 is "12.71 %".
 * @param {number | null | undefined} bps
 */
export function percent(bps) {
  if (bps === null || bps === undefined) return null;
  const size = Math.abs(bps);
  return `${bps < 0 ? "−" : ""}${grouped(String(Math.trunc(size / 100)))}.${String(size % 100).padStart(2, "0")} %`;
}

/**
 * How much of `whole` is `part`, from 0 to 1000; for drawing alone.
 * @param {string | null | undefined} part
 * @param {string | null | undefined} whole
 */
export function thousandths(part, whole) {
  const a = units(part);
  const b = units(whole);
  if (a === null || b === null || b <= 0n || a <= 0n) return 0;
  return a >= b ? 1000 : Number((a * 1000n) / b);
}

/** @param {string} value */
export function shortHash(value) {
  return value.length > 14 ? `${value.slice(0, 6)}…${value.slice(-4)}` : value;
}

/** A time in UTC; the space before UTC does not break. @param {string} at */
export function clock(at) {
  return `${at.slice(0, 10)} ${at.slice(11, 19)}\u00a0UTC`;
}

/** @param {string} at */
export function day(at) {
  return at.slice(0, 10);
}

const STEPS = /** @type {const} */ ([
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
]);

/**
 * How long ago a time is, or how long until it.
 * @param {string} at
 * @param {number} nowMs
 */
export function ago(at, nowMs) {
  const seconds = Math.round((nowMs - Date.parse(at)) / 1000);
  if (Number.isNaN(seconds)) return at;
  const size = Math.abs(seconds);
  const [step, word] = STEPS.find(([one]) => size >= one) ?? [1, "second"];
  const count = Math.floor(size / step);
  if (word === "second" && count < 5) return "just now";
  const text = `${count} ${word}${count === 1 ? "" : "s"}`;
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

/**
 * Words of a code: "settle_grace_ends" is "settle grace ends".
 * @param {string | null | undefined} code
 */
export function words(code) {
  return (code ?? "").replaceAll("_", " ");
}

/** Control characters, and those that reorder the text around them. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/gu;

/**
 * A text's beginning in one line; the whole of it is elsewhere.
 * @param {string} text
 * @param {number} length in characters
 */
export function cut(text, length) {
  const line = text.slice(0, 2 * length + 2).replace(CONTROLS, " ");
  const characters = [...line];
  return characters.length > length ? `${characters.slice(0, length).join("")}…` : line;
}

/** @param {string} text with a capital letter */
export function sentenced(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** @param {number} count @param {string} one */
export function counted(count, one) {
  return `${grouped(String(count))} ${one}${count === 1 ? "" : "s"}`;
}
