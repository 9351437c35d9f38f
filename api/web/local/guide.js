// *Try it*: what comes next in the story of one mandate, from the agent to the money back home. It reads what the
// service knows and says one step at a time; whoever uses their own wallet gets the same.

import { get, isOnline, post, postByKey, put } from "../app/api.js";
import { Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place } from "../app/router.js";
import { readService, recall, remember, session } from "../app/session.js";
import { changed } from "../app/transaction_card.js";
import { html, render, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";
import { ask, FIRST_AGENT, isTrying, tryIt } from "./node.js";

/**
 * The practice agent of this owner, kept in this browser. `account`: its wallet, one of anvil's.
 * @typedef {{owner: string, id: string, key: string, account: string}} Practice
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * `whole`: the newest mandate of the practice agent.
 * @typedef {{agent: Practice | null, whole: WholeMandate | null}} Found
 * @typedef {{n: number, title: string, text: string, href?: string, label?: string, work?: () => Promise<unknown>,
 *   also?: {label: string, work: () => Promise<unknown>}}} Step
 */

const KEPT = "mandate-wallet.practice-agent";
const PURPOSE = "Buy a little at the test venue, carefully.";
const STEPS = 7;
const BUY_E6 = "100000000";
const OVER_THE_CAP_E6 = "250000000";
const GAS = "0x5b8d80"; // given, so that the node sends what the contract will refuse

/** @returns {Practice | null} */
function practice() {
  try {
    const found = JSON.parse(recall(KEPT) ?? "null");
    return found?.owner === session.value?.address ? found : null;
  } catch {
    return null;
  }
}

/** @param {AbortSignal} stop @returns {Promise<Found>} */
async function read(stop) {
  const agent = practice();
  if (agent === null) return { agent, whole: null };
  const { agents } = await get("/agents/mine", undefined, stop);
  if (!agents.some((one) => String(one.user_id) === agent.id)) return { agent: null, whole: null };
  const { mandates } = await get("/mandate-wallet/mandates", { limit: 50 }, stop);
  const mine = mandates.find((one) => one.agent_id === agent.id && one.status !== "cancelled");
  const whole = mine ? await get(`/mandate-wallet/mandates/${mine.public_id}`, {}, stop) : null;
  return { agent, whole };
}

/** An agent of this owner, with a wallet of its own that this page lets act. */
async function makeAgent() {
  const made = await post("/auth/agent/connect", { agent_name: "Practice agent" });
  const account = await linkWallet(made.bearer_token);
  const id = String(made.user_id);
  const {
    agent_id: _id,
    policy_changelog: _log,
    ...policy
  } = await get(`/mandate-wallet/agents/${id}/policy`);
  await put(`/mandate-wallet/agents/${id}/policy`, { ...policy, accepts_mandates: true });
  const owner = session.value?.address ?? "";
  remember(KEPT, JSON.stringify({ owner, id, key: made.api_key, account }));
}

/** The first of anvil's accounts that no other agent has. @param {string} bearer @returns {Promise<string>} */
async function linkWallet(bearer) {
  let said = "No account of the chain is left for an agent. Start `make up` again.";
  const { agents } = await get("/agents/mine");
  const taken = new Set(agents.map((one) => one.wallet_address?.toLowerCase()));
  const accounts = /** @type {string[]} */ (await ask("eth_accounts")).slice(FIRST_AGENT);
  for (const account of accounts.filter((one) => !taken.has(one.toLowerCase()))) {
    const asked = { wallet_address: account, purpose: /** @type {const} */ ("link") };
    const { message } = await post("/auth/wallet/nonce", asked);
    const bytes = [...new TextEncoder().encode(message)];
    const text = `0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    const signature = await ask("personal_sign", text, account);
    const answer = await fetch("/auth/wallet/link", {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` },
      body: JSON.stringify({ wallet_address: account, signature }),
    });
    if (answer.ok) return account;
    said = (await answer.json()).detail ?? said;
  }
  throw new Error(said);
}

/**
 * The agent buys at the test venue: what it signs is what any agent would.
 * @param {Practice} agent @param {WholeMandate} whole @param {string} amount base units
 */
async function buy(agent, whole, amount) {
  const { public_id: id } = whole.mandate;
  if (!whole.mandate.accepted_at)
    await postByKey(`/mandate-wallet/mandates/${id}/accept`, agent.key).catch(() => null);
  const target = (await readService()).contracts.test_venue_adapter ?? "";
  const built = await postByKey(`/mandate-wallet/mandates/${id}/execute-call`, agent.key, {
    target,
    function: "buy(uint256)",
    args: [amount],
    amount_usdc: `${BigInt(amount) / 1_000_000n}.000000`,
  });
  const { to, data } = built;
  const value = "0x0";
  await ask("eth_sendTransaction", { from: agent.account, to, data, value, gas: GAS });
}

