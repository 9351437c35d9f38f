// The emergency exit: an owner's vaults, and the way out of each, with a wallet and nothing else.

import { SELECTORS } from "../app/contracts.js";
import { addressOf } from "../app/keccak.js";
import { downloadSafeBatch, safeBatch } from "../app/safe.js";
import { perform } from "../app/transaction_view.js";
import { Transactions } from "../app/transactions.js";
import { Wallet, Wallets, walletError } from "../app/wallet.js";
import { units, usdcText } from "../app/words.js";
import { releaseCall, stopCall, takesMinimum, unwindCall, withdrawCall } from "./calls.js";
import { chainName, knownChain } from "./chains.js";
import { button, byId, el, show } from "./dom.js";
import { finder } from "./finder.js";
import { keepVaults, keepWallet, keptVaults, keptWallet } from "./kept.js";
import { cardText, transactionCard } from "./transaction-card.js";
import { canStop, vaultCard } from "./vault-card.js";
import { balanceOf, readVault, VaultError } from "./vaults.js";
import { walletSection } from "./wallet-section.js";

/**
 * @typedef {import("../app/wallet.js").Call} Call
 * @typedef {import("./vaults.js").Vault} Vault
 * @typedef {import("./vault-card.js").Doing} Doing
 * `isUnread`: the node gave no verdict on it, so that only its owner knows whether it is a vault.
 * @typedef {{address: string, factory: string, chainId: number, vault: Vault | null,
 *   news: string, isUnread?: boolean}} Entry
 */

const OPEN = new Set(["built", "simulated", "waiting"]);
// Phases that say that the vault is not, or no longer, what its card shows.
const TELLING = new Set(["refused", "mined", "reverted", "replaced"]);

const wallets = new Wallets(window);
/** @type {Wallet | null} */
let wallet = null;
/** @type {Transactions | null} */
let transactions = null;
/** @type {Map<string, Entry>} */
const entries = new Map();
/** @type {Map<string, string>} */
const phases = new Map();
let canBatch = false;
let walletNews = "";

const form = finder({ wallet: () => wallet, take: takeVault });

// ---------------------------------------------------------------- the wallet

/** @param {import("../app/wallet.js").FoundWallet} found */
async function choose(found) {
  leave();
  wallet = new Wallet(found);
  transactions = new Transactions({ wallet });
  wallet.subscribe(followWallet);
  transactions.subscribe(followTransactions);
  await attempt(wallet.connect());
  keepWallet(found.id);
  if (entries.size === 0 && wallet?.address) takeKept();
}

/** @param {import("../app/wallet.js").FoundWallet} found */
function chooseNow(found) {
  void choose(found);
}

/** Take up the wallet of the last visit, without opening it. */
async function resume() {
  const found = wallets.list().find((one) => one.id === keptWallet());
  if (wallet !== null || found === undefined) return;
  const candidate = new Wallet(found);
  const address = await candidate.resume().catch(() => null);
  candidate.close();
  if (address !== null && wallet === null) await choose(found);
}

function leave() {
  wallet?.close();
  transactions?.close();
  wallet = null;
  transactions = null;
  walletNews = "";
  phases.clear();
}

/** @param {Promise<unknown>} request what the wallet was asked; its refusal is shown */
async function attempt(request) {
  walletNews = "";
  try {
    await request;
  } catch (thrown) {
    const error = walletError(thrown);
    walletNews = `${error.message} ${error.next}`;
  }
  render();
}

async function followWallet() {
  form.fill();
  transactions?.resume();
  render();
  const chainId = wallet?.chainId ?? null;
  canBatch = chainId !== null && ((await wallet?.batchSupport(chainId))?.isAtomic ?? false);
  render();
}

function forget() {
  leave();
  keepWallet("");
  render();
}

// ---------------------------------------------------------------- vaults

/**
 * @param {string} factory
 * @param {string} address
 */
function takeVault(factory, address) {
  const chainId = wallet?.chainId ?? null;
  if (chainId === null) return;
  const key = enter({ chainId, factory, address });
  keepVaults([...entries.values()]);
  void readEntry(key);
}

/**
 * @param {import("./kept.js").KeptVault} named
 * @returns {string} its key
 */
function enter(named) {
  const key = `${named.chainId}-${named.address}`;
  entries.set(key, { ...named, vault: null, news: "Reading the vault." });
  return key;
}

/** Look again at what this tab looked at before it was reloaded. */
function takeKept() {
  const keys = keptVaults().map(enter);
  for (const key of keys) void readEntry(key);
}

