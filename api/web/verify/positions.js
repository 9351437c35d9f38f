/**
 * Positions of a paper mandate as its agent reports them, as far as cash needs them: what each cost
 * and what its sells brought. On paper a position costs no more than what left the cash for it.
 * Source: core/mandate/rules/positions.py.
 */

/** @import {Json, JsonObject, NewRow} from "./types.js" */

import { isObject, member } from "./canonical.js";
import { least, usableUsdc } from "./money.js";

const MOST_OPEN = 200;
const MOST_WORD = 200;

/** @typedef {{id: string, name: string | null, cost: bigint, proceeds: bigint}} Position */

/** Short text, or a whole number as text; null for anything else or for nothing.
 * @param {Json | undefined} value
 */
export function word(value) {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const text = String(value);
  return (text.length <= MOST_WORD ? text : [...text].slice(0, MOST_WORD).join("")) || null;
}

/** payload.position when it is an object with an id. @param {JsonObject} payload */
export function positionOf(payload) {
  const position = member(payload, "position");
  return isObject(position) && word(member(position, "id")) !== null ? position : null;
}

/** @param {JsonObject} payload */
export function positionId(payload) {
  const position = positionOf(payload);
  return position === null ? null : word(member(position, "id"));
}

/** @param {Map<string, Position>} open @param {NewRow} row */
export function takeReport(open, row) {
  const [id, isUnseen] = [positionId(row.payload), row.payload.unseen === true];
  if (id === null) return;
  if (row.kind === "buy" || row.kind === "move") {
    buy(open, row, id, isUnseen);
  } else if (!isUnseen && row.kind === "sell") {
    const position = open.get(id);
    if (position !== undefined) position.proceeds += row.amount ?? 0n;
  } else if (!isUnseen && row.kind === "resolve") {
    open.delete(id);
  }
}

/** @param {Map<string, Position>} open @param {NewRow} row @param {string} id
 * @param {boolean} isUnseen
 */
function buy(open, row, id, isUnseen) {
  const reported = positionOf(row.payload) ?? {};
  const stated = member(reported, "cost_usdc") ?? null;
  const said = stated === null ? (row.amount ?? 0n) : usableUsdc(stated);
  const cost = said === null || said < 0n ? 0n : least(said, -row.cashDelta);
  const before = open.get(id);
  if (before === undefined && open.size >= MOST_OPEN) return;
  const position = before ?? { id, name: null, cost: 0n, proceeds: 0n };
  if (!isUnseen) position.cost += cost;
  position.name = word(member(reported, "name")) ?? position.name;
  open.set(id, position);
}
