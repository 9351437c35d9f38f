// What the board and the pages of tokens show alike: figures of markets, grades, transfers, warnings.
//
// Figures of markets are numbers, never money; unknown stays a word with its reason.

import { clock, cut, percent, words } from "./format.js";
import { link } from "./router.js";
import { Badge, html, Time, Unknown } from "./ui.js";

/**
 * @typedef {import("./answers.js").BoardRow} BoardRow
 * @typedef {import("./answers.js").OpenWarning} OpenWarning
 */

/** @param {number | null | undefined} value @param {number} [digits] */
export function figure(value, digits = 5) {
  if (value === null || value === undefined) return null;
  return value.toLocaleString("en-US", { maximumSignificantDigits: digits }).replace("-", "−");
}

/** Dollars in few characters: 1,234,567 is "1.23 M". @param {number | null | undefined} value */
export function dollars(value) {
  if (value === null || value === undefined) return null;
  return value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 3 });
}

/** Dollars of a column, all in one unit: 1,234,567. @param {number | null | undefined} value */
export function wholeDollars(value) {
  if (value === null || value === undefined) return null;
  return value > 0 && value < 1
    ? "< 1"
    : value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** A figure of a column, with two decimals. @param {number | null | undefined} value */
export function hundredths(value) {
  if (value === null || value === undefined) return null;
  return value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** @param {number | null | undefined} bps */
export function bps(bps) {
  return bps === null || bps === undefined ? null : `${figure(bps, 3)} bps`;
}

/**
 * How far a price moved, in percent.
 * @param {{bps: number | null | undefined, why?: string}} props
 */
export function Moved({ bps, why }) {
  if (bps === null || bps === undefined) return html`<${Unknown} why=${why} />`;
  const whole = Math.round(bps);
  return html`<span class=${whole < 0 ? "loss" : whole > 0 ? "settled" : ""}>${whole > 0 ? "+" : ""}${percent(whole)}</span>`;
}

/** A part of a whole as a percentage. @param {number | null | undefined} share */
export function share(share) {
  return share === null || share === undefined ? null : `${figure(share * 100, 3)} %`;
}

/** @param {{text: string | null, why?: string}} props */
export function Known({ text, why }) {
  return text === null ? html`<${Unknown} why=${why} />` : text;
}

export const NOT_MEASURED = "Its order book has not been measured yet.";

const LETTER_TONES = /** @type {Readonly<Record<string, string>>} */ ({
  A: "settled",
  B: "settled",
  C: "",
  D: "attention",
  F: "loss",
});

/** @param {{letter: string | null, provisional?: boolean | null}} props */
export function Letter({ letter, provisional = false }) {
  if (letter === null) return html`<${Unknown} why="Not enough data to grade it." />`;
  return html`<${Badge} tone=${LETTER_TONES[letter] ?? ""}>${letter}${provisional ? html` <span title="From less than a day of data, or with gaps">provisional</span>` : null}<//>`;
}

const TRANSFER_TONES = /** @type {Readonly<Record<string, string>>} */ ({
  open: "settled",
  closed: "loss",
});
const WHY_UNKNOWN =
  "This exchange does not report it, or has not been asked yet: it may be open or closed.";

/** @param {{name: string, state: string}} props */
export function Transfer({ name, state }) {
  if (state === "unknown")
    return html`<span class="quiet" title=${WHY_UNKNOWN}>${name} unknown</span>`;
  return html`<${Badge} tone=${TRANSFER_TONES[state] ?? ""}>${name} ${state}<//>`;
}

/** Both ways in a word or two. @param {BoardRow} row */
function transfersOf({ deposit, withdraw }) {
  if (deposit === withdraw) return deposit;
  return deposit === "open"
    ? "deposit only"
    : withdraw === "open"
      ? "withdraw only"
      : "partly unknown";
}

/** Both ways in one sign. @param {{row: BoardRow}} props */
function Transfers({ row }) {
  const { deposit, withdraw } = row;
  const both = `deposit ${deposit}, withdraw ${withdraw}`;
  if (deposit === withdraw)
    return html`<span title=${both}><${Transfer} name="" state=${deposit} /></span>`;
  const isClosed = deposit === "closed" || withdraw === "closed";
  return html`<span title=${both}><${Badge} tone=${isClosed ? "attention" : ""}>${transfersOf(row)}<//></span>`;
}

/** Its newest warning, with transfers below where they are not open; without a warning, transfers. @param {{row: BoardRow}} props */
export function State({ row }) {
  if (row.warnings.length === 0) return html`<${Transfers} row=${row} />`;
  const transfers = transfersOf(row);
  return html`<${Warnings} warnings=${row.warnings} />${transfers === "open" ? null : html`<div class="quiet">transfers ${transfers}</div>`}`;
}

const SEVERITY_TONES = /** @type {Readonly<Record<string, string>>} */ ({
  critical: "loss",
  warning: "attention",
});

/** The newest, and how many more; when, in the title. @param {{warnings: readonly OpenWarning[]}} props */
function Warnings({ warnings }) {
  const [first] = warnings;
  if (first === undefined) return null;
  const all = warnings.map((one) => `${words(one.type)}, since ${clock(one.issued_at)}`).join("; ");
  const more = warnings.length - 1;
  return html`<span class="row" title=${all}><${Badge} tone=${SEVERITY_TONES[first.severity] ?? ""}>${words(first.type)}<//>${more > 0 ? html`<span class="quiet">+${more}</span>` : null}</span>`;
}

/** @param {{one: {type: string | null, severity: string | null, issued_at?: string}}} props */
export function Warned({ one }) {
  return html`<${Badge} tone=${SEVERITY_TONES[one.severity ?? ""] ?? ""}>${words(one.type)}<//>${one.issued_at ? html`<span class="quiet"><${Time} at=${one.issued_at} /></span>` : null}`;
}

/** @param {BoardRow} row @returns {number | null} what is within 2 % of the mid on the smaller side */
export function depthOf(row) {
  return row.bid_2_usd === null || row.ask_2_usd === null
    ? null
    : Math.min(row.bid_2_usd, row.ask_2_usd);
}

/**
 * A depth that the book's end cut short is at least that.
 * @param {{row: BoardRow, isWhole?: boolean}} props `isWhole`: in dollars, as in a column
 */
export function Depth({ row, isWhole = false }) {
  const text = (isWhole ? wholeDollars : dollars)(depthOf(row));
  if (text === null) return html`<${Unknown} />`;
  return row.is_truncated
    ? html`<span title="The exchange shows no deeper order book: real depth is at least this.">≥ ${text}</span>`
    : text;
}

/** @param {{row: BoardRow}} props */
export function Pair({ row }) {
  return html`<a href=${link("token", row.token_id)}>${cut(row.symbol, 41)}</a>${row.simulated ? html` <abbr class="quiet" title="from a simulated market">sim</abbr>` : null}${row.status === "halted" || row.status === "delisted" ? html` <${Badge} tone="loss">${row.status}<//>` : null}`;
}

/** A mark beside figures that are out of date. @param {{row: {sampled_at: string | null, stale: boolean}}} props */
export function Old({ row: { sampled_at: at, stale } }) {
  if (!stale || at === null) return null;
  return html` <span class="attention" title=${`Seen ${clock(at)}; its last looks measured nothing.`}>▲</span>`;
}

/** @param {{row: {sampled_at: string | null, stale: boolean}}} props */
export function Age({ row }) {
  if (row.sampled_at === null) return html`<${Unknown} why=${NOT_MEASURED} />`;
  return html`<span class=${row.stale ? "attention" : "quiet"}>${row.stale ? "▲ " : ""}<${Time} at=${row.sampled_at} /></span>`;
}
