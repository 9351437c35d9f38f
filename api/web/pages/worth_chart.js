// Worth over time, with stop line, target and funding as price lines; the same figures as a table below.

import { pagesAgain } from "../app/api.js";
import { Drawing, drawWorth } from "../app/chart.js";
import { amountText, clock, units, usdc } from "../app/format.js";
import { useResource } from "../app/resource.js";
import { html, useRef } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").LedgerEvent} LedgerEvent
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * @typedef {{at: string, worth: string, from: string}} Point
 * @typedef {{at: string, text: string, isBad: boolean}} Marker
 */

const MOST_ROWS = 2_000;
const MOST_ACTIONS = 50; // marked at the line; more of them would hide it

/** @param {{id: string, data: WholeMandate}} props */
export function WorthChart({ id, data }) {
  if (data.mandate.market_mode === "testnet" && data.mandate.vault_address === null)
    return html`<p class="quiet">There is no vault, so there is no worth to show.</p>`;
  return html`<${Series} id=${id} data=${data} />`;
}

/** @param {{id: string, data: WholeMandate}} props */
function Series({ id, data }) {
  const held = useRef(/** @type {{rows: LedgerEvent[], isWhole: boolean} | null} */ (null));
  const found = useResource(
    async (stop) => {
      const path = /** @type {const} */ (`/mandate-wallet/mandates/${id}/ledger`);
      const options = { query: { limit: 200 }, most: MOST_ROWS, stop };
      held.current = await pagesAgain(held.current, path, "events", options);
      return held.current;
    },
    [id],
    { again: [data] },
  );
  if (found.data === null)
    return html`<div class="chart"><p class="quiet">${found.error ? "The ledger cannot be read now." : "Reading the ledger …"}</p></div>`;
  const { points, markers } = seriesOf(found.data.rows, data);
  if (points.length === 0)
    return html`<p class="quiet">There is no worth to show before the vault is funded.</p>`;
  return html`<${Drawn} points=${points} markers=${markers} mandate=${data.mandate} />
    <details><summary>The same as a table</summary><div class="table" tabindex="0"><table><thead><tr><th scope="col">When</th><th scope="col" class="number">Worth, USDC</th><th scope="col">From</th></tr></thead>
      <tbody>${points.slice(-200).map((one) => html`<tr><td>${clock(one.at)}</td><td class="number">${usdc(one.worth)}</td><td>${one.from}</td></tr>`)}</tbody></table></div></details>`;
}

/**
 * @param {readonly LedgerEvent[]} events newest first @param {WholeMandate} data
 * @returns {{points: Point[], markers: Marker[]}}
 */
function seriesOf(events, data) {
  const points = [];
  const markers = [];
  let deposited = 0n;
  let isMarked = false; // from the first mark on, what was paid in is not what it is worth
  for (const event of [...events].reverse()) {
    const at = event.occurred_at;
    const worth = worthOf(event);
    if (event.kind === "deposit") {
      deposited += units(event.amount_usdc) ?? 0n;
      if (!isMarked) points.push({ at, worth: amountText(deposited), from: "funding" });
    } else if (worth !== null) {
      points.push({ at, worth, from: "the vault's measure" });
      isMarked = true;
    }
    if (event.kind === "stop") markers.push({ at, text: "stop", isBad: true });
    else if (event.kind === "withdraw") markers.push({ at, text: "withdraw", isBad: false });
    else if (event.payload.executed) markers.push({ at, text: "action", isBad: false });
  }
  const { worth_est: worth, worth_as_of: asOf } = data.progress;
  if (worth !== null && points.length > 0)
    points.push({ at: asOf ?? new Date().toISOString(), worth, from: "now, estimate" });
  const actions = markers.filter((one) => one.text === "action");
  const shown =
    actions.length > MOST_ACTIONS ? markers.filter((one) => one.text !== "action") : markers;
  return { points, markers: shown };
}

/** What the vault measured when the keeper marked or stopped it. An agent's own figures are none. @param {LedgerEvent} event */
function worthOf({ payload, reported_by: by }) {
  const fact = /** @type {{worth_usdc?: unknown} | null} */ (
    payload.mark ?? payload.stopped ?? null
  );
  const worth = fact?.worth_usdc;
  return by !== "agent" && typeof worth === "string" && units(worth) !== null ? worth : null;
}

/** @param {{points: Point[], markers: Marker[], mandate: MandateView}} props */
function Drawn({ points, markers, mandate }) {
  const last = points.at(-1);
  return html`<${Drawing} draw=${(/** @type {HTMLElement} */ box) => drawWorth(box, { points, markers, mandate })} again=${[points.length, last?.worth]}
      label=${`Worth over time; now ${last ? usdc(last.worth) : "unknown"} USDC, stop line ${usdc(mandate.stop_floor_usdc)} USDC. The table below has all points.`} />
    <p class="quiet">Chart: <a href="https://www.tradingview.com/" rel="noreferrer">TradingView</a> Lightweight Charts</p>`;
}
