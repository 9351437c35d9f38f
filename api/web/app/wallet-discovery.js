// The wallets of this browser: EIP-6963 announcements, and window.ethereum where none is made.
//
// An announcement is hostile: the name is text, the icon a data: URI of an image or nothing, and no
// announcement takes the place of one that was made before it.

import { plainText } from "./wallet-errors.js";

/**
 * EIP-1193.
 * @typedef {{
 *   request: (call: {method: string, params?: unknown}) => Promise<unknown>,
 *   on?: (event: string, listener: (...args: any[]) => void) => unknown,
 *   removeListener?: (event: string, listener: (...args: any[]) => void) => unknown,
 * }} Provider
 * `id` is the wallet's reverse domain name, by which a choice is remembered; `icon` is "" or a
 * data: URI for an <img>.
 * @typedef {{uuid: string, id: string, name: string, icon: string, provider: Provider}} FoundWallet
 * @typedef {{ethereum?: unknown} & EventTarget} Host
 */

const MOST_WALLETS = 32;
const NAME_LENGTH = 40;
const ICON_LENGTH = 131_072;
const ICON = /^data:image\/(?:svg\+xml|png|webp|gif|jpeg)[;,]/i;

/** The list of wallets, which grows as wallets announce themselves, also long after loading. */
export class Wallets {
  /** @param {Host} [host] the window */
  constructor(host = window) {
    this._host = host;
    /** @type {Map<string, FoundWallet>} */
    this._announced = new Map();
    /** @type {Set<(wallets: FoundWallet[]) => void>} */
    this._listeners = new Set();
    /** @type {FoundWallet | null} */
    this._fallback = null;
    /** @param {Event} event */
    this._hear = (event) => this._add(Reflect.get(event, "detail"));
    host.addEventListener("eip6963:announceProvider", this._hear);
    this.refresh();
  }

  /** Ask all wallets to announce themselves again. */
  refresh() {
    this._host.dispatchEvent(new Event("eip6963:requestProvider"));
  }

  /**
   * In the order of their announcements; "Browser wallet" for window.ethereum while there is none.
   * @returns {FoundWallet[]}
   */
  list() {
    if (this._announced.size > 0) return [...this._announced.values()];
    const injected = asProvider(this._host.ethereum);
    if (injected === null) return [];
    if (this._fallback?.provider !== injected) {
      this._fallback = {
        uuid: "window.ethereum",
        id: "window.ethereum",
        name: "Browser wallet",
        icon: "",
        provider: injected,
      };
    }
    return [this._fallback];
  }

  /**
   * Called at each new announcement.
   * @param {(wallets: FoundWallet[]) => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    this._listeners.add(listener);
    return () => void this._listeners.delete(listener);
  }

  /** Stop listening for announcements. */
  close() {
    this._host.removeEventListener("eip6963:announceProvider", this._hear);
    this._listeners.clear();
  }

  /** @param {unknown} detail */
  _add(detail) {
    const wallet = foundWallet(detail);
    if (wallet === null || this._announced.size >= MOST_WALLETS) return;
    if (this._announced.has(wallet.uuid)) return;
    this._announced.set(wallet.uuid, wallet);
    for (const listener of this._listeners) listener(this.list());
  }
}

/**
 * The wallet of an announcement, or null where it is not one.
 * @param {unknown} detail
 * @returns {FoundWallet | null}
 */
export function foundWallet(detail) {
  try {
    const { info, provider } = /** @type {any} */ (detail);
    const { uuid, rdns, name, icon } = info;
    const real = asProvider(provider);
    if (real === null || typeof uuid !== "string" || uuid === "" || uuid.length > 64) return null;
    const shown = plainText(name, NAME_LENGTH) || "Unnamed wallet";
    const id = typeof rdns === "string" && /^[\w.-]{1,128}$/.test(rdns) ? rdns : uuid;
    return { uuid, id, name: shown, icon: safeIcon(icon), provider: real };
  } catch {
    return null; // not an object, or a getter that throws
  }
}

/** @param {unknown} icon */
function safeIcon(icon) {
  return typeof icon === "string" && icon.length <= ICON_LENGTH && ICON.test(icon) ? icon : "";
}

/**
 * @param {unknown} value
 * @returns {Provider | null}
 */
function asProvider(value) {
  if (typeof value !== "object" || value === null) return null;
  try {
    const isProvider = typeof Reflect.get(value, "request") === "function";
    return isProvider ? /** @type {Provider} */ (value) : null;
  } catch {
    return null; // a getter that throws
  }
}
