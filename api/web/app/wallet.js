// One connected wallet (EIP-1193): its account and network, signatures, transactions and batches.
//
// Account and network are what the wallet said last, and are asked again before anything is signed
// or sent: the user may change both at any time. Every failure is a WalletError (wallet-errors.js).

import { WalletError, walletError } from "./wallet-errors.js";

export { Wallets } from "./wallet-discovery.js";
export { plainText, WalletError, walletError } from "./wallet-errors.js";

/**
 * @typedef {import("./wallet-discovery.js").FoundWallet} FoundWallet
 * A call as the API builds it. `value` is in wei.
 * @typedef {{to: string, data: string, value?: number | string | bigint, chain_id: number}} Call
 * @typedef {{
 *   chainId: number, name: string, rpcUrls: readonly string[], explorerUrls?: readonly string[],
 *   currency?: {name: string, symbol: string, decimals: number},
 * }} Chain
 * `address` in lower case; null while the wallet is locked, or has not given access.
 * @typedef {{address: string | null, chainId: number | null}} WalletState
 * `from`: the account that must sign; another one is refused before the wallet is asked.
 * @typedef {{from?: string}} SendOptions
 * @typedef {{isSupported: boolean, isAtomic: boolean}} BatchSupport
 * @typedef {{hash: string, isSuccess: boolean | null}} BatchReceipt
 * "failed": nothing happened and the wallet tries no more; "partly": only where it was not atomic.
 * @typedef {{status: "pending" | "done" | "failed" | "partly", isAtomic: boolean,
 *   receipts: BatchReceipt[]}} BatchStatus
 */

/** Reads, answered by the wallet's node. */
export const READ_TIMEOUT_MS = 30_000;
/** Requests that a person answers in the wallet. */
export const PERSON_TIMEOUT_MS = 600_000;
/** Requests whose answer counts whenever it comes: what was sent is on the chain all the same. */
const NO_TIMEOUT = null;

/** A wallet that was chosen, whether it has given access or not. */
export class Wallet {
  /** @param {FoundWallet} found */
  constructor(found) {
    this.found = found;
    /** @type {WalletState} */
    this.state = { address: null, chainId: null };
    /** @type {Set<(state: WalletState) => void>} */
    this._listeners = new Set();
    /** @type {[string, (...args: any[]) => void][]} */
    this._events = [
      ["accountsChanged", (accounts) => this._set({ address: firstAddress(accounts) })],
      ["chainChanged", (chainId) => this._set({ chainId: quantity(chainId) })],
      ["connect", () => void this.resume().catch(() => null)],
      ["disconnect", () => this._set({ address: null, chainId: null })],
    ];
    for (const each of this._events) tolerated(() => found.provider.on?.(...each));
  }

  /** Account in lower case, or null. */
  get address() {
    return this.state.address;
  }

  get chainId() {
    return this.state.chainId;
  }

  /**
   * Called at each change of account or network, at once.
   * @param {(state: WalletState) => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    this._listeners.add(listener);
    return () => void this._listeners.delete(listener);
  }

  /** Forget the wallet; it keeps the access that it gave. */
  close() {
    const { provider } = this.found;
    for (const each of this._events) tolerated(() => provider.removeListener?.(...each));
    this._listeners.clear();
    this.state = { address: null, chainId: null };
  }

  /**
   * Ask for access. The wallet opens, unless it was given before.
   * @returns {Promise<string>} the account, in lower case
   */
  async connect() {
    const accounts = await this.request("eth_requestAccounts", [], PERSON_TIMEOUT_MS);
    return this._adopt(accounts);
  }

  /**
   * The account of a wallet that gave access before; it does not open.
   * @returns {Promise<string | null>}
   */
  async resume() {
    const accounts = await this.request("eth_accounts");
    return firstAddress(accounts) === null ? null : this._adopt(accounts);
  }

  /**
   * Switch the network (EIP-3326), adding it first where the wallet does not know it (EIP-3085).
   * @param {Chain} chain
   */
  async switchTo(chain) {
    const chainId = hex(chain.chainId);
    try {
      await this.request("wallet_switchEthereumChain", [{ chainId }], PERSON_TIMEOUT_MS);
    } catch (error) {
      if (!isUnknownChain(error) || chain.rpcUrls.length === 0) throw error;
      await this.add(chain);
    }
    // Wallets that add a network need not switch to it.
    if ((await this._readChain()) === chain.chainId) return;
    await this.request("wallet_switchEthereumChain", [{ chainId }], PERSON_TIMEOUT_MS);
    await this.requireChain(chain.chainId);
  }

