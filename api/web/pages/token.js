// What is this token worth trading? One listing beside the others of its asset, and why its grade is what it is.

import { get } from "../app/api.js";
import { clock, cut, integer, words } from "../app/format.js";
import {
  Age,
  bps,
  Depth,
  dollars,
  figure,
  Known,
  Letter,
  NOT_MEASURED,
  share,
  Transfer,
  Warned,
  wholeDollars,
} from "../app/market.js";
import {
  COLUMNS_BESIDE,
  MEASURED_COLUMNS,
  PriceMoved,
  pairColumn,
  Week,
} from "../app/market_columns.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Table } from "../app/table.js";
import { Badge, Empty, Figure, html, Notice, PageHead, Time, Unknown } from "../app/ui.js";
import { Charts } from "./token_charts.js";
import { Identity } from "./token_identity.js";
import { Timeline } from "./token_timeline.js";

/**
 * @typedef {import("../app/answers.js").BoardRow} BoardRow
 * @typedef {import("../app/answers.js").TokenDetail} TokenDetail
 * @typedef {import("../app/answers.js").TokenBook} TokenBook
 * @typedef {import("../app/answers.js").TokenGap} TokenGap
 * @typedef {import("../app/answers.js").TokenNetwork} TokenNetwork
 */

const EVERY_S = 30;

/** @param {{path: string[]}} props */
export default function Token({ path: [id = ""] }) {
  const found = useResource(
    (stop) => get(`/tokens/${encodeURIComponent(id)}`, undefined, stop),
    [id],
    {
      everyS: EVERY_S,
    },
  );
  if (id === "")
    return html`<${Empty} title="Which token?"><p class="quiet">Choose one from the board.</p><div class="row"><a class="button" href=${link("board")}>Open the board</a></div><//>`;
  const isRefused = found.data === null && found.error !== null;
  return html`${isRefused ? html`<${PageHead} title=${cut(id, 80)} />` : null}<${Read} of=${found} what="the token">${(/** @type {TokenDetail} */ data) => html`<${Shown} key=${id} data=${data} />`}<//>`;
}

