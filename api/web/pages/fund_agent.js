// An agent's part of a vault, by its key: its consent, the live signals that it paid for, and a signal planned in its
// own account. The key stays in the page and is forgotten with it. Nothing is placed.

import { ApiRefusal, deleteByKey, getByKey, postByKey } from "../app/api.js";
import { clock, counted, sentenced, words } from "../app/format.js";
import { figure, Known, Letter } from "../app/market.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { Amount, Badge, Figure, Hash, html, Notice, Time, Unknown, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";
import { Market, SessionBadge } from "./fund_parts.js";

/**
 * @typedef {import("../app/answers.js").FundVaultRead} FundVaultRead
 * @typedef {import("../app/answers.js").OwnMirror} OwnMirror
 * @typedef {import("../app/answers.js").PlanShown} PlanShown
 * @typedef {import("../app/answers.js").SignalPage} SignalPage
 * @typedef {import("../app/answers.js").SignalShown} SignalShown
 * @typedef {import("../app/ui.js").InputOf} InputOf
 */

const EVERY_S = 30;
const PRICE_DIGITS = 7;
const SIGNAL_PATH = /\/fund\/signals\/([0-9]{1,16})$/;

/** @param {{vault: FundVaultRead}} props */
export function OfAgent({ vault }) {
  const [key, setKey] = useState("");
  const [used, setUsed] = useState("");
  return html`<section class="card stack" aria-labelledby="own"><h2 id="own">Live signals, for an agent</h2>
    <form class="stack" onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      setUsed(key.trim());
    }}><div class="field"><label for="key">The agent's key</label><input id="key" type="password" autocomplete="off" required value=${key} onInput=${(/** @type {InputOf} */ event) => setKey(event.currentTarget.value)} />
      <p class="hint">It stays in this page and is forgotten when you leave it.</p></div>
      <div class="row"><button>Show</button></div></form>
    ${used === "" ? html`<p class="quiet">A live signal costs an agent 10 credits, once, by its read or its first plan. A day later it is free for everybody.</p>` : html`<${Own} key=${used} agentKey=${used} vault=${vault} />`}</section>`;
}

/** @param {{agentKey: string, vault: FundVaultRead}} props */
function Own({ agentKey, vault }) {
  const live = useResource(
    (stop) => getByKey(`/fund/vaults/${String(vault.id)}/signals/live`, agentKey, stop),
    [agentKey],
    { everyS: EVERY_S },
  );
  const mirror = useResource(
    (stop) => getByKey(`/fund/vaults/${String(vault.id)}/mirrors/me`, agentKey, stop),
    [agentKey, vault.rules_hash],
  );
  const [plan, setPlan] = useState(/** @type {PlanShown | null} */ (null));
  const { isBusy, error, run } = useWork();
  const make = (/** @type {string | number} */ id) =>
    run(async () => {
      setPlan(null);
      const account_address = mirror.data?.account_address ?? "";
      setPlan(await postByKey(`/fund/signals/${String(id)}/plan`, agentKey, { account_address }));
      await live.reload();
    });
  const unlock = (/** @type {string} */ id) =>
    run(async () => {
      await getByKey(`/fund/signals/${id}`, agentKey);
      await live.reload();
    });
  const canPlan = mirror.data?.is_current === true && !isBusy;
  return html`<${Consent} mirror=${mirror} vault=${vault} agentKey=${agentKey} />
    <${Read} of=${live} what="the live signals">${(/** @type {SignalPage} */ data) => html`<${Live} page=${data} canPlan=${canPlan} isBusy=${isBusy} onPlan=${make} onUnlock=${unlock} />`}<//>
    <div aria-live="polite" class="stack"><${Refused} error=${error} />${plan === null ? null : html`<${Planned} plan=${plan} />`}</div>`;
}

/**
 * @param {{page: SignalPage, canPlan: boolean, isBusy: boolean, onPlan: (id: string | number) => void,
 *   onUnlock: (id: string) => void}} props
 */