  /**
   * Give the wallet a network's node (EIP-3085). One that knows the number may keep its own name for it.
   * @param {Chain} chain
   */
  async add(chain) {
    await this.request("wallet_addEthereumChain", [addedChain(chain)], PERSON_TIMEOUT_MS);
  }

  /**
   * Sign a text (EIP-191, personal_sign).
   * @param {string} text
   * @param {SendOptions} [options]
   * @returns {Promise<string>} signature
   */
  async signMessage(text, options = {}) {
    const from = await this.requireAccount(options.from);
    const bytes = [...new TextEncoder().encode(text)];
    const message = "0x" + bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hexText(await this.request("personal_sign", [message, from], PERSON_TIMEOUT_MS));
  }

  /**
   * Sign typed data (EIP-712, eth_signTypedData_v4), on the network of its domain.
   * @param {Record<string, any> | string} typedData the object, or its JSON text
   * @param {SendOptions} [options]
   * @returns {Promise<string>} signature
   */
  async signTypedData(typedData, options = {}) {
    const text = typeof typedData === "string" ? typedData : JSON.stringify(typedData);
    const chainId = JSON.parse(text).domain?.chainId;
    if (chainId !== undefined) await this.requireChain(Number(chainId));
    const from = await this.requireAccount(options.from);
    return hexText(await this.request("eth_signTypedData_v4", [from, text], PERSON_TIMEOUT_MS));
  }

  /**
   * Send a transaction. The wallet chooses gas, fee and nonce, and has as long as it takes.
   * @param {Call} call
   * @param {SendOptions} [options]
   * @returns {Promise<string>} the transaction's hash; the wallet may still replace it
   */
  async send(call, options = {}) {
    await this.requireChain(call.chain_id);
    const from = await this.requireAccount(options.from);
    const transaction = { from, ...sentCall(call), chainId: hex(call.chain_id) };
    const answer = await this.request("eth_sendTransaction", [transaction], NO_TIMEOUT);
    const hash = hexText(answer);
    if (hash.length !== 66) throw unexpected();
    return hash.toLowerCase();
  }

  /**
   * Whether the wallet sends several calls as one (EIP-5792), and whether all or none happen.
   * @param {number} chainId
   * @returns {Promise<BatchSupport>} false, false for a wallet that does not know the question
   */
  async batchSupport(chainId) {
    const none = { isSupported: false, isAtomic: false };
    if (this.address === null) return none;
    try {
      const answer = await this.request("wallet_getCapabilities", [this.address, [hex(chainId)]]);
      const capabilities = /** @type {any} */ (answer);
      const atomic = capabilities?.[hex(chainId)]?.atomic ?? capabilities?.["0x0"]?.atomic;
      const isAtomic = atomic?.status === "supported" || atomic?.status === "ready";
      return { isSupported: typeof capabilities === "object" && capabilities !== null, isAtomic };
    } catch {
      return none;
    }
  }

  /**
   * Send several calls as one batch (EIP-5792).
   * @param {readonly Call[]} calls of one network, at least one
   * @param {SendOptions & {isAtomic?: boolean}} [options] isAtomic (the default): refuse where
   *   some could happen without the others
   * @returns {Promise<string>} the batch's id, for batchStatus; not a transaction's hash
   */
  async sendBatch(calls, options = {}) {
    const chainId = calls[0]?.chain_id;
    if (chainId === undefined || calls.some((call) => call.chain_id !== chainId)) {
      throw new WalletError("failed", { message: "A batch needs calls of one network." });
    }
    await this.requireChain(chainId);
    const from = await this.requireAccount(options.from);
    const batch = {
      version: "2.0.0",
      chainId: hex(chainId),
      from,
      atomicRequired: options.isAtomic ?? true,
      calls: calls.map(sentCall),
    };
    const answer = await this.request("wallet_sendCalls", [batch], NO_TIMEOUT);
    const id = /** @type {any} */ (answer)?.id ?? answer;
    if (typeof id !== "string" || id === "" || id.length > 8194) throw unexpected();
    return id;
  }

  /**
   * How far a batch is, as the wallet reports it.
   * @param {string} id
   * @returns {Promise<BatchStatus>}
   */
  async batchStatus(id) {
    const answer = /** @type {any} */ (await this.request("wallet_getCallsStatus", [id]));
    const code = answer?.status;
    if (typeof code !== "number") throw unexpected();
    const listed = Array.isArray(answer.receipts) ? answer.receipts.slice(0, 64) : [];
    /** @type {BatchStatus["status"]} */
    const status = code < 200 ? "pending" : code < 300 ? "done" : code >= 600 ? "partly" : "failed";
    const receipts = listed.map((/** @type {any} */ receipt) => ({
      hash: hexText(receipt?.transactionHash).toLowerCase(),
      isSuccess: receipt.status === "0x1" ? true : receipt.status === "0x0" ? false : null,
    }));
    return { status, isAtomic: answer.atomic === true, receipts };
  }

