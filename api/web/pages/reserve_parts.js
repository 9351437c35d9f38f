// What the parts of the Reserve page share: amounts of the token, and questions to its contract through the wallet.

import { chosenWallet, walletState } from "../app/session.js";
import { askedWord } from "../app/wallet_money.js";

/** @typedef {import("../app/answers.js").ReserveConfig} ReserveConfig */

const TOKENS = /^(\d{1,24})(?:\.(\d{1,18}))?$/;

/** @param {string} text @returns {bigint | null} base units of 1e-18; null where it is no amount above 0 */
export function tokenUnits(text) {
  const found = TOKENS.exec(text);
  if (!found) return null;
  const value = BigInt(found[1] ?? "0") * 10n ** 18n + BigInt((found[2] ?? "").padEnd(18, "0"));
  return value > 0n ? value : null;
}

/** @param {bigint | string} value base units, or text with eighteen decimals */
export function tokenText(value) {
  const text =
    typeof value === "string"
      ? value
      : `${value / 10n ** 18n}.${String(value % 10n ** 18n).padStart(18, "0")}`;
  const [whole = "0", part = ""] = text.split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${part.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** The account that signs. Errors: WalletError. */
export async function sender() {
  return walletState.value.address ?? (await chosenWallet().connect());
}

/**
 * @param {ReserveConfig} config @param {string} data @param {string} [to] the token, unless named
 * @returns {Promise<bigint>} what the contract itself answers
 */
export function ask(config, data, to = config.contracts.reserve_token) {
  return askedWord(config.chain_id, to, data);
}