function Live({ page, canPlan, isBusy, onPlan, onUnlock }) {
  const locked = page.locked_count ?? 0;
  const next = lockedSignal(page);
  const price = Number(page.payment_required?.credits ?? 0);
  return html`<div class="stack tight"><h3>Live now</h3>
    ${page.signals.length === 0 && locked === 0 ? html`<p class="quiet">No signal is younger than 24 hours.</p>` : null}
    ${page.signals.length === 0 ? null : html`<ul class="list" aria-label="Signals that the agent paid for">${page.signals.map((one) => html`<${Paid} key=${one.signal_id} one=${one} canPlan=${canPlan} onPlan=${onPlan} />`)}</ul>`}
    ${
      locked === 0
        ? null
        : html`<p><${Badge} tone="attention">${counted(locked, "locked signal")}<//> <span class="quiet">Market and weight are shown to who paid.</span></p>
          ${
            next === null
              ? null
              : html`<div class="row"><button type="button" disabled=${isBusy} onClick=${() => onUnlock(next)}>Read the newest for ${counted(price, "credit")}</button>
            <button type="button" disabled=${!canPlan} onClick=${() => onPlan(next)} title="Free while the vault is paused, the signal superseded, or the market closed or without a grade">Plan it for ${counted(price, "credit")}</button></div>`
          }`
    }</div>`;
}

/** Which signal the offer is of. @param {SignalPage} page */
function lockedSignal(page) {
  const resource = /** @type {{url?: unknown} | undefined} */ (page.payment_required?.resource);
  return SIGNAL_PATH.exec(String(resource?.url ?? ""))?.[1] ?? null;
}

/** @param {{one: SignalShown, canPlan: boolean, onPlan: (id: number) => void}} props */
function Paid({ one, canPlan, onPlan }) {
  return html`<li class="head"><span><${Market} market=${one.market} /> <span class="quiet">weight ${one.target_weight}, leverage ${one.target_leverage}, <${Time} at=${one.at} /></span></span>
    <span class="row">${one.superseded ? html`<${Badge} tone="attention">superseded<//>` : null}<button type="button" disabled=${!canPlan} onClick=${() => onPlan(one.signal_id)} aria-label=${`Plan signal ${one.signal_id}`}>Plan</button></span></li>`;
}

