// Actions above the owner's threshold: listed, and waiting for nobody.

import { get } from "../app/api.js";
import { shortHash, words } from "../app/format.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Amount, Badge, Empty, html, Notice, Time } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").Approvals} Listed
 */

/** @param {{id: string, mandate: MandateView}} props */
export default function Approvals({ id, mandate }) {
  const found = useResource(
    (stop) => get(`/mandate-wallet/mandates/${id}/approvals`, undefined, stop),
    [id],
    { again: [mandate] },
  );
  const above = mandate.approval_above_usdc;
  return html`<section class="stack" aria-label="Approvals">
    ${
      above === null
        ? null
        : html`<${Notice} title="Nothing here waits for your answer"><p>The agent reported these actions above your threshold of <${Amount} value=${above} />. If you do not agree with one, pause or stop the mandate.</p>
      <div class="row"><a class="button" href=${link("mandates", id)}>Open the mandate</a></div><//>`
    }
    <${Read} of=${found} what="the approvals">${(/** @type {Listed} */ data) =>
      data.items.length === 0
        ? html`<${Empty} title="No action was above your threshold"><p class="quiet">${above === null ? "This mandate has no threshold." : "When the agent reports one, it is listed here and under “Needs you”."}</p><//>`
        : html`<div class="card"><ul class="list">${data.items.map(
            (
              item,
            ) => html`<li class="row" key=${item.id}><${Badge} tone=${item.status === "pending" ? "attention" : ""}>${item.status === "pending" ? "above your threshold" : words(item.status)}<//><span class="grow"><${Amount} value=${item.amount_usdc} /></span>
              ${item.tx_hash ? html`<code title=${item.tx_hash}>${shortHash(item.tx_hash)}</code>` : html`<span class="quiet">no transaction</span>`}<span class="quiet"><${Time} at=${item.at} /></span></li>`,
          )}</ul></div>`}<//></section>`;
}
