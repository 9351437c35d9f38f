// Wallet and session of this tab. The token is kept in memory and in sessionStorage, and is gone at logout.
//
// Whoever changes the account in the wallet sees it at once: a session of another account is not used for signing.

import { computed, effect, signal } from "../vendor/signals.js";
import { get, onExpired, post, token } from "./api.js";
import { requireSignIn } from "./sign-in-text.js";
import { Wallet, WalletError, Wallets } from "./wallet.js";

const KEPT = "mandate-wallet.session";
const CHOSEN = "mandate-wallet.wallet";

/** @typedef {{address: string, token: string, expiresAt: string}} Session */

const discovered = new Wallets();
export const wallets = signal(discovered.list());
discovered.subscribe((list) => {
  wallets.value = list;
  void resumeChosen();
});

/** The wallet that was chosen, or null. @type {import("../vendor/signals.js").Signal<Wallet | null>} */
export const wallet = signal(null);
/** Account (lower case) and network of that wallet now. */
export const walletState = signal(
  /** @type {import("./wallet.js").WalletState} */ ({ address: null, chainId: null }),
);
/** @type {import("../vendor/signals.js").Signal<Session | null>} */
export const session = signal(restored());
/** Why there is no session any more, or null. @type {import("../vendor/signals.js").Signal<"expired" | null>} */
export const ended = signal(null);
/** What the service says of itself: chain id, contracts. */
export const service = signal(/** @type {import("./answers.js").ServiceDocument | null} */ (null));

token.value = session.value?.token ?? null;
effect(() => {
  const found = session.value;
  token.value = found?.token ?? null;
  keep(found);
});
onExpired.add(() => {
  if (session.value === null) return;
  session.value = null;
  ended.value = "expired";
});

/** Whether the wallet's account is another one than the session's. */
export const isOtherAccount = computed(
  () =>
    session.value !== null &&
    walletState.value.address !== null &&
    walletState.value.address !== session.value.address.toLowerCase(),
);
/** Whether the wallet is on another network than the service. */
export const isOtherNetwork = computed(
  () =>
    service.value !== null &&
    walletState.value.chainId !== null &&
    walletState.value.chainId !== service.value.chain_id,
);

/** The discovery document, read once. */
export async function readService() {
  service.value ??= await get("/.well-known/service.json");
  return service.value;
}

/** Test USDC of Base Sepolia. */
export const FAUCET = "https://faucet.circle.com";
/** The node of `make up`, which the service names in its page there and nowhere else. */
export const localRpc =
  globalThis.document?.querySelector?.("meta[name=local-rpc]")?.getAttribute("content") ?? null;

/**
 * The network of the service as a wallet adds it.
 * @returns {Promise<import("./wallet.js").Chain>}
 */
export async function network() {
  const found = await readService();
  const isLocal = localRpc !== null || isLoopback(location.hostname);
  return {
    chainId: found.chain_id,
    name: isLocal ? "Local test network" : "Base Sepolia",
    rpcUrls: isLocal ? (localRpc ? [localRpc] : []) : ["https://sepolia.base.org"],
    explorerUrls: isLocal ? undefined : ["https://sepolia.basescan.org"],
  };
}

/** @param {string} host */
export function isLoopback(host) {
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]";
}

/**
 * A link to a block explorer, or null on a local chain, which has none.
 * @param {"tx" | "address"} kind
 * @param {string} value
 */
export function explorer(kind, value) {
  return isLoopback(location.hostname) ? null : `https://sepolia.basescan.org/${kind}/${value}`;
}

/** @param {import("./wallet.js").FoundWallet} found choose a wallet and ask it for access */
export async function connect(found) {
  const next = new Wallet(found);
  adopt(next);
  await next.connect();
  remember(CHOSEN, found.id);
}

/** The wallet that was chosen. Errors: WalletError, which says whether there is one to choose. */
export function chosenWallet() {
  if (wallet.value !== null) return wallet.value;
  throw new WalletError(wallets.value.length > 0 ? "unauthorized" : "no_wallet");
}

/** Sign in: one signature, which moves no money. */
export async function signIn() {
  const chosen = chosenWallet();
  const address = await chosen.requireAccount();
  const asked = await post("/auth/wallet/nonce", { wallet_address: address, purpose: "login" });
  requireSignIn(asked.message, { host: location.host, address });
  const signature = await chosen.signMessage(asked.message, { from: address });
  const made = await post("/auth/owner/login", { message: asked.message, signature });
  ended.value = null;
  session.value = {
    address: made.wallet_address,
    token: made.bearer_token,
    expiresAt: made.expires_at,
  };
}

export async function signOut() {
  await post("/auth/owner/logout").catch(() => null);
  session.value = null;
  ended.value = null;
}

/** @param {Wallet} next */
function adopt(next) {
  wallet.value?.close();
  wallet.value = next;
  walletState.value = next.state;
  next.subscribe((state) => {
    walletState.value = state;
  });
}

/** The wallet that was chosen before gave access already: it does not open. */
async function resumeChosen() {
  if (wallet.value !== null) return;
  const found = wallets.value.find((one) => one.id === recall(CHOSEN));
  if (found === undefined) return;
  const next = new Wallet(found);
  adopt(next);
  await next.resume().catch(() => null);
}
void resumeChosen();

/** @returns {Session | null} */
function restored() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    const isWhole = [found?.address, found?.token, found?.expiresAt].every(
      (one) => typeof one === "string",
    );
    return isWhole && Date.parse(found.expiresAt) > Date.now() ? found : null;
  } catch {
    return null; // storage is switched off, or holds something else
  }
}

/** @param {Session | null} found */
function keep(found) {
  try {
    if (found === null) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, JSON.stringify(found));
  } catch {
    // without storage the session lives as long as this page
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // it is asked again next time
  }
}

/** @param {string} name */
export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
