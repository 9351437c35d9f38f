// What the pages of funds show alike: kinds of vaults, markets, sessions.

import { clock, cut } from "../app/format.js";
import { link } from "../app/router.js";
import { Badge, html, Unknown } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").FundVaultRow} FundVaultRow
 * @typedef {import("../app/answers.js").MarketSessionShown} MarketSessionShown
 */

/** @param {{one: Pick<FundVaultRow, "kind" | "mirroring_paused" | "simulated">}} props */
export function Kind({ one }) {
  return html`<${Badge}>${one.kind}<//>${one.mirroring_paused ? html`<${Badge} tone="attention">mirroring paused<//>` : null}${one.simulated ? html`<${Badge}>simulated<//>` : null}`;
}

/** @param {{market: string}} props a listing, as a link to its token: "binance_btc_usdt" is BTC/USDT at binance */
export function Market({ market }) {
  const [exchange, base, quote, more] = market.split("_");
  if (!exchange || !base || !quote || more !== undefined)
    return html`<a href=${link("token", market)}><code>${cut(market, 100)}</code></a>`;
  return html`<a href=${link("token", market)}>${`${base}/${quote}`.toUpperCase()}</a> <span class="quiet">at ${exchange}</span>`;
}

/** @param {{session: MarketSessionShown}} props */
export function SessionBadge({ session }) {
  if (session.state === "unknown")
    return html`<${Unknown} why="The calendar does not reach this time, and sessions are not guessed." />`;
  if (session.state === "closed")
    return html`<span><${Badge} tone="attention">closed<//> ${session.next_open === null ? null : html`<span class="quiet">until ${clock(session.next_open)}</span>`}</span>`;
  return html`<span><${Badge} tone="settled">open<//> ${session.closes_at === null ? null : html`<span class="quiet">until ${clock(session.closes_at)}</span>`}</span>`;
}
