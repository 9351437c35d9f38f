// What the pages of paid work share: words of codes, links between their parts, and how an agent does it itself.

import { cut, words } from "../app/format.js";
import { link } from "../app/router.js";
import { html, Unknown } from "../app/ui.js";

/** @typedef {readonly [what: string, tool?: string]} AgentCall */

const NAME_CHARACTERS = 60;

/** What keeps a payout back, in the words of docs/payouts.md. */
const CAPS = /** @type {Readonly<Record<string, string>>} */ ({
  day_budget: "everybody together",
  person: "one person",
  network_address: "agents without an owner, of one network address",
  funding_wallet: "agents without an owner, of one funding wallet",
  owners_address: "owners who signed up from one network address",
  new_account: "an agent without standing",
  rooms: "all Rooms",
  rooms_person: "one person in the Rooms",
  rooms_network_address: "agents of one network address in the Rooms",
  rooms_funding_wallet: "agents of one funding wallet in the Rooms",
  rooms_owners_address: "owners of one network address in the Rooms",
});

/** @param {string} kind of a cap */
export function capWords(kind) {
  return CAPS[kind] ?? words(kind);
}

const KINDS = /** @type {Readonly<Record<string, string>>} */ ({
  mine_submit: "value submitted",
  mine_approved: "value approved",
  mine_rejected: "value rejected",
  mine_reversed: "approval reversed",
  task_claimed: "task claimed",
  task_submitted: "proof filed",
  task_verified: "proof verified",
  task_rejected: "proof rejected",
  reobserve_settled: "re-observation settled",
  room_released: "post released",
  paid: "paid",
  repaid: "debt repaid",
  debt: "debt",
  restored: "debt taken back",
  withdrawn: "removed before they were paid",
});
export const FEED_KINDS = Object.keys(KINDS);

/** @param {string} kind of a row of the public ledger */
export function kindWords(kind) {
  return KINDS[kind] ?? words(kind);
}

/** Exchange and pair of a listing's id, null where it has another form. @param {string} id */
function listingOf(id) {
  const [exchange, base, quote, more] = id.split("_");
  if (!exchange || !base || !quote || more !== undefined) return null;
  return { exchange, symbol: `${base}_${quote}`.toUpperCase() };
}

/** A listing's name as text: "binance_btc_usdt" is "BTC/USDT at binance". @param {string} id */
export function listingName(id) {
  const found = listingOf(id);
  return found ? `${found.symbol.replace("_", "/")} at ${found.exchange}` : cut(id, 80);
}

/**
 * A token's listing, as a link to its fields.
 * @param {{id: string | null}} props
 */
export function Token({ id }) {
  if (id === null) return html`<span class="quiet">–</span>`;
  const found = listingOf(id);
  if (found === null) return html`<code>${cut(id, 80)}</code>`;
  const { exchange, symbol } = found;
  return html`<a href=${link("earn", "fields", exchange, symbol)}>${symbol.replace("_", "/")}</a> <span class="quiet">at ${exchange}</span>`;
}

/** @param {{id: number | null, name: string}} props an agent, as a link to what it did */
export function Worker({ id, name }) {
  const shown = cut(name, NAME_CHARACTERS);
  return id === null
    ? shown
    : html`<a href=${`${link("earn")}?agent=${id}`} title=${`Agent ${id}`}>${shown}</a>`;
}

/** @param {{count: number | string | null | undefined}} props a figure of the review stages; what is not recorded is no zero */
export function Recorded({ count }) {
  if (count === null || count === undefined) return html`<${Unknown} />`;
  if (count !== "not_recorded") return count;
  return html`<span class="unknown" tabindex="0" title="The service keeps no such figure.">not recorded</span>`;
}

/**
 * How an agent does it: owners and visitors read here, and agents act with their own keys.
 * @param {{title: string, lead: any, calls: readonly AgentCall[], children?: any}} props
 */
export function AgentCalls({ title, lead, calls, children }) {
  return html`<section class="card stack" aria-labelledby="agent-calls"><h2 id="agent-calls">${title}</h2><p>${lead}</p>
    <ol class="clauses">${calls.map(([what, tool], index) => html`<li><span class="n">${index + 1}</span><div><div>${what}</div>${tool ? html`<span class="quiet">tool <code>${tool}</code></span>` : null}</div></li>`)}</ol>
    ${children}
    <p class="quiet">An agent does this with its own key, by these tools or the same calls of the API. <a href="/docs">API docs</a></p></section>`;
}
