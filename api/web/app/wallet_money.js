// What the wallet itself can pay, read from the chain through it before anything is signed.

import { addressWord, wordsOf } from "./abi.js";
import { SELECTORS } from "./contracts.js";
import { amountText, integer } from "./format.js";
import { useResource } from "./resource.js";
import { chosenWallet, FAUCET, isLoopback, readService, wallet, walletState } from "./session.js";
import { Amount, html, Notice } from "./ui.js";

/**
 * One word that a contract answers through the wallet. Errors: WalletError, also on another network.
 * @param {number} chainId @param {string} to @param {string} data
 */
export async function askedWord(chainId, to, data) {
  const chosen = chosenWallet();
  await chosen.requireChain(chainId);
  const [word = "0"] = wordsOf(await chosen.request("eth_call", [{ to, data }, "latest"]), 1);
  return BigInt(`0x${word}`);
}

/** @returns {Promise<{usdc: bigint, wei: bigint} | null>} null: no wallet on the service's network */
async function read() {
  const { address } = walletState.value;
  const chosen = wallet.value;
  if (chosen === null || address === null) return null;
  const { chain_id, contracts } = await readService();
  if (walletState.value.chainId !== chain_id) return null;
  const [usdc, wei] = await Promise.all([
    askedWord(chain_id, contracts.usdc ?? "", SELECTORS.balanceOf + addressWord(address)),
    chosen.request("eth_getBalance", [address, "latest"]),
  ]);
  return { usdc, wei: BigInt(String(wei)) };
}

/**
 * The balances, and what is missing for `needed`. Nothing while they are unknown: the wallet says it when it signs.
 * @param {{needed: bigint | null}} props base units of USDC; null: no amount yet
 */
export function WalletMoney({ needed }) {
  const { address, chainId } = walletState.value;
  const { data } = useResource(read, [address, chainId], { everyS: 15 });
  if (data === null) return null;
  const missing = needed === null ? 0n : needed - data.usdc;
  return html`<p class="quiet">Your wallet has <${Amount} exact value=${amountText(data.usdc)} /> and ${ether(data.wei)} ETH.</p>
    ${missing > 0n ? html`<${Notice} tone="attention" title="Your wallet has too little USDC"><p><${Amount} exact value=${amountText(missing)} /> are missing. Lower the amount, or ${isLoopback(location.hostname) ? "use an account that has some on this local chain" : html`get test USDC from <a href=${FAUCET} rel="noreferrer">Circle's faucet</a> (Base Sepolia)`}.</p><//>` : null}
    ${data.wei === 0n ? html`<${Notice} tone="attention" title="Your wallet has no ETH"><p>It pays for transactions. Get some test ETH before you sign.</p><//>` : null}`;
}

/** @param {bigint} wei at most five decimals, rounded down */
function ether(wei) {
  const part = String((wei % 10n ** 18n) / 10n ** 13n).padStart(5, "0");
  return `${integer(wei / 10n ** 18n)}.${part}`.replace(/0{1,3}$/, "");
}
