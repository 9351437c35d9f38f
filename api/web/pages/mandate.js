// What is it doing, and what may it still do?

import { get } from "../app/api.js";
import { amountText, clock, cut, thousandths, units, words } from "../app/format.js";
import { useMandateEvents } from "../app/live.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { explorer } from "../app/session.js";
import { changed } from "../app/transaction_card.js";
import {
  Amount,
  Badge,
  Figure,
  Hash,
  html,
  Notice,
  PageHead,
  Status,
  Time,
  Unknown,
} from "../app/ui.js";
import { Actions } from "./actions.js";
import Approvals from "./approvals.js";
import { Clauses } from "./clauses.js";
import { Draft } from "./draft.js";
import Record, { StepList } from "./record.js";
import { WorthChart } from "./worth_chart.js";

/**
 * @typedef {import("../app/answers.js").LimitFigure} LimitFigure
 * @typedef {import("../app/answers.js").MandateProgress} MandateProgress
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 */

const PARTS = /** @type {const} */ ([
  ["", "Overview"],
  ["record", "Record"],
  ["approvals", "Approvals"],
]);

/** @param {{id: string, part: string}} props */
export default function Mandate({ id, part }) {
  const heard = useMandateEvents(id);
  const found = useResource(
    (stop) => get(`/mandate-wallet/mandates/${encodeURIComponent(id)}`, undefined, stop),
    [id],
    { again: [changed.value, heard.value] },
  );
  return html`<${Read} of=${found} what="the mandate">${(/** @type {WholeMandate} */ data) => html`<${Shown} data=${data} part=${part} reload=${found.reload} />`}<//>`;
}

