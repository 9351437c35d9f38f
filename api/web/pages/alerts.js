// What happened that the owner must know: keeper changes, recoveries, money at cost, cases against an account.

import { get, pages } from "../app/api.js";
import { isAway, putAway } from "../app/away.js";
import { clock, counted, shortened, words } from "../app/format.js";
import { useOwnerEvents } from "../app/live.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Badge, Empty, Hash, html, now, PageHead, Time } from "../app/ui.js";
import { AgentDeeds } from "./agent_secrets.js";

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
  return html`<${PageHead} title="Alerts" lead="What you should know, newest first. Alerts are never deleted; one that no longer applies is marked as ended." />
    <${Read} of=${inbox} what="the notices">${(
      /** @type {{notices: LockNotice[]}} */ { notices },
    ) =>
      notices.length > 0
        ? html`<section class="card" aria-labelledby="notices"><h2 id="notices">Notices to your account</h2><ul class="list">${notices.map((one) => html`<${AccountNotice} key=${one.id} one=${one} />`)}</ul></section>`
        : null}<//>
    <${Read} of=${found} what="the alerts">${(/** @type {{rows: AlertView[]}} */ data) => html`
      ${
        data.rows.length === 0
          ? html`<${Empty} title="Nothing needs your attention"><p class="quiet">An alert appears here if a keeper or a role changes, money leaves for a place that is only valued at cost, or one of your agents is recovered.</p><div class="row"><a class="button" href=${link("mandates")}>See your mandates</a></div><//>`
          : html`<${Listed} rows=${data.rows} onDone=${found.reload} />`
      }`}<//>`;
}

/** @param {{rows: AlertView[], onDone: () => Promise<void>}} props those that were put away are last, behind a line */
function Listed({ rows, onDone }) {
  const away = rows.filter((one) => isAway(one.id));
  const shown = rows.filter((one) => !isAway(one.id));
  const list = (/** @type {AlertView[]} */ some, /** @type {boolean} */ areAway) =>
    html`<ul class="list card">${some.map((one) => html`<${Alert} key=${one.id} one=${one} isAway=${areAway} onDone=${onDone} />`)}</ul>`;
  return html`${shown.length > 0 ? list(shown, false) : html`<p class="quiet">● Nothing here that you have not put away.</p>`}
    ${away.length > 0 ? html`<details><summary>${counted(away.length, "alert")} put away</summary>${list(away, true)}</details>` : null}`;
}

/** @param {{one: LockNotice}} props an account that was locked, and until when its owner may answer */
function AccountNotice({ one }) {
  return html`<li class="stack tight"><div class="row"><${Badge} tone=${one.case_status === "open" ? "attention" : ""}>${words(one.kind)}<//><strong>${words(one.rule)}</strong><span class="grow"></span><span class="quiet"><${Time} at=${one.created_at} /></span></div>
    <p>Account ${one.user_id}, case <code>${one.case}</code>, ${one.case_status}; to be answered by ${clock(one.deadline)}.</p></li>`;
}

/** What to do about an alert, by its kind, in the page's words. */
const NEXT =
  /** @type {Readonly<Record<string, {text: string, deeds?: readonly import("./agent_secrets.js").Deed[]}>>} */ ({
    record_held: {
      text: "Nothing has to be done: the facts are taken later, and this alert ends. To get out meanwhile, stop, close and withdraw work as always.",
    },
    money_at_cost: {
      text: "The mandate's page says how much is out. If that is not what you want, stop the mandate there.",
    },
    keeper_change: { text: "If you do not expect this change, stop your mandates and withdraw." },
    hl_key_lost: {
      text: "Approve the agent's address again at the venue; this alert then ends. Or close the positions there yourself.",
    },
    agent_wallet_linked: {
      text: "If the wallet is the agent's, nothing has to be done; confirming it ends the wait. If it is not, replace the agent's secrets before it is paid; afterwards, unlink the wallet.",
      deeds: ["confirm", "rotate", "unlink"],
    },
    agent_recovered: {
      text: "If it was you or your agent, nothing has to be done. If not, undo it.",
      deeds: ["undo"],
    },
  });

/** @param {{one: AlertView, isAway: boolean, onDone: () => Promise<void>}} props one line until it is opened */
function Alert({ one, isAway, onDone }) {
  const next = NEXT[one.kind];
  const [agent, address] = [one.args?.user_id, one.args?.wallet_address];
  const isPayable = Date.parse(String(one.args?.wallet_payable_at ?? "")) <= now.value;
  // a wallet that is paid already can only be unlinked; one that waits goes with the secrets
  const deeds = (next?.deeds ?? []).filter(
    (deed) => deed === "undo" || (deed === "unlink") === isPayable,
  );
  return html`<li><details class="alert"><summary class="row"><${Badge} tone=${one.withdrawn_at ? "" : "attention"}>${words(one.kind)}<//><span class="grow cut">${shortened(one.message ?? words(one.event))}</span>${one.withdrawn_at ? html`<span class="quiet">ended</span>` : null}<span class="quiet"><${Time} at=${one.at} /></span></summary>
    <div class="stack tight"><p>${one.message ?? words(one.event)}</p>${next ? html`<p class="quiet">${next.text}</p>` : null}
    ${deeds.length > 0 && agent !== undefined && !one.withdrawn_at ? html`<${AgentDeeds} id=${String(agent)} address=${typeof address === "string" ? address : null} deeds=${deeds} onDone=${onDone} />` : null}
    <div class="row">${agent === undefined ? null : html`<a class="button" href=${link("agents", "mine")}>See your agents</a>`}${one.mandate_id ? html`<a class="button" href=${link("mandates", one.mandate_id)}>Open the mandate</a>` : null}${one.tx_hash ? html`<${Hash} value=${one.tx_hash} label="the transaction" />` : null}
      <button type="button" class="plain" onClick=${() => putAway(one.id, !isAway)}>${isAway ? "Bring back" : "Put away"}</button></div></div></details></li>`;
}
