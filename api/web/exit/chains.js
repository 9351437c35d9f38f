// What this page can call by a name. Any other network works as well, by its number.

/**
 * @typedef {import("../app/wallet.js").Chain} Chain
 * @type {readonly (Chain & {isTest: boolean})[]}
 */
const KNOWN = [
  {
    chainId: 84532,
    name: "Base Sepolia",
    rpcUrls: ["https://sepolia.base.org"],
    explorerUrls: ["https://sepolia.basescan.org"],
    isTest: true,
  },
];

/**
 * @param {number | null} chainId
 * @returns {(Chain & {isTest: boolean}) | undefined}
 */
export function knownChain(chainId) {
  return KNOWN.find((chain) => chain.chainId === chainId);
}

/** @param {number | null} chainId */
export function chainName(chainId) {
  if (chainId === null) return "unknown network";
  return knownChain(chainId)?.name ?? `network ${chainId}`;
}

/**
 * @param {number} chainId
 * @param {string} hash
 * @returns {string | null} where a block explorer shows the transaction
 */
export function explorerUrl(chainId, hash) {
  const [explorer] = knownChain(chainId)?.explorerUrls ?? [];
  return explorer === undefined ? null : `${explorer}/tx/${hash}`;
}