/** @param {{data: WholeMandate, part: string, reload: () => Promise<void>}} props */
function Shown({ data, part, reload }) {
  const { mandate } = data;
  const id = mandate.public_id;
  const isDraft = mandate.status === "draft";
  return html`<${PageHead} title=${cut(mandate.purpose, 100)} lead=${html`<${Status} status=${mandate.status} paused=${mandate.paused} /> ${mandate.market_mode === "paper" ? html`<${Badge}>paper: no money, no vault<//> ` : ""}${data.card_header.who.text_en}`} />
    ${mandate.data_issue ? html`<${Notice} tone="attention" title="Some figures may be wrong"><p>${mandate.data_issue_reason ?? "The record is short."} Stop, unwind and withdraw work as always.</p><//>` : null}
    ${
      isDraft
        ? html`<${Draft} data=${data} reload=${reload} />`
        : data.simulated
          ? html`<${Overview} data=${data} reload=${reload} />`
          : html`<nav class="row" aria-label="Parts of the mandate">${PARTS.map(
              ([name, label]) =>
                html`<a class="button" href=${name ? link("mandates", id, name) : link("mandates", id)} aria-current=${name === part ? "page" : undefined}>${label}</a>`,
            )}<a class="button" href=${`${link("statements")}?mandate=${id}`}>Statements</a></nav>
        ${part === "record" ? html`<${Record} id=${id} mandate=${mandate} />` : part === "approvals" ? html`<${Approvals} id=${id} mandate=${mandate} />` : html`<${Overview} data=${data} reload=${reload} />`}`
    }`;
}

/** @param {{data: WholeMandate, reload: () => Promise<void>}} props */
function Overview({ data, reload }) {
  const { mandate, progress } = data;
  const isOver = !["signed", "working"].includes(mandate.status);
  return html`${data.simulated ? html`<${Notice} title="A simulated mandate, to look at"><p>Its figures are made up and nothing of it is on a chain. An owner has buttons here: pause, stop, close all, withdraw.</p><//>` : html`<${Actions} data=${data} reload=${reload} />`}
    <section class="card figures" aria-label="What it is worth and may do">
      <${Figure} label="Worth" note=${isOver && progress.positions.length > 0 ? "estimate, with positions that are still open" : `estimate${WORTH_FROM[progress.worth_source] ?? ""}`}><${Amount} value=${progress.worth_est} why=${progress.data_issue_reason} /><//>
      <${Figure} label="Result after fees" note=${progress.fees.net_after_fees_est.pct === null ? "estimate" : `${progress.fees.net_after_fees_est.pct} %, estimate`}><${Amount} value=${progress.fees.net_after_fees_est.value} signed /><//>
      <${Window} limits=${data.limits} />
      <${Limit} label="Largest next action" figure=${data.limits.used.per_action_max} />
    </section>
    <div class="two">
      <div class="stack">
        <section class="card" aria-labelledby="worth"><h2 id="worth">Worth over time</h2><${WorthChart} id=${mandate.public_id} data=${data} /></section>
        <section class="card" aria-labelledby="steps"><div class="head"><h2 id="steps">Newest steps</h2>${data.simulated ? null : html`<a href=${link("mandates", mandate.public_id, "record")}>Whole record</a>`}</div>
          <${StepList} steps=${data.steps.slice(0, 8)} isSimulated=${data.simulated ?? false} /></section>
      </div>
      <div class="stack">
        <${StopLine} mandate=${mandate} progress=${progress} />
        <${Positions} progress=${progress} isOver=${isOver} isSimulated=${data.simulated ?? false} />
        <${Clauses} clauses=${data.clauses} title="What you signed" isPaper=${mandate.market_mode === "paper"} />
        <${Facts} data=${data} />
      </div>
    </div>`;
}

/** What a worth was measured by; nothing, where it is unknown. */
const WORTH_FROM = /** @type {Readonly<Record<string, string>>} */ ({
  chain: ", as the vault measures it now",
  chain_mark: ", as the vault last measured it",
  agent_mark: ", as the agent reports it",
  cash: ", cash alone",
  cost: ", positions at cost",
});

const BASIS = /** @type {Readonly<Record<string, string>>} */ ({
  mandate_not_working: "the mandate is not working",
  daily_cap_rolling_24h: "by the cap per 24 hours",
  per_tx_cap: "by the cap per action",
  budget: "by the budget",
});

/** @param {LimitFigure} figure what bounds it, or why it is unknown */
function basisOf({ basis }) {
  return BASIS[basis] ?? words(basis);
}

/** @param {{label: string, figure: LimitFigure}} props */
function Limit({ label, figure }) {
  // known, and not a number: who may not act has nothing left
  const isOver = ["mandate_not_working", "mandate_ended"].includes(figure.basis);
  return html`<${Figure} label=${label} note=${basisOf(figure)}>${isOver ? "–" : html`<${Amount} value=${figure.value} why=${basisOf(figure)} />`}<//>`;
}

/** The rolling 24 hours: how much of their cap is used, and when some of it frees. @param {{limits: WholeMandate["limits"]}} props */
function Window({ limits: { allowed, used } }) {
  const cap = units(allowed.daily_cap_usdc);
  const left = units(used.left_today.value);
  const frees = used.window_frees_at.value;
  if (cap === null || left === null || used.left_today.basis !== "daily_cap_rolling_24h")
    return html`<${Limit} label="Left in these 24 hours" figure=${used.left_today} />`;
  const taken = amountText(cap - left);
  const note = html`<div class="meter" role="img" aria-label=${`${taken} of ${allowed.daily_cap_usdc} USDC used in the last 24 hours`}><i style=${`width:${thousandths(taken, allowed.daily_cap_usdc) / 10}%`}></i></div>
    <${Amount} value=${taken} unit=${false} /> of <${Amount} value=${allowed.daily_cap_usdc} unit=${false} /> used${frees ? html`; frees from ${clock(frees).slice(11, 16)} UTC on, <${Time} at=${frees} />` : ""}`;
  return html`<${Figure} label="Left in these 24 hours" note=${note}><${Amount} value=${used.left_today.value} /><//>`;
}

