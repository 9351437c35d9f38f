// What happened that the owner must know: keeper changes, recoveries, money at cost, cases against an account.

import { get, pages } from "../app/api.js";
import { clock, words } from "../app/format.js";
import { useOwnerEvents } from "../app/live.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Badge, Empty, Hash, html, PageHead, Time } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").AlertView} AlertView
 * @typedef {import("../app/answers.js").LockNotice} LockNotice
 */

export default function Alerts() {
  const heard = useOwnerEvents();
  const found = useResource(
    (stop) =>
      pages("/mandate-wallet/me/alerts", "alerts", { query: { limit: 100 }, most: 1_000, stop }),
    [],
    { again: [heard.value] },
  );
  const inbox = useResource((stop) => get("/me/notices", {}, stop), []);
  return html`<${PageHead} title="Alerts" lead="What you should know, newest first. Nothing here is deleted; what no longer holds says so." />
    <${Read} of=${inbox} what="the notices">${(
      /** @type {{notices: LockNotice[]}} */ { notices },
    ) =>
      notices.length > 0
        ? html`<section class="card" aria-labelledby="notices"><h2 id="notices">Notices to your account</h2><ul class="list">${notices.map((one) => html`<${AccountNotice} key=${one.id} one=${one} />`)}</ul></section>`
        : null}<//>
    <${Read} of=${found} what="the alerts">${(/** @type {{rows: AlertView[]}} */ data) => html`
      ${
        data.rows.length === 0
          ? html`<${Empty} title="No alert"><p class="quiet">When a keeper or a role changes, money goes where it counts at cost, or somebody recovers one of your agents, it is said here.</p><//>`
          : html`<ul class="list card">${data.rows.map((one) => html`<${Alert} key=${one.id} one=${one} />`)}</ul>`
      }`}<//>`;
}

/** @param {{one: LockNotice}} props an account that was locked, and until when its owner may answer */
function AccountNotice({ one }) {
  return html`<li class="stack tight"><div class="row"><${Badge} tone=${one.case_status === "open" ? "attention" : ""}>${words(one.kind)}<//><strong>${words(one.rule)}</strong><span class="grow"></span><span class="quiet"><${Time} at=${one.created_at} /></span></div>
    <p>Account ${one.user_id}, case <code>${one.case}</code>, ${one.case_status}; to be answered by ${clock(one.deadline)}.</p></li>`;
}

/** @param {{one: AlertView}} props */
function Alert({ one }) {
  return html`<li class="stack tight"><div class="row"><${Badge} tone=${one.withdrawn_at ? "" : "attention"}>${words(one.kind)}<//>${one.withdrawn_at ? html`<span class="quiet">ended <${Time} at=${one.withdrawn_at} /></span>` : null}<span class="grow"></span><span class="quiet"><${Time} at=${one.at} /></span></div>
    <p>${one.message ?? words(one.event)}</p>${one.next_step ? html`<p class="quiet">${one.next_step}</p>` : null}
    <div class="row">${one.next_step?.includes(" /agents/") ? html`<a class="button" href=${link("agents", "mine")}>See your agents</a>` : null}${one.mandate_id ? html`<a class="button" href=${link("mandates", one.mandate_id)}>Open the mandate</a>` : null}${one.tx_hash ? html`<${Hash} value=${one.tx_hash} label="the transaction" />` : null}</div></li>`;
}
