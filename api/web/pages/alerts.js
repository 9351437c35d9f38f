// What happened that the owner must know: keeper changes, recoveries, stops that are off, cases against an account.

import { get, pages } from "../app/api.js";
import { words } from "../app/format.js";
import { useOwnerEvents } from "../app/live.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Badge, Empty, Hash, html, PageHead, Time } from "../app/ui.js";

export default function Alerts() {
  const heard = useOwnerEvents();
  const found = useResource(
    async (stop) => {
      const [alerts, notices] = await Promise.all([
        pages("/mandate-wallet/me/alerts", "alerts", { limit: 100 }, 1_000),
        get("/me/notices", undefined, stop).catch(() => null),
      ]);
      return { alerts: alerts.rows, notices: notices?.notices ?? null };
    },
    [],
    { again: [heard.value] },
  );
  return html`<${PageHead} title="Alerts" lead="What you should know, newest first. Nothing here is deleted; what no longer holds says so." />
    <${Read} of=${found} what="the alerts">${(/** @type {any} */ data) => html`
      ${data.notices?.length ? html`<section class="card" aria-labelledby="notices"><h2 id="notices">Notices to your account</h2><ul class="list">${data.notices.map((/** @type {any} */ one) => html`<li><strong>${one.title ?? words(one.rule ?? one.kind)}</strong><p>${one.text ?? one.message}</p></li>`)}</ul></section>` : null}
      ${
        data.alerts.length === 0
          ? html`<${Empty} title="No alert"><p class="quiet">When a keeper or a role changes, a stop cannot work by worth, or somebody recovers one of your agents, it is said here.</p><//>`
          : html`<ul class="list card">${data.alerts.map((/** @type {any} */ one) => html`<${Alert} key=${one.id} one=${one} />`)}</ul>`
      }`}<//>`;
}

/** @param {{one: any}} props */
function Alert({ one }) {
  return html`<li class="stack tight"><div class="row"><${Badge} tone=${one.withdrawn_at ? "" : "attention"}>${words(one.kind)}<//>${one.withdrawn_at ? html`<span class="quiet">no longer holds since <${Time} at=${one.withdrawn_at} /></span>` : null}<span style="flex:1"></span><span class="quiet"><${Time} at=${one.at} /></span></div>
    <p>${one.message ?? words(one.event)}</p>${one.next_step ? html`<p class="quiet">${one.next_step}</p>` : null}
    <div class="row">${one.mandate_id ? html`<a class="button" href=${link("mandates", one.mandate_id)}>Open the mandate</a>` : null}${one.tx_hash ? html`<${Hash} value=${one.tx_hash} label="the transaction" />` : null}</div></li>`;
}
