// What the owner can do now, each button with what it does. Calls are built by the service and signed by the wallet.

import { call, get } from "../app/api.js";
import { clock } from "../app/format.js";
import { Refused } from "../app/refusal.js";
import { wallet } from "../app/session.js";
import { begin, NeedsWallet } from "../app/transaction_card.js";
import { Amount, html, Notice, useEffect, useRef, useState } from "../app/ui.js";

/** @param {{data: any, reload: () => Promise<void>}} props */
export function Actions({ data, reload }) {
  const { mandate, lock, chain_state: chain } = data;
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [isBusy, setBusy] = useState(false);
  const [isClosing, setClosing] = useState(false);
  const id = mandate.public_id;
  const run = async (/** @type {() => Promise<void>} */ work) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const built = (
    /** @type {string} */ path,
    /** @type {string} */ title,
    /** @type {Record<string, any>} */ query = {},
  ) => run(async () => send(title, id, await get(`/mandate-wallet/mandates/${id}/${path}`, query)));
  const isVault = mandate.vault_address !== null && mandate.market_mode === "testnet";
  const isWorking = mandate.status === "working";
  const buttons = [];
  if (mandate.status === "signed" && mandate.market_mode === "testnet")
    buttons.push(html`<${Create} id=${id} run=${run} isBusy=${isBusy} />`);
  if (isVault && isWorking) {
    if (chain.agent_known && chain.agent === null) {
      buttons.push(
        html`<${Act} label="Resume" does="gives the vault back to the agent" isBusy=${isBusy} onClick=${() => run(() => resume(id, mandate))} />`,
      );
    } else {
      buttons.push(
        html`<${Act} label="Pause" does="removes the agent; limits and positions stay" isBusy=${isBusy} onClick=${() => built("set-agent-call", "Pause the mandate")} />`,
      );
    }
    buttons.push(
      html`<${Act} label="Add money" does="tops the vault up; the budget caps what may be lost" isBusy=${isBusy} onClick=${() => run(async () => setAdding(true))} />`,
    );
  }
  const [isAdding, setAdding] = useState(false);
  if (isVault && ["signed", "working"].includes(mandate.status)) {
    buttons.push(
      html`<${Act} kind="stop" label="Stop" does="ends the agent's power for good, in one transaction" isBusy=${isBusy} onClick=${() => built("stop-call", "Stop the mandate")} />`,
    );
  }
  if (isVault && ["working", "stopped", "settled"].includes(mandate.status)) {
    buttons.push(
      html`<${Act} label="Close all" does="the steps that bring everything home" isBusy=${isBusy} onClick=${() => run(async () => setClosing(true))} />`,
    );
    buttons.push(
      html`<${Act} label="Withdraw" does=${lock.withdrawable ? "sends the vault's USDC to your wallet" : lock.message} isBusy=${isBusy || lock.withdrawable === false} onClick=${() => built("withdraw-call", "Withdraw")} />`,
    );
  }
  if (mandate.market_mode === "paper" && isWorking) {
    buttons.push(
      html`<${Act} kind="stop" label="Stop" does="ends the paper mandate; open positions are void" isBusy=${isBusy} onClick=${() =>
        run(async () => {
          await call("POST", `/mandate-wallet/mandates/${id}/stop`, {
            body: {},
            isRepeatable: true,
          });
          await reload();
        })} />`,
    );
  }
  return html`<section class="card stack" aria-label="What you can do">
    <p>${lock.message}${lock.until ? html` <span class="quiet">until ${clock(lock.until)}</span>` : null}</p>
    ${data.settle_note ? html`<p class="quiet">${data.settle_note}</p>` : null}
    ${isVault ? html`<${NeedsWallet} />` : null}
    <div class="row" style="align-items:stretch">${buttons}</div>
    <${Refused} error=${error} />
    ${isAdding ? html`<${AddMoney} id=${id} run=${run} onClose=${() => setAdding(false)} />` : null}
    ${isClosing ? html`<${CloseAll} id=${id} onClose=${() => setClosing(false)} />` : null}
  </section>`;
}

/**
 * A card for what the service built, or its reason why there is nothing to send.
 * @param {string} title @param {string} mandateId @param {any} built
 */
export async function send(title, mandateId, built) {
  const calls = built.calls?.length ? built.calls : [built];
  if (calls.some((/** @type {any} */ one) => !one.data)) throw new NothingToSend(built);
  await begin({
    title,
    mandateId,
    calls,
    effect: built.what_happens ?? calls[0].what_happens ?? null,
  });
}

class NothingToSend extends Error {
  /** @param {any} built */
  constructor(built) {
    const until = built.locked_until ? ` It can be sent from ${clock(built.locked_until)} on.` : "";
    super(
      `There is nothing to send now: ${String(built.reason ?? built.data_issue_reason ?? "unknown").replaceAll("_", " ")}.${until}`,
    );
  }
}

/**
 * The vault goes back to the wallet that its agent has linked now; another's agent, to the one that was signed.
 * @param {string} id
 * @param {any} mandate
 */