/** @param {string} key */
async function readEntry(key) {
  const entry = entries.get(key);
  if (entry === undefined || wallet === null) return;
  render();
  try {
    await wallet.requireChain(entry.chainId);
    const vault = await readVault(wallet, { vault: entry.address, factory: entry.factory });
    entries.set(key, { ...entry, vault, news: "", isUnread: false });
  } catch (thrown) {
    const error = thrown instanceof VaultError ? null : walletError(thrown);
    const why = error === null ? /** @type {Error} */ (thrown).message : error.message;
    const next = entry.vault === null ? "" : " The figures here are older.";
    const news = `The vault could not be read. ${why}${next}`;
    entries.set(key, { ...entry, news, isUnread: error !== null });
  }
  render();
}

/**
 * What each step does, with the means that `put` has: to send calls, or to save them.
 * @param {string} key
 * @param {Vault} vault
 * @param {number} chainId
 * @param {boolean} isBatched
 * @param {(title: string, calls: readonly Call[]) => void} put
 * @returns {Doing}
 */
function doing(key, vault, chainId, isBatched, put) {
  const stop = stopCall(vault, chainId);
  const withdraw = withdrawCall(vault, vault.usdc, vault.withdrawable, chainId);
  const isBoth = isBatched && canStop(vault) && vault.status === 1 && vault.withdrawable > 0n;
  return {
    stop: () => put("Stop the mandate", [stop]),
    unwind: (position, text) => {
      const least = takesMinimum(position) ? minimumOf(text) : null;
      const call = unwindCall(vault, position, chainId, least);
      const title = `Close the position${least === null ? "" : ` for ${boundText(least)}`}`;
      if (call !== null) put(title, [call]);
      else tell(key, "Type the least that you accept, such as 99.5; 0 accepts any price.");
    },
    release: (position) =>
      put("Take the position's tokens", [releaseCall(vault, position, chainId)]),
    withdraw: () => put("Withdraw", [withdraw]),
    together: isBoth ? () => put("Stop and withdraw", [stop, withdraw]) : null,
    token: (text) => void takeToken(key, vault, chainId, text, put),
  };
}

/** @param {bigint} least USDC base units */
function boundText(least) {
  return least === 0n ? "any price" : `at least ${usdcText(least)} USDC`;
}

/**
 * @param {string} text
 * @returns {bigint | null} USDC base units; null where it is no amount of 0 or more
 */
function minimumOf(text) {
  const least = units(text.trim());
  return least === null || least < 0n ? null : least;
}

/**
 * @param {string} key
 * @param {Vault} vault
 * @param {number} chainId
 * @param {string} text
 * @param {(title: string, calls: readonly Call[]) => void} put
 */
async function takeToken(key, vault, chainId, text, put) {
  const token = addressOf(text);
  if (token === null) return tell(key, "The token is not an address. Check each character.");
  if (token === vault.usdc) return tell(key, "This is USDC: use the step Withdraw.");
  try {
    if (wallet === null) return;
    await wallet.requireChain(chainId);
    const amount = await balanceOf(wallet, token, vault.address);
    if (amount === 0n) return tell(key, "The vault holds none of this token.");
    put("Withdraw another token", [withdrawCall(vault, token, amount, chainId)]);
  } catch {
    tell(key, "At this address there is no token that says what the vault holds.");
  }
}

/**
 * @param {string} key
 * @param {string} news
 */
function tell(key, news) {
  const entry = entries.get(key);
  if (entry !== undefined) entries.set(key, { ...entry, news });
  render();
}

// ---------------------------------------------------------------- transactions

/**
 * @param {string} key
 * @param {Pick<Vault, "address" | "owner">} vault
 * @param {string} title
 * @param {readonly Call[]} calls
 */
async function act(key, vault, title, calls) {
  const own = transactions?.list().filter((one) => isOf(one, vault.address)) ?? [];
  const under = own.find((one) => isUnderWay(one, title));
  if (under !== undefined) return tell(key, `“${under.title}” is still under way: see below.`);
  tell(key, "");
  const id = transactions?.add(title, calls, vault.owner);
  if (id !== undefined) await transactions?.pursue(id);
}

/**
 * @param {import("../app/transaction-states.js").Transaction} transaction
 * @param {string} title
 */
function isUnderWay({ phase, error, title: other }, title) {
  const isAsked = phase === "sent" || phase === "unanswered";
  return (OPEN.has(phase) && error === null) || (isAsked && other === title);
}

/**
 * @param {import("../app/transaction-states.js").Transaction} transaction
 * @param {string} address
 */
function isOf(transaction, address) {
  return transaction.calls[0]?.to.toLowerCase() === address.toLowerCase();
}

function followTransactions() {
  for (const transaction of transactions?.list() ?? []) {
    const { id, phase, title } = transaction;
    if (phases.get(id) === phase && transaction.error === null) continue;
    phases.set(id, phase);
    byId("live").textContent = `${title}: ${cardText(transaction)}`;
    if (!TELLING.has(phase)) continue;
    for (const [key, entry] of entries) if (isOf(transaction, entry.address)) void readEntry(key);
  }
  render();
}

