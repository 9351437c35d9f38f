// The shell: rail, bar, and the page that the address names. Pages are loaded when they are shown.

import { get, isOnline, readyOf } from "./api.js";
import { shortHash } from "./format.js";
import { Keys } from "./keys.js";
import { freshness } from "./live.js";
import { LongWork } from "./long_work.js";
import { Refused } from "./refusal.js";
import { link, place } from "./router.js";
import {
  isLoopback,
  isOtherAccount,
  isOtherNetwork,
  readService,
  service,
  session,
  wallet,
  walletState,
} from "./session.js";
import { SignIn, WalletButton } from "./sign_in.js";
import { nextTheme, theme, turnTheme } from "./theme.js";
import { html, now, render, signal, Title, useEffect, useErrorBoundary, useState } from "./ui.js";

/** @type {Readonly<Record<string, {load: () => Promise<any>, label?: string, isPublic?: boolean}>>} */
const PAGES = {
  mandates: { load: () => import("../pages/mandates.js"), label: "Mandates" },
  sample: { load: () => import("../pages/sample.js"), isPublic: true },
  new: { load: () => import("../pages/new_mandate.js") },
  agents: { load: () => import("../pages/agents.js"), label: "Agents", isPublic: true },
  gallery: { load: () => import("../pages/gallery.js"), label: "Offers", isPublic: true },
  alerts: { load: () => import("../pages/alerts.js"), label: "Alerts" },
  statements: { load: () => import("../pages/statements.js"), label: "Statements" },
  earn: { load: () => import("../pages/earn.js"), label: "Earn", isPublic: true },
  tasks: { load: () => import("../pages/tasks.js"), label: "Tasks", isPublic: true },
  rooms: { load: () => import("../pages/rooms.js"), label: "Rooms", isPublic: true },
  board: { load: () => import("../pages/board.js"), label: "Board", isPublic: true },
  token: { load: () => import("../pages/token.js"), isPublic: true },
  notes: { load: () => import("../pages/notes.js"), label: "Notes", isPublic: true },
  fund: { load: () => import("../pages/fund.js"), label: "Fund", isPublic: true },
  reserve: { load: () => import("../pages/reserve.js"), label: "Reserve", isPublic: true },
  rules: { load: () => import("../pages/rules.js"), label: "Rules", isPublic: true },
  status: { load: () => import("../pages/status.js"), label: "Status", isPublic: true },
};
/** The rail, by groups; the foot is the last. @type {readonly [string, readonly string[]][]} */
const GROUPS = [
  ["Money", ["mandates", "agents", "gallery", "alerts", "statements"]],
  ["Work", ["earn", "tasks", "rooms"]],
  ["Market", ["board", "notes", "fund", "reserve"]],
  ["", ["rules", "status"]],
];
/** What a phone shows beside *More*, and where one is. */
const FIRST = ["mandates", "agents", "earn", "board", "alerts"];
/** Pages without an entry of their own, by the entry that leads to them. */
const UNDER = /** @type {Readonly<Record<string, string>>} */ ({
  new: "mandates",
  sample: "mandates",
  token: "board",
});

const LOAD_ALL_MS = 1_500;
/** The newest block that the service knows, and when it was read. */
const head = signal(/** @type {{lagS: number | null, status: string, at: number} | null} */ (null));