async function resume(id, mandate) {
  const { agents } = await get("/agents/mine");
  const mine = agents.find((/** @type {any} */ one) => String(one.user_id) === mandate.agent_id);
  const address =
    mine?.wallet_address ?? (await get(`/mandate-wallet/mandates/${id}/terms`)).terms.agent;
  const built = await get(`/mandate-wallet/mandates/${id}/set-agent-call`, {
    agent_wallet: address,
  });
  await send("Resume the mandate", id, built);
}

/** @param {{label: string, does: any, isBusy: boolean, onClick: () => void, kind?: string}} props */
function Act({ label, does, isBusy, onClick, kind = "" }) {
  return html`<div class="stack tight" style="flex:1 1 140px;gap:4px"><button type="button" class=${kind} disabled=${isBusy} onClick=${onClick}>${label}</button><span class="quiet">${does}</span></div>`;
}

/** @param {{id: string, run: (work: () => Promise<void>) => Promise<void>, isBusy: boolean}} props */
function Create({ id, run, isBusy }) {
  const path = `/mandate-wallet/mandates/${id}/deploy-call`;
  const byAuthorization = () =>
    run(async () => {
      const offered = await get(path, { fund: "authorization" });
      const signature = await wallet.value?.signTypedData(offered.typed_data);
      await send(
        "Create and fund the vault",
        id,
        await get(path, { fund: "authorization", authorization_signature: signature }),
      );
    });
  const byAllowance = () =>
    run(async () => send("Create and fund the vault", id, await get(path, { fund: "approve" })));
  return html`<${Act} kind="primary" label="Create and fund the vault" does="one signature for the money, one transaction; no allowance is left" isBusy=${isBusy} onClick=${byAuthorization} />
    <${Act} label="With an allowance instead" does="for contract wallets: approve, then create" isBusy=${isBusy} onClick=${byAllowance} />`;
}

/** @param {{id: string, run: (work: () => Promise<void>) => Promise<void>, onClose: () => void}} props */
function AddMoney({ id, run, onClose }) {
  const [amount, setAmount] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run(async () => {
      await send(
        "Add money to the vault",
        id,
        await get(`/mandate-wallet/mandates/${id}/deposit-call`, { amount_usdc: amount }),
      );
      onClose();
    });
  };
  return html`<form class="row" onSubmit=${submit}><div class="field" style="max-width:220px"><label for="add">Amount</label>
    <div class="with-unit"><input id="add" inputmode="decimal" required pattern="[0-9]+([.][0-9]{1,6})?" value=${amount} onInput=${(/** @type {any} */ event) => setAmount(event.target.value)} /><span>USDC</span></div></div>
    <button class="primary">Build the transaction</button><button type="button" class="plain" onClick=${onClose}>Close</button></form>`;
}

/** @param {{id: string, onClose: () => void}} props */
function CloseAll({ id, onClose }) {
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const box = useRef(/** @type {any} */ (null));
  const read = () => get(`/mandate-wallet/mandates/${id}/close-all-plan`).then(setPlan, setError);
  useEffect(() => void read(), []);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [plan]);
  if (error) return html`<${Refused} error=${error} onRetry=${read} />`;
  if (plan === null) return html`<p class="quiet" role="status">Building the plan …</p>`;
  const act = (
    /** @type {string} */ title,
    /** @type {any[]} */ calls,
    /** @type {string} */ effect,
  ) => begin({ title, mandateId: id, calls, effect }).catch(setError);
  return html`<div class="stack" ref=${box}><div class="head"><h2>Close all</h2><button type="button" class="plain" onClick=${onClose}>Close the plan</button></div>
    <p>You get back about <${Amount} value=${plan.gets_back_est} why=${plan.reason ?? plan.exit_cost_reason} />.${plan.locked_until ? ` Withdrawing is locked until ${clock(plan.locked_until)}.` : ""}</p>
    ${plan.batch ? html`<${Notice} title="In one transaction"><p>${plan.batch.what_happens}</p><div class="row"><button type="button" class="stop" onClick=${() => act("Stop and withdraw", plan.batch.calls, plan.batch.what_happens)}>Stop and withdraw at once</button></div><//>` : null}
    <ol class="list">${plan.steps.map(
      (
        /** @type {any} */ step,
      ) => html`<li class="row" key=${step.n}><span class="quiet">${step.n}</span><div style="flex:1"><p>${step.note}</p>
      ${step.est_proceeds_usdc ? html`<p class="quiet">about <${Amount} value=${step.est_proceeds_usdc} /></p>` : null}</div>
      ${step.call?.data ? html`<button type="button" onClick=${() => act(step.note, [step.call], step.call.what_happens ?? step.note)}>${{ stop: "Stop", unwind: "Unwind", close: "Close", withdraw: "Withdraw" }[/** @type {string} */ (step.type)]}</button>` : html`<span class="quiet">${step.reason ?? step.who_signs_text ?? "nothing to send"}</span>`}</li>`,
    )}</ol></div>`;
}
