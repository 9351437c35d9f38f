/** Times: a record's text with six decimals outside, unix seconds or microseconds inside. */

const TEXT = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z$/;
const LAST_SECOND = 253_402_300_799; // of the year 9999
export const DAY_S = 86_400;

/** Whether it is the one text of a time that a record has. @param {string} text */
export function isTime(text) {
  if (!TEXT.test(text) || text.startsWith("0000")) return false;
  const at = Date.parse(`${text.slice(0, 19)}Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 19) === text.slice(0, 19);
}

/** The unix second of a record's time, rounded down. @param {string} text */
export const secondOf = (text) => Date.parse(`${text.slice(0, 19)}Z`) / 1000;

/** Unix microseconds of a record's time. @param {string} text */
export const microsOf = (text) => BigInt(secondOf(text)) * 1_000_000n + BigInt(text.slice(20, 26));

/**
 * A unix second as a record writes it. Errors: RangeError for one that no calendar has.
 * @param {number} second
 */
export function timeText(second) {
  if (!(second <= LAST_SECOND)) throw new RangeError("a time after the year 9999");
  return `${new Date(second * 1000).toISOString().slice(0, 19)}.000000Z`;
}

/** A unix second as the API writes it: without a fraction. @param {number} second */
export const utcText = (second) => `${timeText(second).slice(0, 19)}Z`;
