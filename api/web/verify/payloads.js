/** Parts of payloads, read as their writers wrote them. Errors: FormError. */

/** @import {JsonObject, NewRow, Row} from "./types.js" */

import { isObject, member } from "./canonical.js";
import { FormError } from "./lines.js";

/**
 * A row of somebody's word, of no block, at the time that the row itself says.
 * @param {Row} row @param {Partial<NewRow> & {kind: string, payload: JsonObject}} content
 * @returns {NewRow}
 */
export function written(row, content) {
  return {
    reportedBy: "agent",
    occurredAt: row.occurredAt,
    baseKey: row.baseKey,
    amount: null,
    cashDelta: 0n,
    chainId: null,
    txHash: null,
    logIndex: null,
    blockNumber: null,
    blockHash: null,
    ...content,
  };
}

/** @param {JsonObject} of @param {string} key */
export function objectOf(of, key) {
  const found = member(of, key);
  if (!isObject(found)) throw new FormError(`${key}: write an object`);
  return found;
}

/** @param {JsonObject} of @param {string} key */
export function textOf(of, key) {
  const found = member(of, key);
  if (typeof found !== "string") throw new FormError(`${key}: write text`);
  return found;
}

/** @param {JsonObject} of @param {string} key */
export function heightOf(of, key) {
  const found = member(of, key);
  if (typeof found !== "number" || found < 0) throw new FormError(`${key}: write a height`);
  return found;
}

/** @param {JsonObject} of @returns {{why?: string}} */
export const why = (of) => (Object.hasOwn(of, "why") ? { why: textOf(of, "why") } : {});