/** @param {{mandate: MandateView, progress: MandateProgress}} props */
function StopLine({ mandate, progress }) {
  const most =
    (units(progress.worth_est) ?? 0n) > (units(mandate.budget_usdc) ?? 0n)
      ? progress.worth_est
      : mandate.budget_usdc;
  return html`<section class="card" aria-labelledby="line"><h2 id="line">Stop line</h2><div class="stack tight">
    <div class="meter" role="img" aria-label=${`worth ${progress.worth_est ?? "unknown"}, stop line ${mandate.stop_floor_usdc}`}>
      <i style=${`width:${thousandths(progress.worth_est, most) / 10}%`}></i><b style=${`left:${thousandths(mandate.stop_floor_usdc, most) / 10}%`}></b></div>
    <dl class="pairs"><dt>Stops at</dt><dd><${Amount} value=${mandate.stop_floor_usdc} /> or less</dd>
      <dt>If you left now</dt><dd><${Amount} value=${progress.leave_now_est} why="Nobody knows what leaving the open positions costs." /></dd>
      <dt>Ends</dt><dd>${mandate.ends_at ? html`<${Time} at=${mandate.ends_at} /> <div class="quiet">${clock(mandate.ends_at)}</div>` : html`<${Unknown} />`}</dd></dl>
    ${(units(progress.not_returned) ?? 0n) > 0n ? html`<p class="attention">▲ <${Amount} value=${progress.not_returned} /> never came back from where no adapter values it. It counts as nothing.</p>` : null}
    ${(units(progress.at_cost) ?? 0n) > 0n ? html`<p class="attention">▲ <${Amount} value=${progress.at_cost} /> is out where no adapter values it. It counts at cost: a loss there stops nothing before the money comes back.</p>` : null}
  </div></section>`;
}

/** @param {{progress: MandateProgress, isOver: boolean, isSimulated: boolean}} props */
function Positions({ progress, isOver, isSimulated }) {
  if (progress.positions.length === 0) return null;
  return html`<section class="card" aria-labelledby="positions"><h2 id="positions">Open positions</h2>${isOver ? html`<p class="attention">▲ The mandate is over, and this has not come back. It counts in the worth above; what you can withdraw is what the vault holds.</p>` : null}<ul class="list">${progress.positions.map(
    (
      one,
    ) => html`<li key=${one.id}><div class="head"><span>${cut(one.name ?? one.id, 80)}</span><${Amount} value=${one.worth_source === "unseen" ? null : (one.worth_est ?? one.cost_usdc)} why="The chain has not shown it." /></div>
      <p class="quiet">${isSimulated ? "simulated" : one.source === "chain" ? "seen on the chain" : "as the agent reported"}${one.worth_source === "unseen" ? "; not seen on the chain, counts as nothing" : one.worth_source === "cost" ? ", at cost" : ""}</p></li>`,
  )}</ul></section>`;
}

/** @param {{data: WholeMandate}} props */
function Facts({ data }) {
  const { mandate, limits, terms_status: terms } = data;
  const vault = mandate.vault_address;
  const at = vault ? explorer("address", vault) : null;
  return html`<section class="card" aria-labelledby="facts"><h2 id="facts">Facts</h2><dl class="pairs">
    <dt>Vault</dt><dd>${vault ? (at ? html`<a href=${at} rel="noreferrer"><code>${vault}</code></a>` : html`<${Hash} value=${vault} label="the vault" />`) : "none"}</dd>
    <dt>Terms</dt><dd>${data.simulated ? "simulated; nobody signed them" : terms?.signed ? (terms.digest_matches && terms.signer_matches ? "● signed; the signature matches" : "▲ signed; the signature does not match what is stored") : "not signed"}</dd>
    <dt>Attempts refused on chain</dt><dd>${limits.breaches.reverts.count ?? html`<${Unknown} />`} ${limits.breaches.reverts.not_seen ? html`<details class="quiet"><summary>What this cannot see</summary>${limits.breaches.reverts.not_seen}</details>` : null}</dd>
    <dt>Reports against the rules</dt><dd>${limits.breaches.violations.count ?? html`<${Unknown} />`}</dd>
    <dt>What it is for</dt><dd>${mandate.purpose}</dd>
    <dt>Id</dt><dd><code>${mandate.public_id}</code></dd></dl></section>`;
}