/** @param {{data: TokenDetail}} props */
function Shown({ data }) {
  const { listing, asset } = data;
  return html`<${PageHead} title=${listing.symbol} lead=${html`On ${listing.exchange}, first seen ${clock(data.listed_since)}`}>
      ${listing.simulated ? html`<${Badge}>simulated<//>` : null}<a class="button" href=${link("board")}>Board</a><//>
    ${listing.stale ? html`<${Notice} tone="attention" title="These figures are out of date"><p>${listing.fault ? `Its last order book could not be used: ${words(listing.fault)}.` : "The last three scans measured no order book."}</p><//>` : null}
    ${asset?.identity === "collision" ? html`<${Notice} tone="loss" title="Several coins share this ticker"><p>Exchanges list different contracts as ${asset.token}. Check its identity below before you compare prices or transfer.</p><//>` : null}
    <section class="card figures" aria-label="Now">
      <${Figure} label="Grade" note=${listing.score === null ? "not enough data" : `${figure(listing.score, 3)} of 100`}><${Letter} letter=${listing.grade} provisional=${listing.provisional} /><//>
      <${Figure} label="Price, USD" note=${html`<${Age} row=${listing} />`}><${Known} text=${figure(listing.price_usd, 6)} why=${NOT_MEASURED} /><//>
      <${Figure} label="24 h"><${PriceMoved} bps=${listing.change_24h_bps} /><//>
      <${Figure} label="7 days" note=${html`<${Week} row=${listing} />`}><${PriceMoved} bps=${listing.change_7d_bps} /><//>
      <${Figure} label="Spread"><${Known} text=${bps(listing.spread_bps)} /><//>
      <${Figure} label="Depth within 2 %, USD"><${Depth} row=${listing} /><//>
      <${Figure} label="Volume, 24 h"><${Known} text=${dollars(listing.volume_24h_usd)} /><//>
      <${Figure} label="Transfers"><span class="row"><${Transfer} name="deposit" state=${listing.deposit} /><${Transfer} name="withdraw" state=${listing.withdraw} /></span><//>
    </section>
    ${data.warnings.length === 0 ? null : html`<section class="card" aria-labelledby="open-warnings"><h2 id="open-warnings">Open warnings</h2><ul class="list">${data.warnings.map((one) => html`<li class="row"><${Warned} one=${one} /><span class="quiet">at ${one.exchange}</span></li>`)}</ul></section>`}
    <${Charts} id=${listing.token_id} symbol=${listing.symbol} />
    <div class="two"><${Grade} data=${data} /><${Book} book=${data.book} /></div>
    <${Venues} data=${data} />
    ${asset === null ? null : html`<${Identity} asset=${asset} networks=${data.networks} />`}
    <${Networks} rows=${data.networks} />
    <${Gaps} rows=${data.gaps} />
    <${Timeline} token=${listing.token} />`;
}

const PARTS = /** @type {const} */ (["depth", "spread", "slippage", "volume", "uptime"]);

/** @param {{data: TokenDetail}} props the letter's inputs, and what each gave */
function Grade({ data: { grade, listing } }) {
  const inputs = listing.grade_inputs;
  const shown = {
    depth: dollars(inputs.depth_usd),
    spread: bps(inputs.spread_bps),
    slippage: bps(inputs.slip_10k_bps),
    volume: dollars(inputs.volume_24h_usd),
    uptime: share(inputs.uptime),
  };
  return html`<section class="card" aria-labelledby="grade"><h2 id="grade">Why this grade</h2>
    ${
      grade.score === null
        ? html`<p class="quiet">Not enough data in the last 24 hours: a grade needs at least six hours and half of the expected samples.</p>`
        : html`<div class="table" tabindex="0"><table><thead><tr><th scope="col">Part</th><th scope="col" class="number">24 h median</th><th scope="col" class="number">Part, 0 to 1</th><th scope="col" class="number">Weight</th><th scope="col" class="number">Points</th></tr></thead>
      <tbody>${PARTS.map((name) => {
        const part = grade.parts[name];
        return html`<tr><th scope="row">${name}</th><td class="number"><${Known} text=${shown[name]} /></td><td class="number"><${Known} text=${figure(part, 3)} why="Unknown, so this part and its weight are left out." /></td><td class="number">${figure(grade.weights[name])}</td><td class="number"><${Known} text=${part === null ? null : figure(100 * part * grade.weights[name], 3)} /></td></tr>`;
      })}</tbody></table></div>
      ${grade.gates.length > 0 ? html`<p>Capped at D by ${grade.gates.map((one) => html`<${Badge} tone="attention">${words(one)}<//> `)}</p>` : null}
      <p class="quiet">Formula ${grade.version ?? "unknown"}; 7-day mean ${figure(grade.gpa_7d, 3) ?? "unknown"} of 4; graded <${Time} at=${grade.graded_at} />. Deposits and withdrawals do not change it.</p>`
    }</section>`;
}

const WITHIN = /** @type {const} */ ([
  ["0.5 %", "bid_05_usd", "ask_05_usd"],
  ["1 %", "bid_1_usd", "ask_1_usd"],
  ["2 %", "bid_2_usd", "ask_2_usd"],
]);
const SLIPS = /** @type {const} */ ([
  ["1,000", "slip_buy_1k_bps", "slip_sell_1k_bps"],
  ["10,000", "slip_buy_10k_bps", "slip_sell_10k_bps"],
]);

/** @param {number | null} imbalance bids less asks, by their sum */
function balance(imbalance) {
  if (imbalance === null) return "Which side is deeper within 2 % is unknown.";
  if (imbalance === 0) return "Bids and asks within 2 % are equally deep.";
  const [more, less] = imbalance > 0 ? ["bids", "asks"] : ["asks", "bids"];
  return `Within 2 % there are more ${more} than ${less}, by ${share(Math.abs(imbalance))} of both together.`;
}

/** @param {{book: TokenBook}} props */
function Book({ book }) {
  const most = Math.max(book.bid_2_usd ?? 0, book.ask_2_usd ?? 0);
  const bar = (/** @type {number | null} */ value, /** @type {string} */ tone) =>
    value !== null &&
    html`<meter class=${`depth ${tone}`} min="0" max=${most || 1} value=${value} aria-hidden="true"></meter>`;
  return html`<section class="card" aria-labelledby="book"><h2 id="book">Order book</h2>
    <div class="table" tabindex="0"><table><thead><tr><th scope="col">Within</th><th scope="col" class="number">Bids, USD</th><th scope="col" class="number">Asks, USD</th></tr></thead>
      <tbody>${WITHIN.map(([label, bid, ask]) => html`<tr><th scope="row">${label}</th><td class="number"><${Known} text=${wholeDollars(book[bid])} />${bar(book[bid], "settled")}</td><td class="number"><${Known} text=${wholeDollars(book[ask])} />${bar(book[ask], "loss")}</td></tr>`)}</tbody></table></div>
    <div class="table" tabindex="0"><table><thead><tr><th scope="col">To trade, USD</th><th scope="col" class="number">Buying costs</th><th scope="col" class="number">Selling costs</th></tr></thead>
      <tbody>${SLIPS.map(([label, buy, sell]) => html`<tr><th scope="row">${label}</th><td class="number"><${Known} text=${bps(book[buy])} why="The order book ends before that much is traded." /></td><td class="number"><${Known} text=${bps(book[sell])} why="The order book ends before that much is traded." /></td></tr>`)}</tbody></table></div>
    <p class="quiet">${balance(book.imbalance)}</p>
    ${book.is_truncated ? html`<p class="quiet">The exchange shows no deeper order book: real depth is at least this.</p>` : null}</section>`;
}

/** @param {{data: TokenDetail}} props */
function Venues({ data }) {
  const own = data.listing.token_id;
  const columns = [pairColumn(own), ...COLUMNS_BESIDE, ...MEASURED_COLUMNS];
  return html`<section class="card stack" aria-labelledby="venues"><h2 id="venues">Venues side by side</h2>
    <${Table} name="venues" label="venues" columns=${columns} rows=${data.venues} keyOf=${(/** @type {BoardRow} */ row) => row.token_id} filter=${false} /></section>`;
}

/** @param {{rows: readonly TokenNetwork[]}} props */
function Networks({ rows }) {
  return html`<section class="card" aria-labelledby="networks"><h2 id="networks">Deposits and withdrawals</h2>${
    rows.length === 0
      ? html`<p class="quiet">No exchange that lists it reports its networks, so whether transfers are open is unknown.</p>`
      : html`<div class="table" tabindex="0" role="region" aria-label="Networks"><table><thead><tr><th scope="col">Exchange</th><th scope="col">Chain</th><th scope="col">Deposits</th><th scope="col">Withdrawals</th><th scope="col">Contract</th></tr></thead>
        <tbody>${rows.map(
          (one) => html`<tr><td>${one.exchange}</td><td><code>${cut(one.chain, 40)}</code></td>
          <td><${Transfer} name="" state=${one.deposit} /> <span class="quiet">since <${Time} at=${one.deposit_since} /></span></td>
          <td><${Transfer} name="" state=${one.withdraw} /> <span class="quiet">since <${Time} at=${one.withdraw_since} /></span></td>
          <td>${one.native ? "the chain's own coin" : one.contract ? html`<code>${cut(one.contract, 60)}</code>` : html`<${Unknown} why="The exchange does not report it." />`}</td></tr>`,
        )}</tbody></table></div>`
  }</section>`;
}

/** @param {{rows: readonly TokenGap[]}} props */
function Gaps({ rows }) {
  if (rows.length === 0) return null;
  return html`<section class="card" aria-labelledby="gaps"><h2 id="gaps">Gaps between its venues</h2><div class="table" tabindex="0"><table>
    <thead><tr><th scope="col">Buy at</th><th scope="col">Sell at</th><th scope="col" class="number">Gross</th><th scope="col" class="number">Net of fees, for 1,000</th><th scope="col">Transfer</th><th scope="col">Seen</th></tr></thead>
    <tbody>${rows.map(
      (
        one,
      ) => html`<tr><td>${one.buy_exchange}</td><td>${one.sell_exchange}</td><td class="number"><${Known} text=${bps(one.gross_bps)} /></td><td class="number"><${Known} text=${bps(one.net_1k_bps)} /></td>
      <td>${one.suspect ? html`<${Badge} tone="attention">${words(one.suspect)}<//>` : html`<${Transfer} name="" state=${one.transfer} />`}${one.actionable ? html` <${Badge} tone="settled">actionable<//>` : null}</td><td class="quiet"><${Time} at=${one.observed_at} /></td></tr>`,
    )}</tbody></table></div>
    <p class="quiet">The ${rows.length === 1 ? "best gap" : `${integer(rows.length)} best gaps`} by what 1,000 dollars would earn after fees.</p></section>`;
}