function App() {
  const [named = "mandates", ...rest] = place.value.path;
  // the list asks for a session first, and is where one goes after it
  const name = named === "sign-in" ? "mandates" : named;
  const page = Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
  useEffect(() => {
    void readHead();
    const timer = setInterval(() => {
      if (!document.hidden) void readHead();
    }, 15_000);
    return () => clearInterval(timer);
  }, []);
  const isIn = session.value !== null;
  const isConnected = walletState.value.address !== null;
  useEffect(() => {
    if (isIn || isConnected) void readService().catch(() => null);
  }, [isIn, isConnected]);
  useEffect(() => {
    if (!isIn) return undefined; // a visitor who only looks is sent what is looked at
    const later = setTimeout(loadAll, LOAD_ALL_MS);
    return () => clearTimeout(later);
  }, [isIn]);
  return html`<a class="skip" href="#main" onClick=${toMain}>Skip to the page</a>
    <${Banner} />
    <div class="shell">
      <${Rail} current=${name} />
      <${Bar} />
      <main class="main" id="main" tabindex="-1">
        <div class="page">
          <${WalletNotices} />
          <${Transactions} />
          <${LongWork} />
          ${
            page === undefined
              ? html`<${Missing} name=${name} />`
              : session.value === null && !page.isPublic
                ? html`<${SignIn} />`
                : html`<${Page} key=${name} load=${page.load} rest=${rest} />`
          }
        </div>
      </main>
    </div>
    <${Keys} />`;
}

/** The pages' parts, once the first page is there: they are at hand when the service is away. */
function loadAll() {
  for (const { load } of Object.values(PAGES)) void load().catch(() => null);
}

/** The cards of the wallet's transactions: without a wallet there are none, and their modules are not loaded. */
function Transactions() {
  const [Cards, setCards] = useState(/** @type {any} */ (null));
  const isChosen = wallet.value !== null;
  useEffect(() => {
    if (!isChosen) return;
    import("./transaction_card.js").then(
      (module) => setCards(() => module.Transactions),
      () => null, // the service is away; a page that begins a transaction loads them too, and says so
    );
  }, [isChosen]);
  return Cards === null ? null : html`<${Cards} />`;
}

/** @param {Event} event */
function toMain(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

async function readHead() {
  try {
    const found = await get("/health/ready").catch(readyOf);
    head.value = { lagS: found.parts.indexer?.lag_s ?? null, status: found.status, at: Date.now() };
  } catch {
    head.value = { lagS: null, status: isOnline.value ? "degraded" : "offline", at: Date.now() };
  }
}

/** @param {{load: () => Promise<any>, rest: string[]}} props */
function Page({ load, rest }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    load().then(
      (module) => setFound(() => module.default),
      () =>
        setError(
          new Error(
            "A part of the console could not be loaded; the service may have a new version. Reload the page.",
          ),
        ),
    );
  }, []);
  if (error) return html`<${Refused} error=${error} onRetry=${() => location.reload()} />`;
  if (found === null) return html`<p class="quiet" role="status">Loading …</p>`;
  return html`<${Whole} shown=${found} rest=${rest} />`;
}

/** A page that breaks on what it was given says so, and takes nothing else with it. @param {{shown: any, rest: string[]}} props */
function Whole({ shown, rest }) {
  const [broken, again] = useErrorBoundary();
  useEffect(again, [rest.join("/")]);
  if (broken) return html`<${Refused} error=${broken} onRetry=${again} />`;
  return html`<${shown} path=${rest} />`;
}

/** @param {{name: string}} props */
function Missing({ name }) {
  return html`<div class="empty"><${Title}>${`There is no page “${name.slice(0, 40)}”`}<//>
    <p><a class="button" href=${link("mandates")}>Go to your mandates</a></p></div>`;
}

/** What is permanent about where this runs: a test network, a chain of this machine. */
function Banner() {
  const isLocal = isLoopback(location.hostname);
  return html`<div class="banner">${isLocal ? "Local chain: nothing here has value." : "Test network: nothing here has value."}</div>`;
}

/** @param {{current: string}} props */
function Rail({ current }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  const here = UNDER[current] ?? current;
  const item = (/** @type {string} */ name) =>
    html`<a key=${name} class=${`item${FIRST.includes(name) ? " first" : ""}`} href=${link(name)} aria-current=${name === here ? "page" : undefined}>${PAGES[name]?.label}</a>`;
  return html`<nav class=${`rail${isOpen ? " open" : ""}`} aria-label="Pages">
    <a class="brand" href=${link("mandates")}><${Mark} />Mandate Wallet</a>
    ${GROUPS.map(
      ([title, names]) =>
        html`${title ? html`<span class="group">${title}</span>` : html`<span class="spacer"></span>`}${names.map(item)}`,
    )}
    <a class="item" href="/docs">Docs</a>
    <a class="item" href="/exit.html">Exit</a>
    <button type="button" class="plain item more" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Less" : "More"}</button>
  </nav>`;
}

