/** USDC: BigInt base units (1e-6) inside, text with six decimals outside, never a float. */

const AMOUNT = /^-?(?:0?[0-9]{1,12}(?:\.[0-9]{1,6})?|1000000000000(?:\.0{1,6})?)$/;
const UNITS = 1_000_000n;

/**
 * Base units of an amount as written: "12.5" is 12500000n. Null: not of that form.
 * @param {string} text
 */
export function usdcOf(text) {
  if (!AMOUNT.test(text)) return null;
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  const amount = BigInt(whole) * UNITS + BigInt(fraction.padEnd(6, "0"));
  return text.startsWith("-") ? -amount : amount;
}

/** @param {bigint} amount */
export function usdcText(amount) {
  const size = amount < 0n ? -amount : amount;
  const fraction = String(size % UNITS).padStart(6, "0");
  return `${amount < 0n ? "-" : ""}${size / UNITS}.${fraction}`;
}

/**
 * An amount that an agent or a log's row wrote: text, or a whole number. Null: cannot be read.
 * @param {unknown} value
 */
export function usableUsdc(value) {
  return typeof value === "string" || typeof value === "number" ? usdcOf(String(value)) : null;
}

/** @param {bigint} one @param {bigint} two */
export const least = (one, two) => (one < two ? one : two);

/** @param {bigint} one @param {bigint} two */
export const most = (one, two) => (one > two ? one : two);
