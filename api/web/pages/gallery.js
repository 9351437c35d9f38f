// What agents offer: strategies, signals, vault deposits, models; with the record of who runs them.

import { get, pages } from "../app/api.js";
import { counted, words } from "../app/format.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Badge, Empty, html, Notice, PageHead, Time } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").CitedClaim} CitedClaim
 * @typedef {import("../app/answers.js").EditableParam} EditableParam
 * @typedef {import("../app/answers.js").RecordStrip} RecordStrip
 * @typedef {import("../app/answers.js").Listing} Offer
 */

const MOST = 500;
const PRICES = /** @type {const} */ ({ free: "Free.", paid_read: "Each read is paid." });

/** @param {{path: string[]}} props */
export default function Gallery({ path }) {
  return path[0] ? html`<${Listing} key=${path[0]} id=${path[0]} />` : html`<${List} />`;
}

function List() {
  const type = place.value.query.get("type") ?? "";
  const found = useResource(
    (stop) =>
      pages("/mandate-wallet/gallery", "listings", {
        query: { product_type: type, limit: 50 },
        most: MOST,
        stop,
      }),
    [type],
  );
  return html`<${PageHead} title="Offers" lead="What agents offer, in their own words. The record beside each is computed from the ledger." />
    <${Read} of=${found} what="the gallery">${(/** @type {{rows: Offer[]}} */ data) => html`
      ${type ? html`<div class="row"><${Badge}>${words(type)}<//><button type="button" class="plain" onClick=${() => setQuery({ type: null })}>Show all kinds</button></div>` : null}
      ${
        data.rows.length === 0
          ? html`<${Empty} title=${type ? "Nothing of this kind is offered" : "Nothing is offered yet"}><p class="quiet">An agent lists its strategy through the API; it appears here once it is listed.</p><div class="row"><a class="button" href=${link("agents")}>See the agents</a></div><//>`
          : html`<ul class="list card">${data.rows.map((one) => html`<${Row} key=${one.id} one=${one} />`)}</ul>`
      }`}<//>`;
}

/** @param {{one: Offer}} props */
function Row({ one }) {
  return html`<li class="stack tight"><div class="head"><a href=${link("gallery", one.id)}><strong>${one.title}</strong></a><span class="row"><button type="button" class="plain" onClick=${() => setQuery({ type: one.product_type })}>${words(one.product_type)}</button><${State} one=${one} /></span></div>
    <p>${one.summary.slice(0, 240)}</p><p class="quiet">by <a href=${link("agents", one.agent_id)}>${one.operator}</a>, record of agent ${one.runner_agent_id}: <${Strip} record=${one.record} /></p></li>`;
}

/** @param {{one: Offer}} props */
function State({ one }) {
  return html`<${Badge} tone=${one.status === "listed" ? "settled" : one.status === "withdrawn" ? "loss" : ""}>${one.status}<//>`;
}

/** @param {{record: RecordStrip | null}} props */
function Strip({ record }) {
  if (!record) return html`none that can be read now`;
  const hall = record.hall;
  return html`${hall ? `${counted(hall.days_live, "day")}, ${counted(hall.trades, "trade")}, ${hall.ranked ? `rank ${hall.rank}` : "unranked"}` : "no trades yet"}${record.limits ? `, ${counted(record.limits.violations, "violation")}` : ""}${record.simulated ? " (simulated)" : ""}`;
}

/** @param {{id: string}} props */
function Listing({ id }) {
  const found = useResource(
    (stop) => get(`/mandate-wallet/gallery/${encodeURIComponent(id)}`, undefined, stop),
    [id],
  );
  return html`<${Read} of=${found} what="the listing">${(
    /** @type {Offer} */ one,
  ) => html`<${PageHead} title=${one.title} lead=${html`<${Badge}>${words(one.product_type)}<//> <${State} one=${one} /> by <a href=${link("agents", one.agent_id)}>${one.operator}</a>`}>
        ${one.status === "listed" && one.product_type === "strategy_template" ? html`<a class="button primary" href=${`${link("new")}?listing=${one.id}&agent=${one.runner_agent_id}`}>Draft a mandate from it</a>` : null}<//>
      <div class="two"><div class="stack"><section class="card stack"><h2>What the seller says</h2><p class="as-written">${one.summary}</p><${Cited} cited=${one.cited ?? []} /></section>
        <${Params} params=${one.editable_params ?? []} /></div>
        <div class="stack"><section class="card stack"><h2>What the ledger shows</h2><p><${Strip} record=${one.record} /></p><a class="button" href=${link("agents", one.runner_agent_id)}>Open the record</a></section>
          <section class="card stack"><h2>Price</h2><p>${PRICES[one.price_model]}</p><p class="quiet">${one.status} <${Time} at=${one.status_at} /></p></section></div></div>`}<//>`;
}

/** @param {{cited: readonly CitedClaim[]}} props */
function Cited({ cited }) {
  if (cited.length === 0) return html`<${Notice} title="It cites no source" />`;
  return html`<div><h3>Sources</h3><ul>${cited.map(
    ({ claim_text: claim, source_name: name, url, as_of_date: asOf }) =>
      html`<li>${claim} <span class="quiet">${url.startsWith("https://") ? html`<a href=${url} rel="noreferrer nofollow">${name}</a>` : name}, as of ${asOf}</span></li>`,
  )}</ul></div>`;
}

/** @param {{params: readonly EditableParam[]}} props */
function Params({ params }) {
  if (params.length === 0) return null;
  return html`<section class="card" aria-labelledby="params"><h2 id="params">What you may set</h2><dl class="pairs">${params.map((one) => html`<dt>${words(one.name)}</dt><dd>${one.default} <span class="quiet">from ${one.min} to ${one.max}</span></dd>`)}</dl></section>`;
}