function Mark() {
  return html`<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="currentColor" />
    <path d="M8 23V10l8 8 8-8v13" fill="none" stroke="var(--paper)" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" /></svg>`;
}

function Bar() {
  return html`<header class="bar">
    <${Head} />
    <${Fresh} />
    <span class="grow"></span>
    <button type="button" class="plain wide" onClick=${turnTheme} title="Change the colour scheme" aria-label=${`Colour scheme: ${theme.value}. Change to ${nextTheme()}`}>${{ system: "◐", light: "☀", dark: "☾" }[theme.value]}</button>
    <${WalletButton} />
  </header>`;
}

function Head() {
  const found = head.value;
  const chain = service.value ? `Chain ${service.value.chain_id}` : "";
  if (found === null) return html`<span class="quiet">${chain}</span>`;
  const age =
    found.lagS === null
      ? null
      : found.lagS + Math.max(0, Math.round((now.value - found.at) / 1000));
  const isGood = found.status === "ok" && age !== null && age < 60;
  const tone = found.status === "offline" ? "loss" : isGood ? "settled" : "attention";
  const says =
    found.status === "offline"
      ? "service offline"
      : age === null
        ? "block age unknown"
        : isGood
          ? "up to date"
          : age < 60
            ? "a part is behind"
            : `block ${age} s old`;
  return html`<a class="row quiet state" href=${link("status")} title="The service's state">
    <span class=${`dot ${tone}`} aria-hidden="true"></span>${chain ? html`<span class="wide">${chain} ·</span>` : null}<span>${says}</span></a>`;
}

const FRESH = /** @type {const} */ ({ live: "settled", delayed: "attention", offline: "loss" });

/** Whether what the page shows follows the service by itself. */
function Fresh() {
  const state = freshness.value;
  if (state === null) return null;
  return html`<span class="row quiet" data-fresh=${state}><span class=${`dot ${FRESH[state]}`} aria-hidden="true"></span>${state}</span>`;
}

/** What differs between wallet, session and service is said at once, on every page. */
function WalletNotices() {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const parts = [];
  if (isOtherNetwork.value) parts.push(html`<${OtherNetwork} onError=${setError} />`);
  if (isOtherAccount.value) {
    parts.push(html`<div class="notice attention" role="status"><strong>Your wallet shows another account</strong>
      <p>You are signed in as ${shortHash(session.value?.address ?? "")}; the wallet shows ${shortHash(walletState.value.address ?? "")}.
      You can read on. To sign, choose the first account in the wallet, or sign in with the second.</p>
      <div class="row"><button type="button" onClick=${signInAgain}>Sign in with the other account</button></div></div>`);
  }
  return html`${parts}${error ? html`<${Refused} error=${error} />` : null}`;
}

function signInAgain() {
  session.value = null;
  location.hash = link("mandates");
}

/** @param {{onError: (error: unknown) => void}} props */
function OtherNetwork({ onError }) {
  const change = async () => {
    const { network, wallet } = await import("./session.js");
    try {
      await wallet.value?.switchTo(await network());
      onError(null);
    } catch (error) {
      onError(error);
    }
  };
  return html`<div class="notice attention" role="status"><strong>Your wallet is on another network</strong>
    <p>It is on network ${walletState.value.chainId}; this service is on network ${service.value?.chain_id}. Nothing can be signed until it is switched.</p>
    <div class="row"><button type="button" onClick=${change}>Switch network</button></div></div>`;
}

const root = document.getElementById("app");
if (root) render(html`<${App} />`, root);
