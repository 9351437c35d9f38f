// What the owner can do now, each button with what it does. Calls are built by the service and signed by the wallet.

import { get, post } from "../app/api.js";
import { VENUES } from "../app/contracts.js";
import { clock, units, usdc, words } from "../app/format.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { chosenWallet, readService, session } from "../app/session.js";
import { NeedsWallet } from "../app/sign_in.js";
import { begin, changed } from "../app/transaction_card.js";
import { Amount, html, Notice, useEffect, useRef, useState } from "../app/ui.js";
import { WalletError } from "../app/wallet.js";
import { WalletMoney } from "../app/wallet_money.js";
import { useWork } from "../app/work.js";

/**
 * What the service built: one call, or several that belong together.
 * @typedef {BuiltCall & {calls?: readonly BuiltCall[] | null}} Built
 * @typedef {import("../app/answers.js").BuiltCall} BuiltCall
 * @typedef {import("../app/answers.js").CloseAllPlan} CloseAllPlan
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").PlanStep} PlanStep
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * @typedef {import("../app/ui.js").InputOf} InputOf
 * @typedef {import("../app/work.js").Run} Run
 * What the page says of the calls: see app/consistency.js. `vault`: where the mandate has none yet.
 * @typedef {{does: readonly import("../app/consistency.js").Does[], vault?: string, amount?: bigint | null,
 *   agent?: string | null, sale?: import("../app/consistency.js").Shown["sale"]}} Said
 */

/** @param {{data: WholeMandate, reload: () => Promise<void>}} props */
export function Actions({ data, reload }) {
  const { mandate, lock } = data;
  const { isBusy, error, run } = useWork();
  const [opened, setOpened] = useState(/** @type {"add" | "close" | null} */ (null));
  const id = mandate.public_id;
  const isVault = mandate.vault_address !== null && mandate.market_mode === "testnet";
  const isPaperAtWork = mandate.market_mode === "paper" && mandate.status === "working";
  return html`<section class="card stack" aria-label="What you can do">
    <p>${lock.message}${lock.until && !lock.message.includes(clock(lock.until).slice(0, 19)) ? html` <span class="quiet">until ${clock(lock.until)}</span>` : null}</p>
    ${data.settle_note ? html`<p class="quiet">${data.settle_note}</p>` : null}
    ${isVault ? html`<${NeedsWallet} />` : null}
    ${mandate.status === "signed" && !isVault && mandate.market_mode === "testnet" ? html`<${WalletMoney} needed=${units(mandate.budget_usdc)} />` : null}
    <div class="row acts">
      ${mandate.status === "signed" && mandate.market_mode === "testnet" && !isVault ? html`<${Create} mandate=${mandate} run=${run} isBusy=${isBusy} />` : null}
      ${isVault ? html`<${OfVault} data=${data} run=${run} isBusy=${isBusy} onOpen=${setOpened} />` : null}
      ${isPaperAtWork ? html`<${PaperStop} id=${id} run=${run} isBusy=${isBusy} reload=${reload} />` : null}
    </div>
    <${Refused} error=${error} />
    ${opened === "add" ? html`<${AddMoney} mandate=${mandate} run=${run} isBusy=${isBusy} onClose=${() => setOpened(null)} />` : null}
    ${opened === "close" ? html`<${CloseAll} mandate=${mandate} onClose=${() => setOpened(null)} />` : null}
  </section>`;
}

/** @param {{data: WholeMandate, run: Run, isBusy: boolean, onOpen: (what: "add" | "close") => void}} props */
function OfVault({ data, run, isBusy, onOpen }) {
  const { mandate, lock, chain_state: chain } = data;
  const { public_id: id, status } = mandate;
  const isPaused = chain.agent_known && chain.agent === null;
  const pause = () =>
    run(async () => {
      const built = await get(`/mandate-wallet/mandates/${id}/set-agent-call`);
      await send("Pause the mandate", mandate, built, { does: ["removeAgent"] });
    });
  const stop = () =>
    run(async () => {
      const built = await get(`/mandate-wallet/mandates/${id}/stop-call`);
      await send("Stop the mandate", mandate, built, { does: ["stop"] });
    });
  const withdraw = () =>
    run(async () => {
      const built = await get(`/mandate-wallet/mandates/${id}/withdraw-call`);
      await send("Withdraw", mandate, built, {
        does: ["withdraw"],
        amount: units(built.amount_usdc),
      });
    });
  return html`
    ${
      status !== "working"
        ? null
        : isPaused
          ? html`<${Act} label="Resume" does="gives the vault back to the agent" isBusy=${isBusy} onClick=${() => run(() => resume(mandate))} />`
          : html`<${Act} label="Pause" does="removes the agent; limits and positions stay" isBusy=${isBusy} onClick=${pause} />`
    }
    ${status === "signed" ? html`<${Act} kind="primary" label="Add money" does="fills the vault up to the budget, then the agent can act" isBusy=${isBusy} onClick=${() => onOpen("add")} />` : null}
    ${["signed", "working"].includes(status) ? html`<${Act} kind="stop" label="Stop" does="ends the agent's power for good, in one transaction" isBusy=${isBusy} onClick=${stop} />` : null}
    ${
      ["working", "stopped", "settled"].includes(status)
        ? html`<${Act} label="Close all" does="the steps that bring everything home" isBusy=${isBusy} onClick=${() => onOpen("close")} />
          <${Act} label="Withdraw" does=${lock.withdrawable !== false ? "sends the vault's USDC to your wallet" : lock.until ? "locked for now, as it says above" : "not now, as it says above"} isBusy=${isBusy || lock.withdrawable === false} onClick=${withdraw} />`
        : null
    }`;
}

