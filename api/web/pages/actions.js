// What the owner can do now, each button with what it does. Calls are built by the service and signed by the wallet.

import { get, post } from "../app/api.js";
import { clock, usdc, words } from "../app/format.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { chosenWallet, session } from "../app/session.js";
import { NeedsWallet } from "../app/sign_in.js";
import { begin, changed } from "../app/transaction_card.js";
import { Amount, html, Notice, useEffect, useRef, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";

/**
 * What the service built: one call, or several that belong together.
 * @typedef {BuiltCall & {calls?: readonly BuiltCall[] | null}} Built
 * @typedef {import("../app/answers.js").BuiltCall} BuiltCall
 * @typedef {import("../app/answers.js").CloseAllPlan} CloseAllPlan
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * @typedef {import("../app/ui.js").InputOf} InputOf
 * @typedef {import("../app/work.js").Run} Run
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
    <p>${lock.message}${lock.until && !lock.message.includes(clock(lock.until)) ? html` <span class="quiet">until ${clock(lock.until)}</span>` : null}</p>
    ${data.settle_note ? html`<p class="quiet">${data.settle_note}</p>` : null}
    ${isVault ? html`<${NeedsWallet} />` : null}
    <div class="row acts">
      ${mandate.status === "signed" && mandate.market_mode === "testnet" && !isVault ? html`<${Create} id=${id} budget=${mandate.budget_usdc} run=${run} isBusy=${isBusy} />` : null}
      ${isVault ? html`<${OfVault} data=${data} run=${run} isBusy=${isBusy} onOpen=${setOpened} />` : null}
      ${isPaperAtWork ? html`<${PaperStop} id=${id} run=${run} isBusy=${isBusy} reload=${reload} />` : null}
    </div>
    <${Refused} error=${error} />
    ${opened === "add" ? html`<${AddMoney} id=${id} run=${run} isBusy=${isBusy} onClose=${() => setOpened(null)} />` : null}
    ${opened === "close" ? html`<${CloseAll} id=${id} onClose=${() => setOpened(null)} />` : null}
  </section>`;
}

/** @param {{data: WholeMandate, run: Run, isBusy: boolean, onOpen: (what: "add" | "close") => void}} props */
function OfVault({ data, run, isBusy, onOpen }) {
  const { mandate, lock, chain_state: chain } = data;
  const { public_id: id, status } = mandate;
  const isPaused = chain.agent_known && chain.agent === null;
  const pause = () =>
    run(async () =>
      send("Pause the mandate", id, await get(`/mandate-wallet/mandates/${id}/set-agent-call`)),
    );
  const stop = () =>
    run(async () =>
      send("Stop the mandate", id, await get(`/mandate-wallet/mandates/${id}/stop-call`)),
    );
  const withdraw = () =>
    run(async () =>
      send("Withdraw", id, await get(`/mandate-wallet/mandates/${id}/withdraw-call`)),
    );
  return html`
    ${
      status !== "working"
        ? null
        : isPaused
          ? html`<${Act} label="Resume" does="gives the vault back to the agent" isBusy=${isBusy} onClick=${() => run(() => resume(id, mandate))} />`
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
 * A card for what the service built, or its reason why there is nothing to send.
 * @param {string} title @param {string} mandateId @param {Built} built
 */
async function send(title, mandateId, built) {
  const parts = built.calls?.length ? built.calls : [built];
  const calls = parts.flatMap(({ to, data, value, chain_id }) =>
    to && data ? { to, data, value, chain_id } : [],
  );
  if (calls.length < parts.length) throw new NothingToSend(built);
  const effect = built.what_happens ?? parts[0]?.what_happens ?? null;
  await begin({ title, mandateId, calls, effect });
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
 * @param {string} id
 * @param {MandateView} mandate
 */
async function resume(id, mandate) {
  const { agents } = await get("/agents/mine");
  const mine = agents.find((one) => String(one.user_id) === mandate.agent_id);
  const address =
    mine?.wallet_address ?? (await get(`/mandate-wallet/mandates/${id}/terms`)).terms.agent;
  const built = await get(`/mandate-wallet/mandates/${id}/set-agent-call`, {
    agent_wallet: address,
  });
  await send("Resume the mandate", id, built);
}

/** @param {{label: string, does: string, isBusy: boolean, onClick: () => void, kind?: string}} props */
function Act({ label, does, isBusy, onClick, kind = "" }) {
  return html`<div class="act"><button type="button" class=${kind} disabled=${isBusy} onClick=${onClick}>${label}</button><span>${does}</span></div>`;
}

/** @param {{id: string, budget: string, run: Run, isBusy: boolean}} props */
function Create({ id, budget, run, isBusy }) {
  const what_happens = `The vault is created, and ${usdc(budget)} USDC go from your wallet into it.`;
  const title = "Create and fund the vault";
  const path = /** @type {const} */ (`/mandate-wallet/mandates/${id}/deploy-call`);
  const byAuthorization = () =>
    run(async () => {
      const chosen = chosenWallet();
      const offered = await get(path, { fund: "authorization" });
      const signature = await chosen.signTypedData(offered.typed_data ?? {}, {
        from: session.value?.address,
      });
      const signed = { fund: "authorization", authorization_signature: signature };
      await send(title, id, { ...(await get(path, signed)), what_happens });
    });
  const byAllowance = () =>
    run(async () => send(title, id, { ...(await get(path, { fund: "approve" })), what_happens }));
  const cancel = () =>
    run(async () => {
      const { cancel_call: call } = await get(`/mandate-wallet/mandates/${id}/stop-call`);
      if (!call) throw new Error("The vault exists by now. Reload the page, then stop it.");
      await send("Cancel the terms", id, call);
    });
  return html`<${Act} kind="primary" label=${title} does="one signature for the money, one transaction; no allowance is left" isBusy=${isBusy} onClick=${byAuthorization} />
    <${Act} label="With an allowance instead" does="for contract wallets: approve, then create" isBusy=${isBusy} onClick=${byAllowance} />
    <${Act} kind="stop" label="Cancel the terms" does="no vault can be made of them any more" isBusy=${isBusy} onClick=${cancel} />`;
}

/** @param {{id: string, run: Run, isBusy: boolean, onClose: () => void}} props */
function AddMoney({ id, run, isBusy, onClose }) {
  const [amount, setAmount] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run(async () => {
      const path = /** @type {const} */ (`/mandate-wallet/mandates/${id}/deposit-call`);
      await send("Add money to the vault", id, await get(path, { amount_usdc: amount }));
      onClose();
    });
  };
  return html`<form class="row" onSubmit=${submit}><div class="field narrow"><label for="add">Amount</label>
    <div class="with-unit"><input id="add" inputmode="decimal" required pattern="[0-9]+([.][0-9]{1,6})?" value=${amount} onInput=${(/** @type {InputOf} */ event) => setAmount(event.currentTarget.value)} /><span>USDC</span></div></div>
    <button class="primary" disabled=${isBusy}>Build the transaction</button><button type="button" class="plain" onClick=${onClose}>Close</button></form>`;
}

const STEPS = /** @type {const} */ ({
  stop: "Stop",
  unwind: "Unwind",
  close: "Close",
  withdraw: "Withdraw",
});

/** @param {{id: string, onClose: () => void}} props */
function CloseAll({ id, onClose }) {
  const plan = useResource(
    (stop) => get(`/mandate-wallet/mandates/${id}/close-all-plan`, {}, stop),
    [id],
    { again: [changed.value] },
  );
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isRead = plan.data !== null;
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [isRead]);
  return html`<div class="stack" ref=${box}><div class="head"><h2>Close all</h2><button type="button" class="plain" onClick=${onClose}>Close the plan</button></div>
    <${Read} of=${plan} what="the plan">${(/** @type {CloseAllPlan} */ found) => html`<${Plan} id=${id} plan=${found} />`}<//></div>`;
}

/** @param {{id: string, plan: CloseAllPlan}} props */
function Plan({ id, plan }) {
  const { isBusy, error, run } = useWork();
  const act = (
    /** @type {string} */ title,
    /** @type {BuiltCall[]} */ calls,
    /** @type {string} */ what_happens,
  ) => {
    const [first] = calls;
    if (first) void run(() => send(title, id, { ...first, calls, what_happens }));
  };
  const { batch } = plan;
  return html`<p>You get back about <${Amount} value=${plan.gets_back_est} why=${plan.reason ?? plan.exit_cost_reason} />.${plan.locked_until ? ` Withdrawing is locked until ${clock(plan.locked_until)}.` : ""}</p>
    ${batch ? html`<${Notice} title="In one transaction"><p>${batch.what_happens}</p><div class="row"><button type="button" class="stop" disabled=${isBusy} onClick=${() => act("Stop and withdraw", batch.calls, batch.what_happens)}>Stop and withdraw at once</button></div><//>` : null}
    <${Refused} error=${error} />
    <ol class="list">${plan.steps.map(({ n, note, type, call, ...step }) => {
      const button =
        call?.data &&
        html`<button type="button" disabled=${isBusy} onClick=${() => act(note, [call], call.what_happens ?? note)}>${STEPS[type]}</button>`;
      return html`<li class="row" key=${n}><span class="quiet">${n}</span><div class="grow"><p>${note}</p>
        ${step.est_proceeds_usdc ? html`<p class="quiet">about <${Amount} value=${step.est_proceeds_usdc} /></p>` : null}</div>
        ${button || html`<span class="quiet">${words(step.reason) || step.who_signs_text || "nothing to send"}</span>`}</li>`;
    })}</ol>`;
}