/** @param {Found} found @returns {Step} */
function stepOf({ agent, whole }) {
  if (agent === null) {
    return {
      n: 1,
      title: "Get an agent",
      text: "A program that acts with a key of its own. This page plays one for you.",
      label: "Make a practice agent",
      work: makeAgent,
    };
  }
  if (whole === null) {
    return {
      n: 2,
      title: "Write a mandate",
      text: "What the agent may do: budget, caps, stop line, end. The form is filled in; change what you like, then save it.",
      href: `${link("new")}?agent=${agent.id}&purpose=${encodeURIComponent(PURPOSE)}`,
      label: "Open the form",
    };
  }
  const { mandate, progress } = whole;
  const href = link("mandates", mandate.public_id);
  if (mandate.status === "draft") {
    const text = "Read the terms in plain words, then press “Sign the terms”. No money moves.";
    return { n: 3, title: "Sign the terms", text, href, label: "Go to the terms" };
  }
  if (mandate.status === "signed") {
    const text =
      "Press “Create and fund the vault”, then “Send with wallet” on the card that appears.";
    return { n: 4, title: "Create and fund the vault", text, href, label: "Go to the mandate" };
  }
  if (mandate.status === "working") return working(agent, whole, href);
  const isHome = progress?.worth_est !== null && Number(progress?.worth_est) === 0;
  if (isHome) {
    return {
      n: 7,
      title: "That was the whole story",
      text: "You signed limits, an agent worked inside them, you stopped it and took your money back. The exit page does the last part if this service is gone.",
      href: "/exit.html",
      label: "See the exit page",
      also: { label: "Close this", work: async () => tryIt(false) },
    };
  }
  const isOpen = (progress?.positions ?? []).length > 0;
  return {
    n: 7,
    title: isOpen ? "Close the position" : "Take your money back",
    text: isOpen
      ? "Press “Close all”, then “Unwind”, and send it. After that press “Withdraw”."
      : "Press “Withdraw”, then “Send with wallet”.",
    href,
    label: "Go to the mandate",
  };
}

/** @param {Practice} agent @param {WholeMandate} whole @param {string} href @returns {Step} */
function working(agent, whole, href) {
  const hasActed = (whole.progress?.positions ?? []).length > 0;
  const over = {
    label: "Let it try 250, above its cap",
    work: () => buy(agent, whole, OVER_THE_CAP_E6),
  };
  if (!hasActed) {
    return {
      n: 5,
      title: "Watch the agent work",
      text: "It buys for 100 USDC at the test venue, with its own key. The page follows by itself.",
      label: "Let the agent buy",
      work: () => buy(agent, whole, BUY_E6),
    };
  }
  return {
    n: 6,
    title: "Stop it",
    text: "It holds a position now. Let it try too much and the contract refuses it. Then press “Stop” on the mandate.",
    href,
    label: "Go to the mandate",
    also: over,
  };
}

function Guide() {
  const owner = session.value?.address ?? null;
  if (owner === null || !isTrying.value || !isOnline.value) return null;
  return html`<${Steps} key=${owner} />`;
}

function Steps() {
  const found = useResource(read, [], { everyS: 3, again: [changed.value] });
  const { isBusy, error, run } = useWork();
  const [isSmall, setSmall] = useState(false);
  if (found.data === null) return null;
  const step = stepOf(found.data);
  const act = (/** @type {() => Promise<unknown>} */ work) =>
    run(async () => {
      await work();
      await found.reload();
    });
  const isHere = step.href === `#/${place.value.path.map(encodeURIComponent).join("/")}`;
  return html`<aside class="guide card" aria-label="Try it"><div class="stack tight">
    <div class="head"><strong aria-live="polite">${step.n} of ${STEPS}: ${step.title}</strong>
      <button type="button" class="plain" aria-expanded=${!isSmall} onClick=${() => setSmall(!isSmall)}>${isSmall ? "Show" : "Hide"}</button></div>
    ${
      isSmall
        ? null
        : html`<p class="quiet">${step.text}</p><div class="row">
        ${step.work ? html`<button type="button" class="primary" disabled=${isBusy} onClick=${() => act(step.work ?? makeAgent)}>${isBusy ? "Working …" : step.label}</button>` : isHere ? null : html`<a class="button primary" href=${step.href}>${step.label}</a>`}
        ${step.also ? html`<button type="button" disabled=${isBusy} onClick=${() => act(step.also?.work ?? makeAgent)}>${step.also.label}</button>` : null}</div>
      <${Refused} error=${error} />`
    }
  </div></aside>`;
}

const box = document.createElement("div");
document.body.append(box);
render(html`<${Guide} />`, box);
