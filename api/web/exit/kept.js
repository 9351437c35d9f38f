// What a reload keeps: which wallet was chosen, and which vaults were looked at. What the storage
// holds is hostile until parsed; a vault is checked against its factory again in any case.

import { addressOf } from "../app/keccak.js";

/** @typedef {{chainId: number, factory: string, address: string}} KeptVault */

const WALLET = "mandate-wallet.wallet";
const VAULTS = "mandate-wallet.exit";
const MOST_KEPT = 200;

/** @param {string} id of the wallet, "" for none */
export function keepWallet(id) {
  stored(() => localStorage.setItem(WALLET, id));
}

/** @returns {string} */
export function keptWallet() {
  return attempted(() => localStorage.getItem(WALLET)) ?? "";
}

/**
 * For this tab alone, and as long as it lives.
 * @param {readonly KeptVault[]} vaults
 */
export function keepVaults(vaults) {
  const kept = vaults.map(({ chainId, factory, address }) => ({ chainId, factory, address }));
  stored(() => sessionStorage.setItem(VAULTS, JSON.stringify(kept)));
}

/** @returns {KeptVault[]} */
export function keptVaults() {
  const found = attempted(() => JSON.parse(sessionStorage.getItem(VAULTS) ?? "[]"));
  if (!Array.isArray(found)) return [];
  return found.slice(0, MOST_KEPT).flatMap((one) => {
    const factory = addressOf(String(one?.factory));
    const address = addressOf(String(one?.address));
    const chainId = one?.chainId;
    if (factory === null || address === null || !Number.isSafeInteger(chainId)) return [];
    return [{ chainId, factory, address }];
  });
}

/** @param {() => void} put */
function stored(put) {
  try {
    put();
  } catch {
    // Without storage a reload forgets them, and no more.
  }
}

/**
 * @template T
 * @param {() => T} get
 * @returns {T | null}
 */
function attempted(get) {
  try {
    return get();
  } catch {
    return null; // the browser forbids storage, or it holds no JSON
  }
}
