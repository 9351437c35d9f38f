// The calls by which an owner leaves a vault.

import { addressWord, textWord, uintWord, unwindArguments } from "../app/abi.js";
import { ALLOWANCE_BPS, EXITS, RELEASE, SELECTORS } from "../app/contracts.js";

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
 * Whether the contract wants to know the least that closing the position may bring.
 * @param {Position} position
 */
export function takesMinimum({ exit }) {
  return exit !== null && (EXITS[exit]?.takesMinimum ?? false);
}

/**
 * What a position is worth less what closing it may bring less, rounded down; null where the worth
 * is unknown: then only the owner can say.
 * @param {Position} position
 * @returns {bigint | null} USDC base units
 */
export function leastOf({ worth }) {
  return worth === null ? null : (worth * (10_000n - BigInt(ALLOWANCE_BPS))) / 10_000n;
}

/**
 * Closes a position whole; what it brings comes to the vault.
 * @param {Vault} vault
 * @param {Position} position
 * @param {number} chainId
 * @param {bigint | null} least in USDC base units: below it the contract refuses; null where its exit
 *   takes none
 * @returns {Call | null} null where this page knows no exit, or not how many units there are, or not
 *   the least that the exit takes
 */
export function unwindCall(vault, position, chainId, least) {
  const { adapter, exit, units } = position;
  if (exit === null || units === null || units === 0n) return null;
  const wants = takesMinimum(position);
  if (wants && least === null) return null;
  const after = wants && least !== null ? uintWord(least) : "";
  const leave = { target: adapter, data: exit + uintWord(units) + after };
  return built(vault.address, SELECTORS.unwind + unwindArguments([leave]), chainId);
}

/**
 * Hands the vault the venue's own tokens of a position, whatever the venue does.
 * @param {Vault} vault
 * @param {Position} position
 * @param {number} chainId
 * @returns {Call}
 */
export function releaseCall(vault, { adapter }, chainId) {
  const leave = { target: adapter, data: RELEASE };
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
