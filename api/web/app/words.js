// Amounts, times and addresses as people read them. Amounts are bigint in USDC base units.

/**
 * @param {bigint} amount USDC base units, not negative
 * @returns {string} with six decimals and thousands apart: 1,000.000000
 */
export function usdcText(amount) {
  const whole = (amount / 1_000_000n).toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `${whole}.${(amount % 1_000_000n).toString().padStart(6, "0")}`;
}

export const AMOUNT = /^(-?)(\d{1,19})(?:\.(\d{1,6}))?$/;

/**
 * USDC base units of an amount's text, or null where it is not an amount.
 * @param {string | null | undefined} text
 * @returns {bigint | null}
 */
export function units(text) {
  const found = AMOUNT.exec(text ?? "");
  if (!found) return null;
  const [, sign, whole = "", rest = ""] = found;
  const value = BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, "0"));
  return sign ? -value : value;
}

/**
 * The text of an amount in base units, with six decimals.
 * @param {bigint} value
 */
export function amountText(value) {
  const size = value < 0n ? -value : value;
  return `${value < 0n ? "-" : ""}${size / 1_000_000n}.${String(size % 1_000_000n).padStart(6, "0")}`;
}

/**
 * @param {bigint | number} seconds unix time
 * @returns {string} to the second, in UTC
 */
export function timeText(seconds) {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return "unknown time";
  return date.toISOString().slice(0, 19).replace("T", " ") + " UTC";
}
