// Price and depth over time; the same figures as a table below.

import { get } from "../app/api.js";
import { Drawing, drawSeries } from "../app/chart.js";
import { clock } from "../app/format.js";
import { bps, dollars, figure, Known } from "../app/market.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { place, setQuery } from "../app/router.js";
import { html } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").SeriesPoint} SeriesPoint
 * @typedef {import("../app/answers.js").TokenPriceStats} TokenPriceStats
 */

const SPANS = [7, 30, 90];
const ROWS = 100;

/** @param {{id: string, symbol: string}} props */
export function Charts({ id, symbol }) {
  const days = SPANS.find((one) => String(one) === place.value.query.get("days")) ?? 30;
  const path = /** @type {const} */ (`/tokens/${encodeURIComponent(id)}/price/stats`);
  const found = useResource((stop) => get(path, { days, series: 1 }, stop), [id, days], {
    everyS: 300,
  });
  return html`<section class="card stack" aria-labelledby="charts"><div class="row"><h2 id="charts" class="grow">Price and depth</h2>
      <span class="segments" role="group" aria-label="Days">${SPANS.map((one) => html`<button type="button" aria-pressed=${one === days} onClick=${() => setQuery({ days: String(one) })}>${one} d</button>`)}</span></div>
    <${Read} of=${found} what="its history">${(/** @type {TokenPriceStats} */ data) => html`<${Drawn} data=${data} symbol=${symbol} />`}<//></section>`;
}

/** @param {{data: TokenPriceStats, symbol: string}} props */
function Drawn({ data, symbol }) {
  const points = (data.series ?? []).filter((one) => one.close !== null);
  if (points.length === 0) return html`<p class="quiet">Nothing was measured in this period.</p>`;
  const last = points.at(-1);
  return html`<p class="quiet">${figure(data.low) ?? "unknown"} to ${figure(data.high) ?? "unknown"} ${data.quote}, median spread ${bps(data.spread_bps) ?? "unknown"}, median depth ${dollars(data.depth_2_usd) ?? "unknown"} USD.</p>
    <${Chart} points=${points} field="close" colour="--ink" label=${`Price of ${symbol} over ${data.days} days; now ${figure(last?.close ?? null) ?? "unknown"} ${data.quote}. The table below has its points.`} />
    <${Chart} points=${points} field="depth_2_usd" colour="--settled" label=${`Depth within 2 % in dollars over ${data.days} days. The table below has its points.`} />
    <p class="quiet">Price in ${data.quote}, and below it depth within 2 %, in dollars. Charts: <a href="https://www.tradingview.com/" rel="noreferrer">TradingView</a> Lightweight Charts</p>
    <details><summary>The same as a table</summary><div class="table" tabindex="0"><table><thead><tr><th scope="col">From</th><th scope="col" class="number">Close, ${data.quote}</th><th scope="col" class="number">Spread</th><th scope="col" class="number">Depth, USD</th></tr></thead>
      <tbody>${points.slice(-ROWS).map((one) => html`<tr><td>${clock(one.at)}</td><td class="number"><${Known} text=${figure(one.close)} /></td><td class="number"><${Known} text=${bps(one.spread_bps)} /></td><td class="number"><${Known} text=${dollars(one.depth_2_usd)} /></td></tr>`)}</tbody></table></div></details>`;
}

/** @param {{points: readonly SeriesPoint[], field: "close" | "depth_2_usd", colour: string, label: string}} props */
function Chart({ points, field, colour, label }) {
  const drawn = points.flatMap((one) => {
    const value = one[field];
    return value === null ? [] : [{ at: one.at, value }];
  });
  return html`<${Drawing} draw=${(/** @type {HTMLElement} */ box) => drawSeries(box, drawn, colour)} again=${[points.length, points.at(-1)?.at]} label=${label} />`;
}
