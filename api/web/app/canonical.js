// One way to write a value as text: RFC 8785 over text, whole numbers within plus or minus 2**53 - 1,
// true, false, null, lists and objects. Money is text, so no number is a fraction.

const MOST_DEPTH = 500;

/**
 * Errors: RangeError for a fraction, a number that is too large, and nesting beyond 500.
 * @param {unknown} value undefined is written as null
 * @param {number} [depth]
 * @returns {string}
 */
export function canonical(value, depth = 0) {
  if (depth > MOST_DEPTH) throw new RangeError("nested too deeply");
  if (value === null || value === undefined) return "null";
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError("a number that is a fraction or too large");
  }
  if (typeof value === "number") return String(value === 0 ? 0 : value);
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  }
  const members = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, depth + 1)}`);
  return `{${members.join(",")}}`;
}