  /**
   * Any request (EIP-1193).
   * @param {string} method
   * @param {unknown[]} [params]
   * @param {number | null} [timeoutMs] null: as long as it takes
   * @returns {Promise<unknown>} whatever the wallet answers: hostile until parsed
   */
  async request(method, params = [], timeoutMs = READ_TIMEOUT_MS) {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      if (timeoutMs === null) return;
      timer = setTimeout(() => reject(new WalletError("timeout")), timeoutMs);
    });
    try {
      return await Promise.race([this.found.provider.request({ method, params }), late]);
    } catch (error) {
      throw walletError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * @param {number} chainId
   * @returns {Promise<void>} throws wrong_network unless the wallet is on that network now
   */
  async requireChain(chainId) {
    const current = await this._readChain();
    if (current === chainId) return;
    throw new WalletError("wrong_network", {
      message: `Your wallet is on network ${current ?? "unknown"}; this needs network ${chainId}.`,
    });
  }

  /**
   * @param {string} [expected]
   * @returns {Promise<string>} the account that signs now; throws unauthorized if it is another
   */
  async requireAccount(expected) {
    const address = firstAddress(await this.request("eth_accounts"));
    this._set({ address });
    if (address === null) throw new WalletError("unauthorized");
    if (expected === undefined || expected.toLowerCase() === address) return address;
    throw new WalletError("unauthorized", {
      message: `Your wallet shows ${address}; this must be signed by ${expected}.`,
      next: "Choose that account in your wallet, then try again.",
    });
  }

  /** @param {unknown} accounts */
  async _adopt(accounts) {
    const address = firstAddress(accounts);
    if (address === null) throw new WalletError("unauthorized");
    this._set({ address });
    await this._readChain();
    return address;
  }

  async _readChain() {
    const chainId = quantity(await this.request("eth_chainId"));
    this._set({ chainId });
    return chainId;
  }

  /** @param {Partial<WalletState>} change */
  _set(change) {
    const next = { ...this.state, ...change };
    if (next.address === this.state.address && next.chainId === this.state.chainId) return;
    this.state = next;
    for (const listener of this._listeners) listener(next);
  }
}

/**
 * @param {Call} call
 * @returns {{to: string, data: string, value: string}}
 */
function sentCall(call) {
  return { to: call.to, data: call.data, value: hex(call.value ?? 0) };
}

/** @param {Chain} chain */
function addedChain(chain) {
  return {
    chainId: hex(chain.chainId),
    chainName: chain.name,
    rpcUrls: [...chain.rpcUrls],
    nativeCurrency: chain.currency ?? { name: "Ether", symbol: "ETH", decimals: 18 },
    ...(chain.explorerUrls ? { blockExplorerUrls: [...chain.explorerUrls] } : {}),
  };
}

/** @param {unknown} error */
function isUnknownChain(error) {
  // Mobile wallets nest 4902 in -32603; walletError reads both as wrong_network.
  return error instanceof WalletError && error.kind === "wrong_network";
}

/** @param {number | string | bigint} value */
function hex(value) {
  return "0x" + BigInt(value).toString(16);
}

/**
 * @param {unknown} value
 * @returns {number | null}
 */
function quantity(value) {
  if (typeof value !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(value)) return null;
  return Number(value);
}

/**
 * @param {unknown} accounts
 * @returns {string | null}
 */
function firstAddress(accounts) {
  const first = Array.isArray(accounts) ? accounts[0] : null;
  return typeof first === "string" && /^0x[0-9a-f]{40}$/i.test(first) ? first.toLowerCase() : null;
}

/** @param {unknown} value */
function hexText(value) {
  if (typeof value !== "string" || !/^0x(?:[0-9a-f]{2})*$/i.test(value)) throw unexpected();
  return value;
}

/** @param {() => unknown} work of a wallet's own, which may throw: without its events it is asked all the same */
function tolerated(work) {
  try {
    work();
  } catch {
    // its account and network are asked again before anything is signed
  }
}

function unexpected() {
  return new WalletError("failed", {
    message: "Your wallet gave an answer that this page does not understand.",
    next: "Try again, or use another wallet.",
  });
}
