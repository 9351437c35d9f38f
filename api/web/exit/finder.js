// The form by which an owner says which vaults: by the factory's logs, or by their addresses.

import { addressOf, checksummed } from "../app/keccak.js";
import { walletError } from "../app/wallet-errors.js";
import { DEPLOYMENTS } from "./deployments.js";
import { byId, show } from "./dom.js";
import { findVaults } from "./vaults.js";

/**
 * @typedef {import("../app/wallet.js").Wallet} Wallet
 * @typedef {import("./vaults.js").Progress} Progress
 * @typedef {(factory: string, vault: string) => void} Take
 */

const MOST_PASTED = 50;
const UNCONNECTED = "Connect your wallet first: it is what reads the chain.";

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement | HTMLTextAreaElement} */ (byId(id));

/**
 * @param {{wallet: () => Wallet | null, take: Take}} options
 * @returns {{fill: () => void, owner: () => string | null}} fill: put in what is known of the
 *   wallet's account and network, where nobody has typed
 */
export function finder({ wallet, take }) {
  let isRunning = false;
  const typed = new Set();
  for (const id of ["owner", "factory", "lowest"]) {
    field(id).addEventListener("input", () => typed.add(id));
  }

  const fill = () => {
    const chosen = wallet();
    const known = DEPLOYMENTS.find((one) => one.chainId === chosen?.chainId);
    put("owner", chosen?.address ? checksummed(chosen.address) : "");
    put("factory", known?.factory ?? "");
    put("lowest", String(known?.block ?? 0));
  };
  /**
   * @param {string} id
   * @param {string} value
   */
  const put = (id, value) => {
    if (!typed.has(id)) field(id).value = value;
  };

  const find = async () => {
    const chosen = wallet();
    const factory = factoryOf();
    const owner = addressOf(field("owner").value);
    const lowest = /^\d{1,12}$/.test(field("lowest").value) ? Number(field("lowest").value) : null;
    if (chosen === null) return complain(UNCONNECTED);
    if (factory === null) return;
    if (owner === null) return complain("The owner is not an address. Check each character.");
    if (lowest === null) return complain("The first block is not a whole number.");
    isRunning = true;
    complain("");
    const found = new Set();
    /** @param {string} vault */
    const onFound = (vault) => {
      found.add(vault);
      take(factory, vault);
    };
    const isCancelled = () => !isRunning;
    byId("cancel").hidden = false;
    try {
      const search = { factory, owner, lowest, isCancelled, onProgress, onFound };
      const isWhole = await findVaults(chosen, search);
      const extent = isWhole ? "All blocks were looked at" : "Search ended early";
      say(`${extent}: ${vaultCount(found.size)}.`);
    } catch (thrown) {
      const error = walletError(thrown);
      say("");
      complain(
        `Your wallet's node does not list these logs: ${error.detail || error.message} ` +
          "Paste the vault's address below, or set another node in your wallet.",
      );
    } finally {
      isRunning = false;
      byId("cancel").hidden = true;
      byId("progress").hidden = true;
    }
  };

  const paste = () => {
    const texts = field("pasted")
      .value.split(/[\s,;]+/)
      .filter((text) => text !== "");
    const addresses = texts.slice(0, MOST_PASTED).map((text) => ({ text, vault: addressOf(text) }));
    const wrong = addresses.flatMap(({ text, vault }) => (vault ? [] : [text.slice(0, 60)]));
    if (wallet() === null) return complain(UNCONNECTED);
    if (texts.length === 0) return complain("Paste at least one address.");
    if (wrong.length > 0) return complain(`Not an address, or mistyped: ${wrong.join(", ")}`);
    const factory = factoryOf();
    if (factory === null) return;
    complain("");
    for (const { vault } of addresses) if (vault !== null) take(factory, vault);
  };

  const factoryOf = () => {
    const factory = addressOf(field("factory").value);
    if (factory === null) {
      complain(
        "The factory is not an address. It is verifyingContract in the terms that you signed, " +
          "and the receiver of the transaction that created your vault.",
      );
    }
    return factory;
  };

  byId("find").addEventListener("click", () => void (isRunning || find()));
  byId("cancel").addEventListener("click", () => (isRunning = false));
  byId("paste").addEventListener("click", paste);
  return { fill, owner: () => addressOf(field("owner").value) };
}

/** @param {Progress} progress */
function onProgress({ from, to, lowest, found }) {
  const bar = /** @type {HTMLProgressElement} */ (byId("progress"));
  bar.hidden = false;
  bar.max = Math.max(1, to - lowest + 1);
  bar.value = to - from + 1;
  say(`Looking through blocks ${from} to ${to}: ${vaultCount(found)} so far.`);
}

/** @param {number} count */
function vaultCount(count) {
  return count === 1 ? "1 vault found" : `${count} vaults found`;
}

/** @param {string} text */
function say(text) {
  show(byId("searched"), text);
}

/** @param {string} text */
function complain(text) {
  const place = byId("find-error");
  show(place, text);
  place.hidden = text === "";
}
