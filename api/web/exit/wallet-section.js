// The wallet that is connected, or those that could be.

import { checksummed } from "../app/keccak.js";
import { chainName, knownChain } from "./chains.js";
import { button, el } from "./dom.js";

/**
 * @typedef {import("../app/wallet.js").Wallet} Wallet
 * @typedef {import("../app/wallet.js").FoundWallet} FoundWallet
 * @typedef {{wallets: FoundWallet[], choose: (found: FoundWallet) => void,
 *   forget: () => void}} WalletActions
 */

/**
 * @param {Wallet | null} wallet
 * @param {string} said what the wallet refused last, "" for nothing
 * @param {WalletActions} actions
 */
export function walletSection(wallet, said, actions) {
  const news = said !== "" && el("p", { class: "notice loss", role: "alert" }, said);
  if (wallet === null || wallet.address === null) return [walletChoice(actions), news];
  const { found, address, chainId } = wallet;
  const account = el("span", { class: "mono break" }, checksummed(address));
  return [
    el("p", {}, icon(found), ` ${found.name}, account `, account),
    el("p", { id: "network" }, `Network: ${chainName(chainId)}`, testBadge(chainId)),
    el("p", { class: "row" }, button("other-wallet", "Use another wallet", actions.forget)),
    news,
  ];
}

/** @param {WalletActions} actions */
function walletChoice({ wallets, choose }) {
  if (wallets.length > 0) {
    return el(
      "div",
      { class: "row" },
      ...wallets.map((one, i) => {
        const label = button(`wallet-${i}`, `Connect ${one.name}`, () => choose(one), {
          isPrimary: wallets.length === 1,
        });
        label.prepend(icon(one));
        return label;
      }),
    );
  }
  return el(
    "p",
    { class: "notice" },
    "This browser has no wallet. Install your wallet's extension, or open this page in your " +
      "wallet's own browser, then reload. Wallets are not offered to files opened from a disk: " +
      "open this page over https or on localhost.",
  );
}

/** @param {import("../app/wallet.js").FoundWallet} found */
function icon(found) {
  if (found.icon === "") return "";
  return el("img", { src: found.icon, alt: "", width: "20", height: "20" });
}

/** @param {number | null} chainId */
function testBadge(chainId) {
  return knownChain(chainId)?.isTest ? el("span", { class: "badge test" }, "Test network") : null;
}
