// An owner's vaults: found by the factory's logs, and read by calls, through the wallet's own node.
//
// What a node answers is hostile until parsed. A log is a hint and no more: a vault counts when the
// factory, whose address the owner knows, says that it is one.

import {
  addressOfWord,
  addressWord,
  boolOf,
  rulesOf,
  textOfWord,
  uintOf,
  wordsOf,
} from "../app/abi.js";
import { EXITS, RELEASE, SELECTORS, VAULT_CREATED } from "../app/contracts.js";
import { walletError } from "../app/wallet-errors.js";

/**
 * @typedef {import("../app/wallet.js").Wallet} Wallet
 * `worth` in USDC base units; null: the adapter does not say. `units` null: not known whether there
 * is a position. `exit`: the selector of the function that closes it, null where this page knows
 * none. `canRelease`: the adapter can hand the vault the venue's own tokens.
 * @typedef {{adapter: string, units: bigint | null, worth: bigint | null,
 *   exit: string | null, canRelease: boolean}} Position
 * Amounts in USDC base units, times in unix seconds. `isOpen`: whether a withdrawal would pay out.
 * @typedef {{
 *   address: string, factory: string, usdc: string, owner: string, agent: string, status: number,
 *   endsAt: bigint, isOpen: boolean, lockReason: string, lockUntil: bigint, feeOwed: bigint,
 *   balance: bigint, withdrawable: bigint, positions: Position[], otherTargets: string[],
 *   hasCodeOwner: boolean, readAt: bigint,
 * }} Vault
 * @typedef {{from: number, to: number, lowest: number, found: number}} Progress
 * @typedef {{factory: string, owner: string, lowest: number, isCancelled: () => boolean,
 *   onProgress: (progress: Progress) => void, onFound: (vault: string) => void}} Search
 */

export const STATUS = Object.freeze(["Funding", "Working", "Stopped", "Settled"]);
const KIND_EXIT = 1;
const KIND_VALUED = 2;
const RATE_PAUSE_MS = 1_500;
const MOST_PAUSES = 8;
const RANGES_BEFORE_LONGER = 32;
const MOST_VAULTS = 200;

/** A vault that cannot be shown; the message is a sentence for its owner. */
export class VaultError extends Error {}

/**
 * Look through the factory's logs from the newest block down, all at once if the node lets us. A
 * range that it refuses is halved; after a row of ranges that it took, the next is twice as long.
 * @param {Wallet} wallet
 * @param {Search} search
 * @returns {Promise<boolean>} whether all blocks down to `lowest` were looked at
 */
export async function findVaults(wallet, search) {
  const found = new Set();
  const newest = Number(uintOf(quantityWord(await wallet.request("eth_blockNumber")), 52));
  let to = newest;
  let span = newest - search.lowest + 1;
  let [pauses, taken] = [0, 0];
  while (to >= search.lowest) {
    if (search.isCancelled()) return false;
    const from = Math.max(search.lowest, to - span + 1);
    search.onProgress({ from, to: newest, lowest: search.lowest, found: found.size });
    try {
      for (const vault of vaultsOf(await logs(wallet, search, from, to), search)) {
        if (!found.has(vault) && found.size < MOST_VAULTS) search.onFound(vault);
        found.add(vault);
      }
      to = from - 1;
      pauses = 0;
      taken += 1;
      if (taken % RANGES_BEFORE_LONGER === 0) span *= 2;
    } catch (thrown) {
      const error = walletError(thrown);
      if (error.kind !== "failed" && error.kind !== "timeout") throw error;
      taken = 0;
      if (/rate.?limit|too many requests|429/i.test(error.detail) && pauses < MOST_PAUSES) {
        pauses += 1;
        await new Promise((resolve) => setTimeout(resolve, RATE_PAUSE_MS));
      } else if (to === from) throw error;
      else span = Math.ceil((to - from + 1) / 2);
    }
  }
  search.onProgress({ from: search.lowest, to: newest, lowest: search.lowest, found: found.size });
  return true;
}

/**
 * @param {Wallet} wallet
 * @param {Search} search
 * @param {number} from
 * @param {number} to
 */
function logs(wallet, search, from, to) {
  const filter = {
    address: search.factory,
    topics: [VAULT_CREATED, null, null, "0x" + addressWord(search.owner)],
    fromBlock: "0x" + from.toString(16),
    toBlock: "0x" + to.toString(16),
  };
  return wallet.request("eth_getLogs", [filter]);
}

/**
 * The vaults that logs name, of this factory and owner alone, whatever else the node sent.
 * @param {unknown} answer
 * @param {Search} search
 * @returns {string[]}
 */
export function vaultsOf(answer, search) {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((log) => {
    /** @type {unknown[]} */
    const topics = Array.isArray(log?.topics) ? log.topics.slice(0, 4) : [];
    const [event, vault, , owner] = topics.map((topic) => String(topic).toLowerCase());
    const isOurs = String(log?.address).toLowerCase() === search.factory.toLowerCase();
    if (!isOurs || event !== VAULT_CREATED || owner !== "0x" + addressWord(search.owner)) return [];
    return /^0x0{24}[0-9a-f]{40}$/.test(vault ?? "") ? [addressOfWord((vault ?? "").slice(2))] : [];
  });
}

/**
 * Everything about a vault that its owner needs to leave.
 * @param {Wallet} wallet
 * @param {{vault: string, factory: string}} named
 * @returns {Promise<Vault>} VaultError where it is no vault of the factory
 */
