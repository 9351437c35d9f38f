// The node of `make up`, asked by the page itself, and its faucet.

import { localRpc } from "../app/session.js";
import { signal } from "../vendor/signals.js";

/** The built-in wallet's reverse domain name. */
export const BUILT_IN = "local.built-in-wallet";
/** The accounts of anvil's public phrase that are for the page, by number (scripts/_accounts.py). */
export const VISITOR = 12;
export const FIRST_AGENT = 13;

let asked = 0;

/**
 * @param {string} method @param {...unknown} params
 * @returns {Promise<any>} what it answers; what it refuses is thrown as a wallet would throw it
 */
export async function ask(method, ...params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++asked, method, params });
  const { result, error } = await (await sent(localRpc ?? "", body)).json();
  if (error) throw Object.assign(new Error(error.message), error);
  return result;
}

/**
 * Whether a wallet asks this chain: one that knows the number may go on asking its own Base Sepolia.
 * @param {import("../app/wallet.js").Wallet} wallet
 */
export async function isHere(wallet) {
  const first = ["0x0", false];
  const [theirs, ours] = await Promise.all([
    wallet.request("eth_getBlockByNumber", first).catch(() => null),
    ask("eth_getBlockByNumber", ...first),
  ]);
  return /** @type {any} */ (theirs)?.hash === ours.hash;
}

/** 1 test ETH and 10,000 test USDC. @param {string} address */
export async function fill(address) {
  const answer = await sent("/local/faucet", JSON.stringify({ address }));
  if (!answer.ok) throw new Error((await answer.json()).detail);
}

/** @param {string} url @param {string} body */
function sent(url, body) {
  return fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

const TRYING = "mandate-wallet.trying";

/** Whether this tab follows *Try it*. */
export const isTrying = signal(stored());

/** @param {boolean} is */
export function tryIt(is) {
  isTrying.value = is;
  try {
    sessionStorage.setItem(TRYING, String(is));
  } catch {
    // without storage it lasts as long as this page
  }
}

function stored() {
  try {
    return sessionStorage.getItem(TRYING) === "true";
  } catch {
    return false;
  }
}
