// A transaction is a card with the same life everywhere: built, simulated, waiting for the wallet, sent, mined, in
// the record. What a page asks for stands here, above the page, until it is over and dismissed.

import { get } from "./api.js";
import { SELECTORS } from "./contracts.js";
import { shortHash } from "./format.js";
import { Refused } from "./refusal.js";
import { downloadSafeBatch, safeBatch } from "./safe.js";
import { chosenWallet, explorer, session, wallet, walletState } from "./session.js";
import { PHASE_WORDS } from "./transaction-states.js";
import { Transactions as Store } from "./transactions.js";
import { effect, html, signal } from "./ui.js";
import { WalletError } from "./wallet.js";
import { useWork } from "./work.js";

/**
 * `effect`: what changes when it is mined, in one sentence. `mandateId`: whose record will show it. `from`: who signs,
 * where it is not whoever is signed in now.
 * @typedef {{title: string, calls: readonly import("./wallet.js").Call[], effect?: string | null,
 *   mandateId?: string | null, from?: string}} Wanted
 */

/** Counts up when a transaction was mined or is in the record: pages read again. */
export const changed = signal(0);
const list = signal(/** @type {readonly import("./transaction-states.js").Transaction[]} */ ([]));
/** What the cards say beside the transaction itself, by its id. @type {Map<string, Wanted & {rest: readonly import("./wallet.js").Call[]}>} */
const wanted = new Map();
/** Hashes whose record is being looked at. @type {Set<string>} */
const followed = new Set();

/** Why a second transaction, which was to follow a first, could not be shown. */
const beginError = signal(/** @type {unknown} */ (null));

const STEPS = /** @type {const} */ (["built", "simulated", "waiting", "sent", "mined", "recorded"]);
const BEFORE_SENT = ["built", "simulated", "unsimulated", "waiting", "unanswered"];
/** @type {Readonly<Record<string, string>>} */
const TONES = {
  refused: "loss",
  reverted: "loss",
  recorded: "settled",
  replaced: "attention",
  unsimulated: "attention",
  unanswered: "attention",
};
const RECORD_POLL_MS = 1_500;
const RECORD_POLLS = 60;

/** @type {Store | null} */
let store = null;
/** The wallet that `store` is of. @type {import("./wallet.js").Wallet | null} */
let of = null;

effect(() => {
  const chosen = wallet.value;
  void walletState.value; // its account and network: what was sent before is taken up for each
  if (chosen === null) return;
  if (store === null || of !== chosen) {
    of = chosen;
    store?.close();
    store = new Store({ wallet: chosen });
    store.subscribe((found) => {
      list.value = found;
      for (const one of found) settle(one);
    });
  }
  store.resume();
});

/**
 * Show a card for what the owner wants to send, simulated at once. Where the wallet has a request for the same open,
 * it is that one's card: a second one would be sent on top of it.
 * @param {Wanted} asked several calls: one batch where the wallet makes all or none of them, else one by one
 */
export async function begin(asked) {
  const from = asked.from ?? session.value?.address;
  beginError.value = null;
  const chosen = chosenWallet();
  if (store === null || from === undefined) throw new WalletError("unauthorized");
  const calls = asked.calls.map(({ to, data, value, chain_id }) => ({ to, data, value, chain_id }));
  const isBatch = calls.length > 1 && (await chosen.batchSupport(calls[0]?.chain_id ?? 0)).isAtomic;
  const [first, ...rest] = isBatch ? [calls] : calls.map((call) => [call]);
  if (first === undefined) return;
  const open = openRequest(asked, first, from);
  if (open) return document.getElementById(`card-${open.id}`)?.focus();
  const id = store.add(asked.title, first, from);
  wanted.set(id, { ...asked, rest: rest.flat() });
  list.value = store.list();
  await store.simulate(id);
  document.getElementById(`card-${id}`)?.focus();
}

