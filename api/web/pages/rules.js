// What a mandate enforces, by whom, and what this service costs and limits.

import { get } from "../app/api.js";
import { integer, words } from "../app/format.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { Amount, Badge, html, PageHead, Time } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").Defense} Defense
 * @typedef {import("../app/answers.js").PriceList} PriceList
 * @typedef {import("../app/answers.js").ServiceDocument} ServiceDocument
 */

/** Who holds what, in the words of docs/contracts.md. */
const RULES = /** @type {const} */ ([
  [
    "Only the owner withdraws",
    "contract",
    "The agent's key can never move money out to an address of its choice; no key of this service can either.",
  ],
  [
    "Cap per action and per 24 hours",
    "contract",
    "Counted by what leaves the vault in any 24 hours. What comes back does not give the day back.",
  ],
  [
    "Allowed targets",
    "contract",
    "The vault calls only functions that the owner signed, and where it is pinned, only with the vault as the receiver.",
  ],
  [
    "Stop line",
    "contract",
    "The vault measures what the mandate is worth. At or below the line it stops in that transaction, whether the keeper or anyone else asked it to. Money where no adapter values it counts at cost.",
  ],
  [
    "End date",
    "contract",
    "From that second on the agent can do nothing. For one day its fee is settled first, then you withdraw even without a stop.",
  ],
  [
    "Paid reads",
    "relay guard",
    "A payment for a page needs a second signature of the service, within the vault's caps.",
  ],
  [
    "Approval threshold, what happens at the stop line",
    "nobody yet",
    "Stored and shown with the terms; nothing acts on them.",
  ],
]);

export default function Rules() {
  const found = useResource(
    async (stop) => {
      const [prices, defense, service] = await Promise.all([
        get("/prices", undefined, stop),
        get("/public/defense", undefined, stop),
        get("/.well-known/service.json", undefined, stop),
      ]);
      return { prices, defense, service };
    },
    [],
    { everyS: 120 },
  );
  return html`<${PageHead} title="Rules" lead="What holds without trusting anybody, what needs us, and what it costs." />
    <section class="card" aria-labelledby="enforced"><h2 id="enforced">Who enforces what</h2><ul class="list">${RULES.map(([what, who, how]) => html`<li class="stack tight"><div class="head"><strong>${what}</strong><${Badge} tone=${who === "contract" ? "settled" : who === "nobody yet" ? "attention" : ""}>${who}<//></div><p class="quiet">${how}</p></li>`)}</ul></section>
    <${Read} of=${found} what="prices and limits">${(
      /** @type {{prices: PriceList, defense: Defense, service: ServiceDocument}} */ data,
    ) => html`<${Prices} prices=${data.prices} />
      <section class="card" aria-labelledby="defense"><h2 id="defense">Protection level ${data.defense.level}${data.defense.since ? html` since <${Time} at=${data.defense.since} />` : ""}</h2>
        <ul class="list">${data.defense.levels.map((one) => html`<li><${Badge} tone=${one.level === data.defense.level ? "settled" : ""}>level ${one.level}<//> ${one.says}</li>`)}</ul></section>
      <section class="card" aria-labelledby="contracts"><h2 id="contracts">Contracts on chain ${data.service.chain_id}</h2><dl class="pairs">${Object.entries(data.service.contracts).map(([name, address]) => html`<dt>${words(name)}</dt><dd><code>${address}</code></dd>`)}</dl></section>`}<//>`;
}

/** @param {{prices: PriceList}} props */
function Prices({ prices }) {
  return html`<section class="card stack" aria-labelledby="prices"><h2 id="prices">Prices</h2>
      <div class="table" tabindex="0"><table><thead><tr><th scope="col">What</th><th scope="col" class="number">Credits</th><th scope="col" class="number">USDC</th><th scope="col">Today</th></tr></thead>
        <tbody>${prices.prices.map((one) => html`<tr><td>${words(one.key)}</td><td class="number">${integer(one.credits) ?? "–"}</td><td class="number">${one.usdc === null ? "–" : html`<${Amount} exact value=${one.usdc} unit=${false} />`}</td><td>${words(one.status)}</td></tr>`)}</tbody></table></div></section>
    <section class="card stack" aria-labelledby="limits"><h2 id="limits">Limits</h2><p>${integer(prices.daily_calls.enforced)} calls per key and UTC day.</p>
      <div class="table" tabindex="0"><table><thead><tr><th scope="col">What</th><th scope="col" class="number">Most</th><th scope="col">Unit</th></tr></thead>
        <tbody>${prices.limits.map((one) => html`<tr><td>${words(one.key)}</td><td class="number">${typeof one.value === "number" ? integer(one.value) : String(one.value)}</td><td>${one.unit}</td></tr>`)}</tbody></table></div></section>`;
}
