/** The declared forms of notes of a perpetuals leg (docs/perpetuals.md#notes). */

/** @import {JsonObject, Row, Subject} from "./types.js" */

import { member } from "./canonical.js";
import { FormError } from "./lines.js";
import { heightOf, objectOf, textOf, why, written } from "./payloads.js";

const COUNT = /^[1-9][0-9]{0,17}$/;
const ORDER_WORDS = ["status", "cloid", "coin", "side", "size", "notional_usd", "by"];

/** @param {Row} row @param {string} word @param {string} fact @param {JsonObject} payload */
function note(row, word, fact, payload, reportedBy = "keeper") {
  const baseKey = `${word}:${fact}`;
  return written(row, { kind: "note", reportedBy, baseKey, payload: { [word]: payload } });
}

/** @param {string} word @returns {import("./forms.js").Write} */
const leg = (word) => (row, subject, fact) => {
  const said = objectOf(row.payload, word);
  const payload = {
    owner_address: subject.owner,
    agent_address: textOf(said, "agent_address"),
    dex: textOf(said, "dex"),
  };
  return note(row, word, String(countOf(fact)), payload, "owner");
};

/** @param {Row} row @param {Subject} _ @param {string} fact */
function order(row, _, fact) {
  const said = objectOf(row.payload, "hl_order");
  const seq = countOf(fact);
  const words = ORDER_WORDS.map((name) => [name, textOf(said, name)]);
  const reduce_only = flagOf(said, "reduce_only");
  const payload = { seq, ...Object.fromEntries(words), reduce_only, ...why(said) };
  return note(row, "hl_order", String(seq), payload);
}

/** @param {Row} row @param {Subject} _ @param {string} fact */
function result(row, _, fact) {
  const said = objectOf(row.payload, "hl_order_result");
  const seq = countOf(fact.split(":")[0] ?? "");
  const status = textOf(said, "status");
  /** @type {JsonObject} */
  const payload = { seq, status, cloid: textOf(said, "cloid") };
  for (const name of ["avg_px", "total_sz", "venue_words"]) {
    if (Object.hasOwn(said, name)) payload[name] = textOf(said, name);
  }
  if (Object.hasOwn(said, "oid")) payload.oid = heightOf(said, "oid");
  return note(row, "hl_order_result", `${seq}:${status}`, payload);
}

/** @param {Row} row @param {Subject} _ @param {string} fact */
function stopLine(row, _, fact) {
  const said = objectOf(row.payload, "hl_stop_line");
  const at = fact.indexOf(":");
  const [of, number] = at === -1 ? [fact, ""] : [fact.slice(0, at), fact.slice(at + 1)];
  /** @type {JsonObject} */
  const payload = { status: textOf(said, "status"), ...why(said) };
  for (const name of ["transient", "key_lost"]) {
    if (Object.hasOwn(said, name) && flagOf(said, name)) payload[name] = true;
  }
  return note(row, "hl_stop_line", `${countOf(of)}:${countOf(number)}`, payload);
}

/** @type {[string, import("./forms.js").Write][]} */
export const LEG_FORMS = [
  ["hl_leg_bound", leg("hl_leg_bound")],
  ["hl_leg_unbound", leg("hl_leg_unbound")],
  ["hl_order", order],
  ["hl_order_result", result],
  ["hl_stop_line", stopLine],
];

/** Legs and orders are numbered from 1. @param {string} text */
function countOf(text) {
  const number = Number(text);
  if (!COUNT.test(text) || !Number.isSafeInteger(number)) {
    throw new FormError("base_key: number legs and orders from 1");
  }
  return number;
}

/** @param {JsonObject} of @param {string} key */
function flagOf(of, key) {
  const found = member(of, key);
  if (typeof found !== "boolean") throw new FormError(`${key}: write true or false`);
  return found;
}