/** @param {{mirror: import("../app/resource.js").Resource<OwnMirror>, vault: FundVaultRead, agentKey: string}} props */
function Consent({ mirror, vault, agentKey }) {
  const { data, error } = mirror;
  const revoking = useWork();
  const revoke = () =>
    revoking.run(async () => {
      await deleteByKey(`/fund/vaults/${String(vault.id)}/mirrors`, agentKey);
      await mirror.reload();
    });
  if (data === null && !(error instanceof ApiRefusal && error.reason === "not_found"))
    return html`<${Read} of=${mirror} what="the consent">${() => null}<//>`;
  if (data?.is_current)
    return html`<div class="stack tight"><h3>Consent</h3><dl class="pairs"><dt>Account</dt><dd><${Hash} value=${data.account_address} label="the account's address" /></dd>
      <dt>Largest order</dt><dd><${Amount} exact value=${data.max_order_usd} /></dd><dt>Most leverage</dt><dd>${data.max_leverage}</dd><dt>Given</dt><dd><${Time} at=${data.given_at} /></dd></dl>
      <div class="row"><button type="button" disabled=${revoking.isBusy} onClick=${revoke}>Revoke the consent</button></div><${Refused} error=${revoking.error} /></div>`;
  return html`<h3>Consent</h3>${data === null ? html`<p class="quiet">This agent has none to this vault. Plans need one; it is a record, and no deposit.</p>` : html`<${Notice} tone="attention" title=${data.revoked_at === null ? "The rules have changed since the consent" : "The consent was revoked"}><p>Plans need a consent to the current rules.</p><//>`}
    <${GiveConsent} vault=${vault} agentKey=${agentKey} onGiven=${mirror.reload} />`;
}

/** @param {{vault: FundVaultRead, agentKey: string, onGiven: () => Promise<void>}} props */
function GiveConsent({ vault, agentKey, onGiven }) {
  const [address, setAddress] = useState("");
  const [most, setMost] = useState("500");
  const { isBusy, error, run } = useWork();
  const give = (/** @type {Event} */ event) => {
    event.preventDefault();
    return run(async () => {
      await postByKey(`/fund/vaults/${String(vault.id)}/mirrors`, agentKey, {
        account_address: address.trim(),
        max_order_usd: most,
        max_leverage: String(vault.frozen_rules.max_leverage),
        rules_hash: vault.rules_hash,
      });
      await onGiven();
    });
  };
  return html`<form class="stack" onSubmit=${give} aria-label="Consent">
    <div class="field"><label for="account">The account's address</label><input id="account" required spellcheck="false" autocomplete="off" pattern="0x[0-9a-fA-F]{40}" value=${address} onInput=${(/** @type {InputOf} */ event) => setAddress(event.currentTarget.value)} />
      <p class="hint">Plans are sized by what it holds. It gives no access to it, and moves nothing.</p></div>
    <div class="field"><label for="most">Largest order</label><div class="with-unit"><input id="most" inputmode="decimal" required pattern="[0-9]{1,12}([.][0-9]{1,6})?" value=${most} onInput=${(/** @type {InputOf} */ event) => setMost(event.currentTarget.value)} /><span>USD</span></div>
      <p class="hint">And a leverage of ${String(vault.frozen_rules.max_leverage)} at most, as the rules allow.</p></div>
    <div class="row"><button disabled=${isBusy}>Consent to the rules ${vault.rules_hash.slice(0, 10)}…</button></div><${Refused} error=${error} /></form>`;
}

const TONES = /** @type {const} */ ({
  ready: "settled",
  capped: "attention",
  skipped: "",
  deferred: "attention",
  refused: "loss",
});
const CAPS = /** @type {const} */ ({
  max_order: "the consent's largest order",
  leverage: "the consent's leverage",
  liquidity: "the market's cap",
  book: "what the book holds within 2 %",
  opening_refused: "what it closes: nothing may be opened",
});

/** @param {{plan: PlanShown}} props */
function Planned({ plan }) {
  const { order } = plan;
  const cost = plan.charged ? `charged ${counted(plan.charged_credits, "credit")}` : "free";
  return html`<section class="stack" aria-labelledby="plan" data-disposition=${plan.disposition}><div class="head"><h3 id="plan">Plan of signal ${plan.signal_id}</h3><span class="row"><${Badge} tone=${TONES[plan.disposition]}>${plan.disposition}<//><span class="quiet">${cost}</span></span></div>
    ${plan.reason === null ? null : html`<${Why} plan=${plan} />`}
    ${
      order === null
        ? null
        : html`<div class="figures"><${Figure} label=${`${sentenced(order.side)}${order.reduce_only ? ", reduce only" : ""}`} note=${order.capped_by === null ? "nothing caps it" : `capped by ${CAPS[order.capped_by]}`}><${Amount} exact value=${order.capped_notional_usd} /><//>
          <${Figure} label="Impact" note="at least the walk of the book">${plan.impact_bps === null ? html`<${Unknown} why="Book, volume or volatility are not known." />` : html`${plan.impact_bps} <span class="unit">bps</span>`}<//></div>`
    }
    <dl class="pairs">${
      order === null
        ? null
        : html`<dt>Target</dt><dd><${Amount} exact value=${order.target_notional_usd} /></dd><dt>Holds</dt><dd><${Amount} exact value=${order.position_notional_usd} /></dd>
          <dt>Wanted</dt><dd><${Amount} exact value=${order.wanted_notional_usd} /></dd><dt>Price</dt><dd><${Known} text=${order.reference_price === null ? null : figure(Number(order.reference_price), PRICE_DIGITS)} why="The book is not known now." /></dd>`
    }
      <dt>Account</dt><dd><${Amount} exact value=${plan.nav_usd} why="It was not asked for: another check failed before." /></dd>
${
  plan.grade === null
    ? null
    : html`<dt>Grade</dt><dd><${Letter} letter=${plan.grade} provisional=${plan.provisional} /></dd>
          <dt>Session</dt><dd><${SessionBadge} session=${plan.session} /></dd>`
}</dl>
    <p class="quiet">Nothing was placed. The agent places the order with its own key, and reports the fill.</p></section>`;
}

/** @param {{plan: PlanShown}} props */
function Why({ plan }) {
  return html`<${Notice} tone=${TONES[plan.disposition]} title=${sentenced(words(plan.reason))}><p>${sentenced(String(plan.service?.rule ?? ""))}.</p>
    ${plan.retry_at === null ? null : html`<p class="quiet">Plan again from ${clock(plan.retry_at)} on.</p>`}<//>`;
}
