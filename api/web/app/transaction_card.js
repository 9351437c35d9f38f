// A transaction is a card with the same life everywhere: built, simulated, waiting for the wallet, sent, mined, in
// the record. What a page asks for is here, above the page, until it is over and dismissed.

import { get } from "./api.js";
import { shortHash } from "./format.js";
import { Refused } from "./refusal.js";
import { downloadSafeBatch, safeBatch } from "./safe.js";
import { chosenWallet, explorer, session, wallet, walletState } from "./session.js";
import { buttonsOf, perform, sentenceOf, stepsOf, toneOf } from "./transaction_view.js";
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

const BEFORE_SENT = ["built", "simulated", "unsimulated", "waiting", "unanswered"];
const BEFORE_ASKED = ["built", "simulated", "unsimulated", "refused"];
const MARKS = { done: "✓ ", failed: "✕ ", now: "", "": "" };
const CLASSES = { send: "", simulate: "", force: "stop", sure: "stop", discard: "plain" };
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
  const { title, phase, error, hash, block } = one;
  const more = wanted.get(one.id);
  const sentence = sentenceOf(one);
  const press = (/** @type {import("./transaction_view.js").Act} */ act) =>
    run(async () => store && perform(store, one.id, act));
  return html`<article class=${`notice ${toneOf(one)}`} id=${`card-${one.id}`} tabindex="-1" aria-live="polite" data-phase=${phase} data-card>
    <div class="head"><strong>${title}</strong><span class="quiet">${PHASE_WORDS[phase]}</span></div>
    <ol class="steps">${stepsOf(one).map(({ state, word }) => html`<li data-state=${state}>${MARKS[state]}${word}</li>`)}</ol>
    ${more?.effect && BEFORE_SENT.includes(phase) ? html`<p>${more.effect}</p>` : null}
    ${sentence ? html`<p>${sentence}</p>` : null}
    ${hash ? html`<p class="quiet">Transaction <${LinkedHash} hash=${hash} />${block === null ? "" : `, block ${block}`}</p>` : null}
    ${error ? html`<${Refused} error=${error} />` : null}
    ${one.doubts?.map((sent) => html`<p class="quiet" key=${sent}>Your account sent <${LinkedHash} hash=${sent} /></p>`)}
    <div class="row">
      ${buttonsOf(one, { isAsked: false }).map(({ act, label, isPrimary }) => html`<button type="button" key=${label} class=${isPrimary ? "primary" : CLASSES[act]} disabled=${isBusy} onClick=${() => press(act)}>${label}</button>`)}
      ${one.calls.length > 0 && BEFORE_ASKED.includes(phase) ? html`<${SafeButton} one=${one} />` : null}
    </div>
  </article>`;
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
