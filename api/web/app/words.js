// Amounts, times and addresses as people read them. Amounts are bigint in USDC base units.

/**
 * @param {bigint} amount USDC base units, not negative
 * @returns {string} with six decimals and thousands apart: 1,000.000000
 */
export function usdcText(amount) {
  const whole = (amount / 1_000_000n).toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `${whole}.${(amount % 1_000_000n).toString().padStart(6, "0")}`;
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