/** @param {{id: string, run: Run, isBusy: boolean, reload: () => Promise<void>}} props */
function PaperStop({ id, run, isBusy, reload }) {
  const stop = () =>
    run(async () => {
      await post(`/mandate-wallet/mandates/${id}/stop`, {}, { isRepeatable: true });
      await reload();
    });
  return html`<${Act} kind="stop" label="Stop" does="ends the paper mandate; open positions are void" isBusy=${isBusy} onClick=${stop} />`;
}

/**
 * A card for what the service built, if it is what the page says, or its reason why there is nothing to send.
 * @param {string} title @param {MandateView} mandate @param {Built} built @param {Said} said
 */
async function send(title, mandate, built, said) {
  const parts = built.calls?.length ? built.calls : [built];
  const calls = parts.flatMap(({ to, data, value, chain_id }) =>
    to && data ? { to, data, value, chain_id } : [],
  );
  if (calls.length < parts.length) throw new NothingToSend(built);
  const effect = built.what_happens ?? parts[0]?.what_happens ?? null;
  const { requireCalls } = await import("../app/consistency.js");
  requireCalls(calls, { vault: mandate.vault_address, ...said, ...(await parties()) });
  await begin({ title, mandateId: mandate.public_id, calls, effect });
}

/** Who signs, and at which service. */
async function parties() {
  const owner = session.value?.address;
  if (owner === undefined) throw new WalletError("unauthorized");
  chosenWallet();
  return { owner, service: await readService() };
}

/**
 * The vault of the terms that were signed, computed here; the money is for it alone.
 * @param {MandateView} mandate
 */
async function vaultOf(mandate) {
  const terms = await get(`/mandate-wallet/mandates/${mandate.public_id}/terms`);
  const { requireTerms } = await import("../app/consistency.js");
  return requireTerms(terms, { mandate, ...(await parties()) });
}

class NothingToSend extends Error {
  /** @param {Built} built */
  constructor(built) {
    const until = built.locked_until ? ` It can be sent from ${clock(built.locked_until)} on.` : "";
    super(
      `There is nothing to send now: ${words(built.reason ?? built.data_issue_reason ?? "unknown")}.${until}`,
    );
  }
}

/**
 * The vault goes back to the wallet that its agent has linked now; another's agent, to the one that was signed.
 * @param {MandateView} mandate
 */
async function resume(mandate) {
  const id = mandate.public_id;
  const { agents } = await get("/agents/mine");
  const mine = agents.find((one) => String(one.user_id) === mandate.agent_id);
  const address =
    mine?.wallet_address ?? (await get(`/mandate-wallet/mandates/${id}/terms`)).terms.agent;
  const built = await get(`/mandate-wallet/mandates/${id}/set-agent-call`, {
    agent_wallet: address,
  });
  await send("Resume the mandate", mandate, built, { does: ["setAgent"], agent: address });
}

/** @param {{label: string, does: string, isBusy: boolean, onClick: () => void, kind?: string}} props */
function Act({ label, does, isBusy, onClick, kind = "" }) {
  return html`<div class="act"><button type="button" class=${kind} disabled=${isBusy} onClick=${onClick}>${label}</button><span>${does}</span></div>`;
}