export async function readVault(wallet, { vault, factory }) {
  const read = reader(wallet);
  await requireVault(read, vault, factory);
  const [usdc, owner, agent, status, endsAt, lock, feeOwed, rules, readAt] = await Promise.all([
    read.words(factory, SELECTORS.usdc, 1),
    read.words(vault, SELECTORS.owner, 1),
    read.words(vault, SELECTORS.agent, 1),
    read.words(vault, SELECTORS.status, 1),
    read.words(vault, SELECTORS.endsAt, 1),
    read.words(vault, SELECTORS.lock, 3),
    read.words(vault, SELECTORS.feeOwed, 1),
    read.raw(vault, SELECTORS.rules),
    read.time(),
  ]);
  const token = addressOfWord(usdc[0]);
  const balance = await balanceOf(wallet, token, vault);
  const fee = uintOf(feeOwed[0], 96);
  const allowed = rulesOf(rules);
  const valued = distinct(allowed.filter((one) => one.kind === KIND_VALUED));
  const positions = await Promise.all(
    valued.map((adapter) => positionAt(read, vault, adapter, allowed)),
  );
  return {
    address: vault,
    factory,
    usdc: token,
    owner: addressOfWord(owner[0]),
    agent: addressOfWord(agent[0]),
    status: Number(uintOf(status[0], 2)),
    endsAt: uintOf(endsAt[0], 64),
    isOpen: boolOf(lock[0]),
    lockReason: textOfWord(lock[1]),
    lockUntil: uintOf(lock[2], 64),
    feeOwed: fee,
    balance,
    withdrawable: balance > fee ? balance - fee : 0n,
    positions: positions.filter((one) => one.units !== 0n),
    otherTargets: distinct(allowed.filter((one) => one.kind === KIND_EXIT)).filter(
      (target) => !valued.includes(target),
    ),
    hasCodeOwner: await read.hasCode(addressOfWord(owner[0])),
    readAt,
  };
}

/**
 * @param {Wallet} wallet
 * @param {string} token
 * @param {string} holder
 * @returns {Promise<bigint>} in the token's base units
 */
export async function balanceOf(wallet, token, holder) {
  const data = SELECTORS.balanceOf + addressWord(holder);
  const [word] = await reader(wallet).words(token, data, 1);
  return uintOf(word);
}

/**
 * @param {Reader} read
 * @param {string} vault
 * @param {string} factory
 */
async function requireVault(read, vault, factory) {
  if (!(await read.hasCode(factory))) {
    throw new VaultError(`There is no contract at the factory's address ${factory} here.`);
  }
  if (!(await read.hasCode(vault))) {
    throw new VaultError(`There is no contract at ${vault} on this network.`);
  }
  const [isVault] = await read.words(factory, SELECTORS.isVault + addressWord(vault), 1);
  if (!boolOf(isVault)) {
    throw new VaultError(`The factory ${factory} did not make ${vault}. Do not send it anything.`);
  }
}

/**
 * A hostile or broken adapter makes its own position unknown, and no other.
 * @param {Reader} read
 * @param {string} vault
 * @param {string} adapter
 * @param {import("../app/abi.js").Rule[]} rules
 * @returns {Promise<Position>}
 */
async function positionAt(read, vault, adapter, rules) {
  const exit = rules.find(
    (one) => one.target === adapter && one.kind === KIND_EXIT && one.selector in EXITS,
  );
  const [units, worth] = await Promise.all(
    [SELECTORS.positionOf, SELECTORS.valueOf].map((selector) =>
      read
        .words(adapter, selector + addressWord(vault), 1)
        .then(([word]) => uintOf(word))
        .catch(() => null),
    ),
  );
  const canRelease = rules.some(
    (one) => one.target === adapter && one.kind === KIND_EXIT && one.selector === RELEASE,
  );
  return {
    adapter,
    units: units ?? null,
    worth: worth ?? null,
    exit: exit?.selector ?? null,
    canRelease,
  };
}

/**
 * @typedef {ReturnType<typeof reader>} Reader
 * @param {Wallet} wallet
 */
function reader(wallet) {
  /**
   * @param {string} to
   * @param {string} data
   */
  const raw = (to, data) => wallet.request("eth_call", [{ to, data }, "latest"]);
  return {
    raw,
    /**
     * @param {string} to
     * @param {string} data
     * @param {number} count
     */
    words: async (to, data, count) => wordsOf(await raw(to, data), count),
    /** @param {string} address */
    hasCode: async (address) => {
      const code = await wallet.request("eth_getCode", [address, "latest"]);
      return typeof code === "string" && /^0x[0-9a-f]{2,}$/i.test(code);
    },
    /** The time of the newest block, in unix seconds. */
    time: async () => {
      const block = await wallet.request("eth_getBlockByNumber", ["latest", false]);
      return uintOf(quantityWord(/** @type {any} */ (block)?.timestamp), 64);
    },
  };
}

/** @param {import("../app/abi.js").Rule[]} rules */
function distinct(rules) {
  return [...new Set(rules.map((one) => one.target))];
}

/** @param {unknown} quantity a JSON-RPC quantity */
function quantityWord(quantity) {
  const digits = typeof quantity === "string" ? quantity.replace(/^0x/i, "") : "";
  return digits === "" ? undefined : digits.toLowerCase().padStart(64, "0");
}