/**
 * @param {string} id
 * @param {import("../app/transaction_view.js").Act} asked
 */
function press(id, asked) {
  if (transactions !== null) void perform(transactions, id, asked);
}

// ---------------------------------------------------------------- what is shown

function render() {
  const actions = { wallets: wallets.list(), choose: chooseNow, forget };
  show(byId("wallet"), ...walletSection(wallet, walletNews, actions));
  const cards = [...entries].map(([key, entry]) => entryCard(key, entry));
  show(byId("vaults"), ...cards);
  const shown = [...entries.values()].filter((entry) => entry.vault !== null);
  const others = (transactions?.list() ?? []).filter(
    (one) => !shown.some((entry) => isOf(one, entry.address)),
  );
  byId("earlier").hidden = others.length === 0;
  show(byId("others"), ...others.map((one) => transactionCard(one, press)));
}

/**
 * @param {string} key
 * @param {Entry} entry
 */
function entryCard(key, entry) {
  const { vault, chainId, address } = entry;
  const again = () => void readEntry(key);
  if (vault === null) {
    return el(
      "section",
      { class: "card vault" },
      el("h3", { class: "mono break" }, address),
      el("p", { role: "status" }, entry.news),
      entry.isUnread === true && wallet?.chainId === chainId && unreadStop(key, entry),
      el("p", { class: "row" }, button(`read-${key}`, "Read the vault again", again)),
    );
  }
  const why = whyNot(vault, chainId);
  const own = (transactions?.list() ?? []).filter((one) => isOf(one, address));
  const offer = {
    key,
    why,
    news: entry.news,
    again,
    send:
      why === ""
        ? doing(key, vault, chainId, canBatch, (title, calls) => void act(key, vault, title, calls))
        : null,
    safe: doing(key, vault, chainId, true, (title, calls) => save(key, vault, title, calls)),
  };
  return el(
    "div",
    {},
    vaultCard(
      vault,
      offer,
      own.map((one) => transactionCard(one, press)),
    ),
    wallet !== null && wallet.chainId !== chainId && switchRow(chainId, key),
  );
}

/**
 * The stop of a vault that cannot be read: it needs nothing that the node would have to say.
 * @param {string} key
 * @param {Entry} entry
 */
function unreadStop(key, { address, chainId }) {
  const owner = wallet?.address ?? null;
  if (owner === null) return null;
  const vault = { address, owner };
  const send = () => void act(key, vault, "Stop the mandate", [stopCall(vault, chainId)]);
  return el(
    "p",
    { class: "row" },
    button(`unread-${key}`, "Stop the mandate unread", send),
    "If this is your vault, its agent loses its power; if it is not a vault, only the gas is lost.",
  );
}

/**
 * @param {Vault} vault
 * @param {number} chainId
 */
function whyNot(vault, chainId) {
  if (wallet === null || wallet.address === null) return "Connect your wallet to act.";
  if (wallet.chainId !== chainId) {
    const where = chainName(wallet.chainId);
    return `Your wallet is on ${where}; this vault is on ${chainName(chainId)}.`;
  }
  if (wallet.address === vault.owner.toLowerCase()) return "";
  const how = vault.hasCodeOwner
    ? "The owner is a contract: use the files for Safe below, or connect the account itself."
    : "Choose the owner's account in your wallet.";
  return `Your wallet's account is not the owner ${vault.owner}. ${how}`;
}

/**
 * @param {number} chainId
 * @param {string} key
 */
function switchRow(chainId, key) {
  const chain = knownChain(chainId) ?? { chainId, name: `Network ${chainId}`, rpcUrls: [] };
  const label = `Switch the wallet to ${chainName(chainId)}`;
  const act = () => void (wallet && attempt(wallet.switchTo(chain)));
  return el("p", { class: "row" }, button(`switch-${key}`, label, act, { isPrimary: true }));
}

/**
 * Who pays into whose hands is not left to the node: it says who owns the vault, and the file's
 * receiver must be who the owner says that they are.
 * @param {string} key
 * @param {Vault} vault
 * @param {string} title
 * @param {readonly Call[]} calls
 */
function save(key, vault, title, calls) {
  const isPaid = calls.some((call) => call.data.startsWith(SELECTORS.withdraw));
  if (isPaid && form.owner() !== vault.owner) {
    return tell(
      key,
      `This file would pay ${vault.owner}, the owner by the word of your wallet's node. If that is ` +
        "your Safe, type its address as the owner above, then save the file again.",
    );
  }
  const name = `${title} (${vault.address})`;
  const file = `${title.toLowerCase().replaceAll(" ", "-")}-${vault.address.slice(0, 10)}.json`;
  downloadSafeBatch(safeBatch({ calls, safe: vault.owner, name }), file);
}

wallets.subscribe(() => {
  render();
  void resume();
});
render();
void resume();