/** @param {{mandate: MandateView, run: Run, isBusy: boolean}} props */
function Create({ mandate, run, isBusy }) {
  const { public_id: id, budget_usdc: budget } = mandate;
  const what_happens = `The vault is created, and ${usdc(budget)} USDC go from your wallet into it.`;
  const title = "Create and fund the vault";
  const path = /** @type {const} */ (`/mandate-wallet/mandates/${id}/deploy-call`);
  const byAuthorization = () =>
    run(async () => {
      const chosen = chosenWallet();
      const { vault, digest } = await vaultOf(mandate);
      const { owner, service } = await parties();
      const document = (await get(path, { fund: "authorization" })).typed_data ?? {};
      const { requireAuthorization } = await import("../app/consistency.js");
      requireAuthorization(document, { owner, service, vault, digest, budget });
      const signature = await chosen.signTypedData(document, { from: owner });
      const signed = { fund: "authorization", authorization_signature: signature };
      const built = { ...(await get(path, signed)), what_happens };
      await send(title, mandate, built, { does: ["createVault"], vault });
    });
  const byAllowance = () =>
    run(async () => {
      const { vault } = await vaultOf(mandate);
      const built = { ...(await get(path, { fund: "approve" })), what_happens };
      const said = { vault, amount: units(budget) };
      await send(title, mandate, built, { ...said, does: ["approve", "createVault"] });
    });
  const cancel = () =>
    run(async () => {
      const { cancel_call: call } = await get(`/mandate-wallet/mandates/${id}/stop-call`);
      if (!call) throw new Error("The vault exists by now. Reload the page, then stop it.");
      await send("Cancel the terms", mandate, call, { does: ["cancelTerms"] });
    });
  return html`<${Act} kind="primary" label=${title} does="one signature for the money, one transaction; no allowance is left" isBusy=${isBusy} onClick=${byAuthorization} />
    <${Act} label="With an allowance instead" does="for contract wallets: approve, then create" isBusy=${isBusy} onClick=${byAllowance} />
    <${Act} kind="stop" label="Cancel the terms" does="no vault can be made of them any more" isBusy=${isBusy} onClick=${cancel} />`;
}

/** @param {{mandate: MandateView, run: Run, isBusy: boolean, onClose: () => void}} props */
function AddMoney({ mandate, run, isBusy, onClose }) {
  const [amount, setAmount] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run(async () => {
      const id = mandate.public_id;
      const built = await get(`/mandate-wallet/mandates/${id}/deposit-call`, {
        amount_usdc: amount,
      });
      const said = { amount: units(amount) };
      await send("Add money to the vault", mandate, built, {
        ...said,
        does: ["approve", "deposit"],
      });
      onClose();
    });
  };
  return html`<form class="row" onSubmit=${submit}><div class="field narrow"><label for="add">Amount</label>
    <div class="with-unit"><input id="add" inputmode="decimal" required pattern="[0-9]+([.][0-9]{1,6})?" value=${amount} onInput=${(/** @type {InputOf} */ event) => setAmount(event.currentTarget.value)} /><span>USDC</span></div></div>
    <button class="primary" disabled=${isBusy}>Build the transaction</button><button type="button" class="plain" onClick=${onClose}>Close</button></form>
    <${WalletMoney} needed=${units(amount)} />`;
}

const STEPS = /** @type {const} */ ({
  stop: "Stop",
  unwind: "Unwind",
  close: "Close",
  withdraw: "Withdraw",
});

/** @param {{mandate: MandateView, onClose: () => void}} props */
function CloseAll({ mandate, onClose }) {
  const id = mandate.public_id;
  const plan = useResource(
    (stop) => get(`/mandate-wallet/mandates/${id}/close-all-plan`, {}, stop),
    [id],
    { again: [changed.value] },
  );
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isRead = plan.data !== null;
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [isRead]);
  return html`<div class="stack" ref=${box}><div class="head"><h2>Close all</h2><button type="button" class="plain" onClick=${onClose}>Close the plan</button></div>
    <${Read} of=${plan} what="the plan">${(/** @type {CloseAllPlan} */ found) => html`<${Plan} mandate=${mandate} plan=${found} />`}<//></div>`;
}

