// One way to show that something did not work: the sentence, and the first next call as a button.

import { ApiRefusal, OfflineError, SlowError } from "./api.js";
import { clock, sentenced } from "./format.js";
import { link } from "./router.js";
import { html, Notice, useEffect, useState } from "./ui.js";
import { WalletError } from "./wallet.js";

/** Where a next call is made on these pages: pattern, page, what the button says. */
const PLACES = /** @type {const} */ ([
  [/^POST \/auth\//, () => link("mandates"), "Sign in"],
  [
    /^GET \/mandate-wallet\/mandates\/([^/?]+)\/terms/,
    (/** @type {string} */ id) => link("mandates", id),
    "Review and sign the terms",
  ],
  [
    /^GET \/mandate-wallet\/mandates\/([^/?]+)\/approvals/,
    (/** @type {string} */ id) => link("mandates", id, "approvals"),
    "Open the approvals",
  ],
  [
    /^GET \/mandate-wallet\/mandates\/([^/?]+)\/(?:steps|ledger|record)/,
    (/** @type {string} */ id) => link("mandates", id, "record"),
    "Open the record",
  ],
  [
    /^\w+ \/mandate-wallet\/mandates\/([^/?]+)/,
    (/** @type {string} */ id) => link("mandates", id),
    "Open the mandate",
  ],
  [/^GET \/mandate-wallet\/mandates/, () => link("mandates"), "See your mandates"],
  [/^POST \/mandate-wallet\/mandates/, () => link("new"), "Draft a mandate"],
  [
    /^\w+ \/mandate-wallet\/agents\/(\d+)/,
    (/** @type {string} */ id) => link("agents", id),
    "Open the agent",
  ],
  [/^\w+ \/agents\//, () => link("agents", "mine"), "See your agents"],
  [/^GET \/mandate-wallet\/hall/, () => link("agents"), "Find an agent"],
  [/^\w+ \/mandate-wallet\/gallery/, () => link("gallery"), "Open the gallery"],
  [
    /^GET \/agent\/mining\/fields\/([^/?]+\/[^/?]+)$/,
    (/** @type {string} */ listing) => link("earn", "fields", ...listing.split("/")),
    "See the listing's fields",
  ],
  [/^GET \/kg\/landscape/, () => link("earn", "known"), "See what is known"],
  [/^GET \/earn\//, () => link("earn"), "Open Earn"],
  [/^\w+ \/tasks\/(\d+)/, (/** @type {string} */ id) => link("tasks", id), "Open the task"],
  [/^GET \/tasks\/browse/, () => link("tasks"), "See open tasks"],
  [/^\w+ \/hive\/rooms\/(\d+)/, (/** @type {string} */ id) => link("rooms", id), "Open the room"],
  [/^GET \/hive\/rooms/, () => link("rooms"), "See the rooms"],
  [/^\w+ \/fund\/vaults\/(\d+)/, (/** @type {string} */ id) => link("fund", id), "Open the vault"],
  [/^GET \/fund\/vaults/, () => link("fund"), "See the vaults"],
  [/^GET \/mandate-wallet\/me\/statement/, () => link("statements"), "Open the statements"],
  [/^GET \/mandate-wallet\/me\/alerts/, () => link("alerts"), "Open the alerts"],
  [/^GET \/health\//, () => link("status"), "See the status"],
  [/^GET \/prices/, () => link("rules"), "See limits and prices"],
  [/^GET \/me\/|^GET \/public\//, () => link("alerts"), "Open the alerts"],
]);

/**
 * The page and the words for a next call; null where no page makes it.
 * @param {import("./api.js").NextCall} next
 * @returns {{href: string, words: string} | null}
 */
function placeOf(next) {
  for (const [pattern, page, words] of PLACES) {
    const found = pattern.exec(`${next.method} ${next.path}`);
    if (found) return { href: page(found[1] ?? ""), words };
  }
  return null;
}

/**
 * @param {{error: unknown, onRetry?: (() => void) | null, title?: string}} props
 */
export function Refused({ error, onRetry, title }) {
  if (!error) return null;
  if (error instanceof OfflineError) {
    return html`<${Notice} tone="attention" title="The service does not answer">
      <p>Nothing was lost: this page tries again by itself. Your vaults do not depend on the service; in an emergency
      use <a href="/exit.html">the exit page</a> with your wallet alone.</p>
      ${again(onRetry)}
    <//>`;
  }
  if (error instanceof SlowError) {
    return html`<${Notice} tone="attention" title="The service is slow">
      <p>It is there, but has not answered yet. What you asked for may still be done: look before you ask again.</p>${again(onRetry)}
    <//>`;
  }
  if (error instanceof WalletError) {
    const tone = NO_LOSS.has(error.kind) ? "attention" : "loss";
    return html`<${Notice} tone=${tone} title=${error.message}>
      <p>${error.next}</p>
      ${error.detail ? html`<p class="quiet">Your wallet says: ${error.detail}</p>` : null}
      ${again(onRetry)}
    <//>`;
  }
  if (error instanceof ApiRefusal)
    return html`<${Service} refusal=${error} onRetry=${onRetry} title=${title} />`;
  return html`<${Notice} tone="loss" title=${title ?? "This page failed"}>
    <p>${String(/** @type {any} */ (error)?.message ?? error).slice(0, 300)}</p>${again(onRetry)}
  <//>`;
}

const NAMED = /(?:^|\. )([a-z_]+(?:[.[][\w\]]+)*): /g;

/**
 * What a refusal says of single fields, by the field's name as the service writes it: "budget_usdc: stay within …".
 * @param {unknown} error @returns {Readonly<Record<string, string>>} none where it is about the whole
 */
export function faultsOf(error) {
  if (!(error instanceof ApiRefusal) || !error.reason.startsWith("invalid_")) return {};
  const [before, ...parts] = error.message.split(NAMED);
  if (before !== "") return {};
  const found = /** @type {Record<string, string>} */ ({});
  for (let at = 0; at + 1 < parts.length; at += 2)
    found[parts[at] ?? ""] = `${sentenced(parts[at + 1] ?? "").replace(/\.$/, "")}.`;
  return found;
}

/** @param {{refusal: ApiRefusal, onRetry?: (() => void) | null, title?: string}} props */
function Service({ refusal, onRetry, title }) {
  const offered = refusal.next.map(placeOf).find((one) => one !== null) ?? null;
  const isTemporary = refusal.status === 503 || refusal.status === 429;
  return html`<${Notice} tone=${isTemporary ? "attention" : "loss"} title=${title ?? refusal.message}>
    ${title ? html`<p>${refusal.message}</p>` : null}
    ${refusal.retryAt ? html`<p class="quiet">It works again from ${clock(refusal.retryAt)} on.</p>` : null}
    <div class="row" data-reason=${refusal.reason}>
      ${offered && offered.href !== location.hash ? html`<a class="button" href=${offered.href}>${offered.words}</a>` : null}
      ${onRetry ? html`<button type="button" onClick=${onRetry}>Try again</button>` : null}
      ${offered || onRetry ? null : html`<a class="button" href="/docs">Read the documentation</a>`}
    </div>
  <//>`;
}

/** @param {(() => void) | null | undefined} onRetry */
function again(onRetry) {
  return onRetry
    ? html`<div class="row"><button type="button" onClick=${onRetry}>Try again</button></div>`
    : null;
}

/** What asks for attention, where nothing failed. */
const NO_LOSS = new Set(["rejected", "pending", "unanswered", "moved", "unsimulated"]);

const SLOW_MS = 8_000;

/** @param {{what: string}} props */
function Loading({ what }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class="quiet" role="status">${isSlow ? `The service is slow: still loading ${what} …` : `Loading ${what} …`}</p>`;
}

/**
 * A page's read, whole: loading, refused, or shown; an error beside what was read before says that it is old.
 * @template T
 * @param {{of: import("./resource.js").Resource<T>, what?: string, children: (data: T) => any}} props
 */
export function Read({ of, what, children }) {
  if (of.data === null) {
    if (of.error) return html`<${Refused} error=${of.error} onRetry=${of.reload} />`;
    return html`<${Loading} what=${what ?? "this page"} />`;
  }
  return html`${of.error ? html`<${Refused} error=${of.error} onRetry=${of.reload} title="What is shown may be old" />` : null}${children(of.data)}`;
}
