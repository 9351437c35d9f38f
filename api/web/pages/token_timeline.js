// What happened to a token: warnings, outcomes, transfers, listings, the newest first.

import { get } from "../app/api.js";
import { cut, words } from "../app/format.js";
import { bps, dollars, figure, Transfer, Warned } from "../app/market.js";
import { Older, usePaged } from "../app/paged.js";
import { Read, Refused } from "../app/refusal.js";
import { Badge, html, Time } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").TimelineEntry} TimelineEntry
 * @typedef {{rows: readonly TimelineEntry[], next: string | null}} Listed
 */

const LIMIT = 50;

/** @param {{token: string}} props */
export function Timeline({ token }) {
  const { found, older } = usePaged(
    async (cursor, stop) => {
      const page = await get("/board/token/timeline", { token, limit: LIMIT, cursor }, stop);
      return { rows: page.rows, next: page.next_cursor };
    },
    { idOf: hashOf, everyS: 60 },
  );
  return html`<section class="card" aria-labelledby="timeline"><h2 id="timeline">Timeline of ${token}</h2>
    <${Read} of=${found} what="the timeline">${(/** @type {Listed} */ data) =>
      data.rows.length === 0
        ? html`<p class="quiet">Nothing has happened since it was listed.</p>`
        : html`<ul class="list timeline">${data.rows.map((row) => html`<li class="row" key=${hashOf(row)}><span class="quiet"><${Time} at=${row.at} /></span><span class="grow"><${What} row=${row} /></span><span class="quiet">${row.exchange}</span></li>`)}</ul>
          <${Older} next=${data.next} isBusy=${older.isBusy} onMore=${older.run} />`}<//>
    <${Refused} error=${older.error} /></section>`;
}

const SAID = /** @type {Readonly<Record<string, string>>} */ ({
  warning_issued: "issued",
  warning_cleared: "cleared",
  warning_reopened: "reopened",
});

const DIRECTIONS = /** @type {Readonly<Record<string, string>>} */ ({
  deposit: "deposits",
  withdraw: "withdrawals",
});

/** One of a warning's figures: its name says its unit. @param {string} name @param {unknown} value */
function fact(name, value) {
  if (value === true) return words(name.replace(/^(is|has)_/, ""));
  const number = value === null || value === "" ? Number.NaN : Number(value);
  if (Number.isNaN(number) || typeof value === "boolean") return `${words(name)} ${String(value)}`;
  if (name.endsWith("_usd")) return `${words(name.slice(0, -4))} ${dollars(number)} USD`;
  if (name.endsWith("_bps")) return `${words(name.slice(0, -4))} ${bps(number)}`;
  if (name.endsWith("_s")) return `${words(name.slice(0, -2))} for ${figure(number / 3_600, 3)} h`;
  return `${words(name)} ${figure(number)}`;
}

/** @param {{row: TimelineEntry}} props */
function What({ row }) {
  if (row.kind === "transfer")
    return html`<${Transfer} name=${DIRECTIONS[row.direction ?? ""] ?? "transfers"} state=${row.state ?? "unknown"} /> <code>${cut(row.chain ?? "", 40)}</code>`;
  if (row.kind === "listed" || row.kind === "delisted")
    return html`<${Badge} tone=${row.kind === "delisted" ? "loss" : ""}>${row.kind}<//> ${row.symbol}`;
  if (row.kind === "outcome")
    return html`<${Badge} tone="loss">declared: ${words(row.type)}<//> ${row.title ? cut(row.title, 160) : null}`;
  const figures = Object.entries(row.evidence ?? {})
    .map(([name, value]) => fact(name, value))
    .join(", ");
  return html`<${Warned} one=${{ type: row.type, severity: row.kind === "warning_cleared" ? null : row.severity }} /> ${SAID[row.kind] ?? words(row.kind)} <span class="quiet">${cut(figures, 160)}</span>`;
}

/** A number that identifies a row: rows have no id of their own. @param {TimelineEntry} row */
function hashOf(row) {
  const text = [
    row.at,
    row.kind,
    row.exchange,
    row.type,
    row.direction,
    row.chain,
    row.symbol,
    row.severity,
    row.state,
    row.title,
    JSON.stringify(row.evidence),
  ].join("|");
  let hash = 0;
  for (const one of text) hash = (Math.imul(hash, 31) + one.charCodeAt(0)) | 0;
  return hash;
}