/** @param {{mandate: MandateView, plan: CloseAllPlan}} props */
function Plan({ mandate, plan }) {
  const { isBusy, error, run } = useWork();
  const act = (
    /** @type {string} */ title,
    /** @type {BuiltCall[]} */ calls,
    /** @type {string} */ what_happens,
    /** @type {Said} */ said,
  ) => {
    const [first] = calls;
    if (first) void run(() => send(title, mandate, { ...first, calls, what_happens }, said));
  };
  const { batch } = plan;
  return html`<p>You get back about <${Amount} value=${plan.gets_back_est} why=${plan.reason ?? plan.exit_cost_reason} />.${plan.locked_until ? ` Withdrawing is locked until ${clock(plan.locked_until)}.` : ""}</p>
    ${batch ? html`<${Notice} title="In one transaction"><p>${batch.what_happens}</p><div class="row"><button type="button" class="stop" disabled=${isBusy} onClick=${() => act("Stop and withdraw", batch.calls, batch.what_happens, { does: ["stop", "withdraw"], amount: units(batch.amount_usdc) })}>Stop and withdraw at once</button></div><//>` : null}
    <${Refused} error=${error} />
    <ol class="list">${plan.steps.map(({ n, note, type, call, ...step }) => {
      const does = type === "close" ? "unwind" : type;
      const sold = step.adapter_address ? { adapter: step.adapter_address, least: null } : null;
      const button =
        call?.data &&
        html`<button type="button" disabled=${isBusy} onClick=${() => act(note, [call], call.what_happens ?? note, { does: [does], sale: sold })}>${STEPS[type]}</button>`;
      const sale = { note, type, call, ...step };
      if (step.min_proceeds_usdc !== null || step.reason === "minimum_needed")
        return html`<${Sale} key=${n} n=${n} step=${sale} mandate=${mandate} run=${run} isBusy=${isBusy} />`;
      if (step.release_call)
        return html`<${Waiting} key=${n} n=${n} note=${note} release=${step.release_call} sale=${sold} isOver=${!["signed", "working"].includes(mandate.status)} isBusy=${isBusy} act=${act} />`;
      return html`<li class="row" key=${n}><span class="quiet">${n}</span><div class="grow"><p>${note}</p>
        ${step.est_proceeds_usdc ? html`<p class="quiet">about <${Amount} value=${step.est_proceeds_usdc} /></p>` : null}</div>
        ${button || html`<span class="quiet">${words(step.reason) || step.who_signs_text || "nothing to send"}</span>`}</li>`;
    })}</ol>`;
}

/**
 * A sale below whose minimum the contract refuses: proposed from the worth, changed by the owner alone.
 * @param {{n: number, step: Omit<PlanStep, "n">, mandate: MandateView, run: Run, isBusy: boolean}} props
 */
function Sale({ n, step, mandate, run, isBusy }) {
  const proposed = step.min_proceeds_usdc ?? "";
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const least = typed ?? proposed;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run(async () => {
      const built = step.call?.data && least === proposed ? step.call : await unwindFor(least);
      const sale = { adapter: step.adapter_address ?? "", least: units(least) };
      const bound = sale.least === 0n ? "any price" : `at least ${usdc(least)} USDC`;
      const what_happens = `${sale.least === 0n ? "The sale accepts any price." : `A sale that would bring less than ${usdc(least)} USDC is refused.`} ${built.what_happens ?? ""}`;
      const where = VENUES[`${step.venue}_adapter`]?.title;
      const title = `Sell the position${where ? ` at ${where}` : ""} for ${bound}`;
      await send(title, mandate, { ...built, what_happens }, { does: ["unwind"], sale });
    });
  };
  /** @param {string} min_usdc */
  const unwindFor = (min_usdc) =>
    post(`/mandate-wallet/mandates/${mandate.public_id}/unwind-call`, {
      adapter: step.adapter_address,
      min_usdc,
    });
  const id = `least-${n}`;
  return html`<li class="row"><span class="quiet">${n}</span><form class="grow stack" onSubmit=${submit}><p>${step.note}</p>
    <p class="quiet">${step.est_proceeds_usdc ? html`about <${Amount} value=${step.est_proceeds_usdc} />` : "worth unknown"}${step.withdrawable_now_usdc ? html`, <${Amount} value=${step.withdrawable_now_usdc} /> now in a trial` : null}</p>
    <div class="row"><div class="field narrow"><label for=${id}>Least that you accept</label>
      <div class="with-unit"><input id=${id} inputmode="decimal" required pattern="[0-9]+([.][0-9]{1,6})?" value=${least} onInput=${(/** @type {InputOf} */ event) => setTyped(event.currentTarget.value)} /><span>USDC</span></div></div>
      <button disabled=${isBusy}>Unwind</button></div>
    ${units(least) === 0n ? html`<p class="quiet" role="status">At 0 the sale accepts any price.</p>` : null}</form></li>`;
}

/**
 * What its venue does not pay now.
 * @param {{n: number, note: string, release: BuiltCall, sale: Said["sale"], isOver: boolean, isBusy: boolean,
 *   act: (title: string, calls: BuiltCall[], what: string, said: Said) => void}} props
 */
function Waiting({ n, note, release, sale, isOver, isBusy, act }) {
  const what = "The venue's own tokens go to your vault; the exit page withdraws them.";
  return html`<li class="row"><span class="quiet">${n}</span><div class="grow"><p>${note}</p></div>
    ${isOver ? html`<button type="button" disabled=${isBusy} onClick=${() => act("Take the venue's tokens", [release], what, { does: ["release"], sale })}>Take its tokens</button>` : html`<span class="quiet">after the stop</span>`}</li>`;
}