/** @param {Wanted} asked @param {readonly import("./wallet.js").Call[]} calls @param {string} from */
function openRequest({ title, mandateId = null }, calls, from) {
  return list.value.find((one) => {
    const known = wanted.get(one.id); // of what an earlier page asked for the mandate is not known
    return (
      ["waiting", "unanswered"].includes(one.phase) &&
      one.title === title &&
      one.from === from.toLowerCase() &&
      one.calls[0]?.to === calls[0]?.to &&
      (known === undefined || (known.mandateId ?? null) === mandateId)
    );
  });
}

/** @param {import("./transaction-states.js").Transaction} one */
function settle(one) {
  const more = wanted.get(one.id);
  if (one.phase !== "mined" || one.hash === null || followed.has(one.hash)) return;
  followed.add(one.hash);
  changed.value += 1;
  if (more && more.rest.length > 0) {
    const { rest } = more;
    wanted.set(one.id, { ...more, rest: [] });
    // by the account of the first call, whoever is signed in when that is mined
    begin({ ...more, calls: rest, from: one.from }).catch((error) => {
      beginError.value = error; // the wallet was disconnected meanwhile
    });
  }
  if (more?.mandateId) void follow(more.mandateId, one.hash, RECORD_POLLS);
}

/** @param {string} mandateId @param {string} hash @param {number} left */
async function follow(mandateId, hash, left) {
  if (left === 0) return;
  try {
    const found = await get(`/mandate-wallet/mandates/${mandateId}/steps`, { limit: 50 });
    if (found.steps.some((step) => step.tx_hash === hash)) {
      store?.recorded(hash);
      changed.value += 1;
      return;
    }
  } catch {
    // the service is away: it is asked again
  }
  setTimeout(() => void follow(mandateId, hash, left - 1), RECORD_POLL_MS);
}

/** The cards of this wallet, the newest first. */
export function Transactions() {
  if (list.value.length === 0) return null;
  return html`<section class="stack" aria-label="Transactions"><${Refused} error=${beginError.value} />${list.value.map((one) => html`<${Card} key=${one.id} one=${one} />`)}</section>`;
}

/** @param {{one: import("./transaction-states.js").Transaction}} props */
function Card({ one }) {
  const { isBusy, run } = useWork();
  const more = wanted.get(one.id);
  const send = (/** @type {{isSure?: boolean, isForced?: boolean}} */ consent = {}) =>
    run(async () => store?.pursue(one.id, consent));
  const isOver = !["waiting", "sent"].includes(one.phase);
  const isSimulable = ["refused", "unsimulated"].includes(one.phase);
  return html`<article class=${`notice ${TONES[one.phase] ?? ""}`} id=${`card-${one.id}`} tabindex="-1" aria-live="polite" data-phase=${one.phase} data-card>
    <div class="head"><strong>${one.title}</strong><span class="quiet">${PHASE_WORDS[one.phase]}</span></div>
    <${Steps} phase=${one.phase} />
    ${more?.effect && BEFORE_SENT.includes(one.phase) ? html`<p>${more.effect}</p>` : null}
    <${Words} one=${one} />
    ${one.error ? html`<${Refused} error=${one.error} />` : null}
    ${one.doubts?.map((sent) => html`<p class="quiet" key=${sent}>Your account sent <${LinkedHash} hash=${sent} /></p>`)}
    <div class="row">
      ${["simulated", "built", "unanswered"].includes(one.phase) ? html`<button type="button" class="primary" disabled=${isBusy} onClick=${() => send()}>${one.error ? "Try again" : "Send with wallet"}</button>` : null}
      ${one.phase === "unsimulated" ? html`<button type="button" class="primary" disabled=${isBusy} onClick=${() => send({ isForced: true })}>Send with wallet</button>` : null}
      ${one.phase === "refused" && isStop(one) ? html`<button type="button" class="stop" disabled=${isBusy} onClick=${() => send({ isForced: true })}>Send anyway</button>` : null}
      ${one.doubts ? html`<button type="button" class="stop" disabled=${isBusy} onClick=${() => send({ isSure: true })}>Send it all the same</button>` : null}
      ${isSimulable ? html`<button type="button" disabled=${isBusy} onClick=${() => run(async () => store?.simulate(one.id))}>Simulate again</button>` : null}
      ${one.calls.length > 0 && ["built", "simulated", "unsimulated", "refused"].includes(one.phase) ? html`<${SafeButton} one=${one} />` : null}
      ${isOver ? html`<button type="button" class="plain" onClick=${() => store?.discard(one.id)}>Dismiss</button>` : null}
    </div>
  </article>`;
}

