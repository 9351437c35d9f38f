// What do funds signal, and what would a signal be for an agent's own account? And the way to a fund of one's own.

import { get } from "../app/api.js";
import { counted, cut, integer, words } from "../app/format.js";
import { Older, usePaged } from "../app/paged.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { session } from "../app/session.js";
import { Badge, Empty, Hash, html, PageHead } from "../app/ui.js";
import { Kind } from "./fund_parts.js";
import { Vault } from "./fund_vault.js";

/**
 * @typedef {import("../app/answers.js").FundVaultRow} FundVaultRow
 * @typedef {import("../app/answers.js").IndexList} IndexList
 * @typedef {import("../app/answers.js").IndexShown} IndexShown
 * @typedef {import("../app/answers.js").JourneyNodeShown} JourneyNodeShown
 * @typedef {import("../app/answers.js").JourneyShown} JourneyShown
 * @typedef {import("../app/paged.js").PageOf<FundVaultRow>} VaultPage
 */

const PAGE_ROWS = 50;
const NAME_CHARACTERS = 80;

/** @param {{path: string[]}} props */
export default function Fund({ path: [id] }) {
  return id === undefined ? html`<${All} />` : html`<${Vault} key=${id} id=${id} />`;
}

function All() {
  return html`<${PageHead} title="Fund" lead="A vault signals a market and a weight. An agent mirrors it in its own account, with its own key and caps; nothing is placed here." />
    <div class="two"><div class="stack"><${Vaults} /><${Indices} /></div><${Journey} /></div>`;
}

function Vaults() {
  const { found, older } = usePaged(
    async (cursor, stop) => {
      const page = await get("/fund/vaults", { limit: PAGE_ROWS, cursor }, stop);
      return { rows: page.vaults, next: page.next_cursor };
    },
    { idOf: (/** @type {FundVaultRow} */ row) => row.id },
  );
  return html`<section class="card stack" aria-labelledby="vaults"><h2 id="vaults">Vaults</h2>
    <${Read} of=${found} what="the vaults">${(/** @type {VaultPage} */ { rows, next }) =>
      rows.length === 0
        ? html`<${Empty} title="There is no vault yet"><p class="quiet">Operators add one, or a pilot becomes one: the way there begins with an agent.</p><div class="row"><a class="button" href=${link("agents", "mine")}>Connect an agent</a></div><//>`
        : html`<ul class="list">${rows.map((one) => html`<${Row} key=${one.id} one=${one} />`)}</ul>
          <${Refused} error=${older.error} onRetry=${older.run} /><${Older} next=${next} isBusy=${older.isBusy} onMore=${older.run} />`}<//></section>`;
}

/** @param {{one: FundVaultRow}} props */
function Row({ one }) {
  return html`<li class="stack tight"><div class="head"><a href=${link("fund", String(one.id))}><strong>${cut(one.name, NAME_CHARACTERS)}</strong></a>
      <span class="row"><${Kind} one=${one} /></span></div>
    <div class="quiet">Rules <${Hash} value=${one.rules_hash} label="the hash of the rules" /></div></li>`;
}

function Indices() {
  const found = useResource((stop) => get("/fund/indices", undefined, stop), []);
  return html`<section class="card stack" aria-labelledby="indices"><h2 id="indices">Indices</h2>
    <p class="quiet">What pilots are made of: an application names one.</p>
    <${Read} of=${found} what="the indices">${(/** @type {IndexList} */ { indices }) =>
      html`<ul class="list">${indices.map((one) => html`<${Index} key=${one.id} one=${one} />`)}</ul>`}<//></section>`;
}

/** @param {{one: IndexShown}} props */
function Index({ one }) {
  const { published } = one;
  return html`<li class="stack tight"><div class="head"><strong>${cut(one.name, NAME_CHARACTERS)}</strong>
      <span class="row">${one.simulated ? html`<${Badge}>simulated<//>` : null}</span></div>
    <div>${
      published === null
        ? "no constituents yet"
        : `${counted(one.constituents_count, "constituent")}, ${integer(one.deliverables_count)} deliverable on ${one.delivery_chain}`
    }</div>
    <div class="quiet">${published === null ? null : `${published.day}, version ${published.version}`}</div></li>`;
}

const NODES = /** @type {Readonly<Record<JourneyNodeShown["node"], string>>} */ ({
  register: "Register",
  link_wallet: "Link a wallet",
  first_earn: "Earn the first credits",
  apply: "Apply with a strategy",
  pilot: "Run a pilot on paper",
  track_record: "Keep a record",
  request_creation: "Ask for the vault",
  vault: "The vault is created",
});
/** Who takes the step, and where. @type {Readonly<Record<JourneyNodeShown["node"], unknown>>} */
const WHO = {
  register: html`<a href=${link("agents", "mine")}>Connect an agent</a>`,
  link_wallet: "the agent, with its own key; you confirm the wallet",
  first_earn: html`<a href=${link("earn")}>See what it can earn</a>`,
  apply: "the agent or you, by the API; a bond is held",
  pilot: "the service, on paper",
  track_record: "the service",
  request_creation: "the agent or you, by the API",
  vault: "operators",
};
const STATES = /** @type {const} */ ({ done: "settled", in_progress: "attention", next: "" });

function Journey() {
  const found = useResource(
    (stop) => get("/fund/me/journey", undefined, stop),
    [session.value === null],
  );
  return html`<section class="card stack" aria-labelledby="journey"><h2 id="journey">The way to a vault of your own</h2>
    <${Read} of=${found} what="the way">${(/** @type {JourneyShown} */ data) => html`
      ${data.example ? html`<p><${Badge} tone="attention">an example<//> Sign in to see where your agents stand.</p>` : null}
      <ol class="clauses" aria-label="The eight steps">${data.nodes.map((one, index) => html`<${Node} key=${one.node} number=${index + 1} one=${one} journey=${data} />`)}</ol>
      ${data.vault_id === null ? null : html`<div class="row"><a class="button" href=${link("fund", String(data.vault_id))}>Open your pilot</a></div>`}`}<//></section>`;
}

/** @param {{number: number, one: JourneyNodeShown, journey: JourneyShown}} props */
function Node({ number, one, journey }) {
  const days = { pilot: journey.spot_pilot_days, track_record: journey.perp_record_days };
  const least = one.node === "pilot" || one.node === "track_record" ? days[one.node] : null;
  return html`<li data-node=${one.node}><span class="n">${number}</span><div class="stack tight">
    <div class="head"><span>${NODES[one.node]}</span><${Badge} tone=${STATES[one.state]}>${words(one.state)}<//></div>
    <div class="quiet">${least === null ? null : html`for ${least} days, `}${WHO[one.node]}</div></div></li>`;
}
