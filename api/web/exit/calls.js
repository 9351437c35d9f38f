// The calls by which an owner leaves a vault.

import { addressWord, textWord, uintWord, unwindArguments } from "../app/abi.js";
import { EXITS, SELECTORS } from "../app/contracts.js";

/**
 * @typedef {import("../app/wallet.js").Call} Call
 * @typedef {import("./vaults.js").Vault} Vault
 * @typedef {import("./vaults.js").Position} Position
 */

const STOP_REASON = "owner";

/**
 * Stops the mandate for good and removes the agent.
 * @param {Pick<Vault, "address">} vault
 * @param {number} chainId
 * @returns {Call}
 */
export function stopCall(vault, chainId) {
  return built(vault.address, SELECTORS.stop + textWord(STOP_REASON), chainId);
}

/**
 * Closes a position whole; what it brings comes to the vault.
 * @param {Vault} vault
 * @param {Position} position
 * @param {number} chainId
 * @returns {Call | null} null where this page knows no exit, or not how many units there are
 */
export function unwindCall(vault, { adapter, exit, units }, chainId) {
  if (exit === null || units === null || units === 0n) return null;
  const after = EXITS[exit]?.after ?? "";
  const leave = { target: adapter, data: exit + uintWord(units) + after };
  return built(vault.address, SELECTORS.unwind + unwindArguments([leave]), chainId);
}

/**
 * Takes a token out of the vault, to its owner.
 * @param {Vault} vault
 * @param {string} token
 * @param {bigint} amount in the token's base units
 * @param {number} chainId
 * @returns {Call}
 */
export function withdrawCall(vault, token, amount, chainId) {
  const words = addressWord(token) + addressWord(vault.owner) + uintWord(amount);
  return built(vault.address, SELECTORS.withdraw + words, chainId);
}

/**
 * @param {string} to
 * @param {string} data
 * @param {number} chainId
 * @returns {Call}
 */
function built(to, data, chainId) {
  return { to, data, value: 0, chain_id: chainId };
}