/** @param {import("./transaction-states.js").Transaction} one */
function isStop({ calls }) {
  return calls.length === 1 && calls[0]?.data.startsWith(SELECTORS.stop) === true;
}

/** @param {{phase: import("./transaction-states.js").Phase}} props */
function Steps({ phase }) {
  const broken = /** @type {Readonly<Record<string, number>>} */ ({
    refused: 1,
    reverted: 4,
    replaced: 4,
  })[phase];
  const held = /** @type {Readonly<Record<string, number>>} */ ({ unsimulated: 1, unanswered: 2 })[
    phase
  ];
  const at = broken ?? held ?? STEPS.indexOf(/** @type {any} */ (phase));
  return html`<ol class="steps">${STEPS.map((step, index) => {
    const state =
      index < at || phase === "recorded"
        ? "done"
        : index > at
          ? ""
          : broken === undefined
            ? "now"
            : "failed";
    const word = index === (broken ?? held) ? PHASE_WORDS[phase] : PHASE_WORDS[step];
    return html`<li data-state=${state}>${state === "done" ? "✓ " : state === "failed" ? "✕ " : ""}${word}</li>`;
  })}</ol>`;
}

/** @param {{one: import("./transaction-states.js").Transaction}} props */
function Words({ one }) {
  const hash = one.hash
    ? html`<p class="quiet">Transaction <${LinkedHash} hash=${one.hash} />${one.block === null ? "" : `, block ${one.block}`}</p>`
    : null;
  const why = `${one.refusal?.sentence ?? "The contract would refuse it."} ${one.refusal?.next ?? ""}`;
  switch (one.phase) {
    case "refused":
      return html`<p>${why} Nothing was sent.${isStop(one) ? " A stop can be sent all the same: if the contract refuses it then, only the gas is lost." : ""}</p>`;
    case "unanswered":
      return one.refusal ? html`<p>By now it would be refused: ${why}</p>` : null;
    case "reverted":
      return html`<p>It was mined, and refused. ${one.refusal?.sentence ?? "The contract gave no reason."} ${one.refusal?.next} Nothing changed but the gas.</p>${hash}`;
    case "replaced":
      return html`<p>Your wallet replaced or cancelled it: another transaction with its number was mined. Look at your wallet's activity; this page shows what the chain holds.</p>`;
    case "waiting":
      return html`<p>Open your wallet and answer the request there.</p>`;
    case "sent":
      return html`<p class="quiet">On its way. You can close this page; it is found again.</p>${one.hasOther ? html`<p>Another request for it may still be open in your wallet: decline it there, or it is sent a second time.</p>` : null}${hash}`;
    default:
      return hash;
  }
}

/** @param {{hash: string}} props */
function LinkedHash({ hash }) {
  const link = explorer("tx", hash);
  return link
    ? html`<a href=${link} rel="noreferrer">${shortHash(hash)}</a>`
    : html`<code title=${hash}>${shortHash(hash)}</code>`;
}

/** @param {{one: import("./transaction-states.js").Transaction}} props all that is still to send, for owners whose account is a Safe */
function SafeButton({ one }) {
  const calls = [...one.calls, ...(wanted.get(one.id)?.rest ?? [])];
  const save = () =>
    downloadSafeBatch(
      safeBatch({ calls, safe: one.from, name: one.title }),
      "safe-transactions.json",
    );
  return html`<button type="button" class="plain" onClick=${save} title="For Safe's Transaction Builder">Safe file</button>`;
}
