// The columns of listings, which the board and the page of a token show alike.

import {
  Age,
  Depth,
  depthOf,
  figure,
  hundredths,
  Known,
  Letter,
  NOT_MEASURED,
  Pair,
  Transfers,
  wholeDollars,
} from "./market.js";
import { html } from "./ui.js";

/**
 * @typedef {import("./answers.js").BoardRow} BoardRow
 * @typedef {import("./table.js").Column<BoardRow>} Column
 */

const ORDER = "ABCDF";

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
        ? html`<strong>${row.symbol}</strong> <span class="quiet">this page</span>`
        : html`<${Pair} row=${row} />`,
  };
}

/** @param {boolean} [isShort] two letters, where many rows stand @returns {Column} */
export function venueColumn(isShort = false) {
  return {
    key: "exchange",
    label: isShort ? "At" : "Exchange",
    text: (row) => row.exchange,
    sortBy: (row) => row.exchange,
    show: (row) =>
      isShort ? html`<abbr title=${row.exchange}>${row.exchange_code}</abbr>` : row.exchange,
  };
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
    show: (row) => html`<${Known} text=${figure(row.price_usd)} why=${NOT_MEASURED} />`,
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
    label: "24 h, $",
    unit: "usd",
    hint: "Volume of the last 24 hours",
    isNumber: true,
    text: (row) => wholeDollars(row.volume_24h_usd),
    sortBy: (row) => row.volume_24h_usd,
    show: (row) => html`<${Known} text=${wholeDollars(row.volume_24h_usd)} />`,
  },
  {
    key: "transfer",
    label: "Transfers",
    text: (row) => `deposit ${row.deposit}, withdraw ${row.withdraw}`,
    sortBy: (row) => `${row.deposit} ${row.withdraw}`,
    show: (row) => html`<${Transfers} row=${row} />`,
  },
];

/** @type {Column} */
export const AGE_COLUMN = {
  key: "age",
  label: "Seen",
  text: (row) => row.sampled_at,
  sortBy: (row) => row.sampled_at,
  show: (row) => html`<${Age} row=${row} />`,
};
