// The columns of listings, which the board and the page of a token show alike.

import { Spark } from "./chart.js";
import { percent, words } from "./format.js";
import {
  Depth,
  depthOf,
  figure,
  hundredths,
  Known,
  Letter,
  Moved,
  NOT_MEASURED,
  Old,
  Pair,
  State,
  wholeDollars,
} from "./market.js";
import { html } from "./ui.js";

/**
 * @typedef {import("./answers.js").BoardRow} BoardRow
 * @typedef {import("./table.js").Column<BoardRow>} Column
 */

const ORDER = "ABCDF";
const HALF_DAY_MS = 43_200_000;

/** @param {string} [own] the listing whose page this is @returns {Column} */
export function pairColumn(own) {
  return {
    key: "symbol",
    label: "Pair",
    isName: true,
    text: (row) => row.symbol,
    sortBy: (row) => row.symbol,
    show: (row) =>
      row.token_id === own
        ? html`<strong>${row.symbol}</strong><div class="quiet">${row.exchange}, this page</div>`
        : html`<${Pair} row=${row} /><div class="quiet">${row.exchange}</div>`,
  };
}

/** Shown within others' cells. @type {readonly Column[]} */
export const COLUMNS_BESIDE = [
  {
    key: "transfer",
    label: "Transfers",
    isBeside: true,
    text: (row) => `deposit ${row.deposit}, withdraw ${row.withdraw}`,
  },
  { key: "exchange", label: "Exchange", isBeside: true, text: (row) => row.exchange },
  { key: "seen", label: "Seen", isBeside: true, text: (row) => row.sampled_at },
];

/** The closes of its week, and its price now. @param {{row: BoardRow}} props */
export function Week({ row }) {
  const { week_closes: closes, price, graded_at: graded, sampled_at: sampled } = row;
  const end = Date.parse(graded ?? "") || 0;
  const past = closes.map((value, n) => ({
    at: new Date(end - (closes.length - 1 - n) * HALF_DAY_MS).toISOString(),
    value,
  }));
  const first = closes.find((one) => one !== null) ?? null;
  const label = `Its price over seven days, from ${figure(first) ?? "unknown"} to ${figure(price) ?? "unknown"}`;
  return html`<${Spark} points=${[...past, { at: sampled ?? new Date(end).toISOString(), value: price }]} label=${label} />`;
}

/** @param {{bps: number | null}} props */
export function PriceMoved({ bps }) {
  return html`<${Moved} bps=${bps} why="Its price then, or now, was not measured." />`;
}

/** @type {readonly Column[]} */
export const MEASURED_COLUMNS = [
  {
    key: "grade",
    label: "Grade",
    hint: "Of liquidity: depth, spread, slippage, volume, uptime",
    text: (row) => row.grade,
    sortBy: (row) => (row.grade === null ? null : ORDER.indexOf(row.grade)),
    show: (row) => html`<${Letter} letter=${row.grade} provisional=${row.provisional} />`,
  },
  {
    key: "price",
    label: "Price, $",
    unit: "usd",
    isNumber: true,
    text: (row) => figure(row.price_usd),
    sortBy: (row) => row.price_usd,
    show: (row) =>
      html`<${Known} text=${figure(row.price_usd)} why=${NOT_MEASURED} /><${Old} row=${row} />`,
  },
  {
    key: "day",
    label: "24 h",
    hint: "How far the price moved in about 24 hours",
    unit: "bps",
    isNumber: true,
    text: (row) => percent(rounded(row.change_24h_bps)),
    sortBy: (row) => row.change_24h_bps,
    show: (row) => html`<${PriceMoved} bps=${row.change_24h_bps} />`,
  },
  {
    key: "week",
    label: "7 days",
    hint: "How far the price moved in about seven days, and its course",
    unit: "bps",
    isNumber: true,
    text: (row) => percent(rounded(row.change_7d_bps)),
    sortBy: (row) => row.change_7d_bps,
    show: (row) => html`<${Week} row=${row} /> <${PriceMoved} bps=${row.change_7d_bps} />`,
  },
  {
    key: "spread",
    label: "Spread, bps",
    unit: "bps",
    isNumber: true,
    text: (row) => hundredths(row.spread_bps),
    sortBy: (row) => row.spread_bps,
    show: (row) => html`<${Known} text=${hundredths(row.spread_bps)} />`,
  },
  {
    key: "depth",
    label: "Depth, $",
    unit: "usd",
    isNumber: true,
    hint: "Within 2 % of the mid, on the smaller side",
    text: (row) => wholeDollars(depthOf(row)),
    sortBy: (row) => depthOf(row),
    show: (row) => html`<${Depth} row=${row} isWhole />`,
  },
  {
    key: "volume",
    label: "Volume, $",
    unit: "usd",
    hint: "Volume of the last 24 hours",
    isNumber: true,
    text: (row) => wholeDollars(row.volume_24h_usd),
    sortBy: (row) => row.volume_24h_usd,
    show: (row) => html`<${Known} text=${wholeDollars(row.volume_24h_usd)} />`,
  },
  {
    key: "warnings",
    label: "State",
    hint: "Its newest warning; whether deposits and withdrawals are open",
    text: (row) => row.warnings.map((one) => words(one.type)).join(", "),
    sortBy: (row) => row.warnings.length,
    show: (row) => html`<${State} row=${row} />`,
  },
];

/** @param {number | null} bps whole hundredths of a percent */
function rounded(bps) {
  return bps === null ? null : Math.round(bps);
}
