// What a wallet, or the node behind it, refuses, in one sentence each and with what to do.
//
// A wallet's own words are kept in `detail`, as text of bounded length: they come from outside.

/**
 * @typedef {"no_wallet" | "rejected" | "wrong_network" | "unauthorized" | "unsupported" | "pending"
 *   | "timeout" | "unanswered" | "unheard" | "moved" | "unknown_nonce" | "unsimulated"
 *   | "reverted" | "failed"} WalletErrorKind
 * @typedef {{detail?: string, code?: number | null, data?: string | null}} WalletErrorMore
 */

const DETAIL_LENGTH = 300;
const DEPTH = 4;

/** @type {Readonly<Record<WalletErrorKind, readonly [string, string]>>} */
const WORDS = Object.freeze({
  no_wallet: [
    "This browser has no wallet.",
    "Install a wallet extension, or open this page in your wallet's own browser, then reload.",
  ],
  rejected: [
    "You declined the request in your wallet. Nothing was sent.",
    "Try again when you are ready.",
  ],
  wrong_network: [
    "Your wallet is on another network.",
    "Switch the network in your wallet, then try again.",
  ],
  unauthorized: [
    "Your wallet has not given this page access to the account.",
    "Connect the wallet and choose the account that owns the mandate.",
  ],
  unsupported: [
    "Your wallet does not support this request.",
    "Use another wallet, or send the calls one by one.",
  ],
  pending: [
    "Your wallet already has a request from this page open.",
    "Open the wallet and answer that request first.",
  ],
  timeout: [
    "Your wallet did not answer in time.",
    "Open the wallet: the request may still be waiting there. If it is not, try again.",
  ],
  unanswered: [
    "Your wallet has not answered yet.",
    "Open it and answer the request there: this page takes the answer whenever it comes. If you " +
      "send it again while the request is still there, both can be carried out.",
  ],
  unheard: [
    "Your wallet was asked for this before the page was loaded again: it is not known whether it was sent.",
    "Answer the request in your wallet if it is still there: the page looks for what your account " +
      "sends. If you declined it, dismiss this.",
  ],
  moved: [
    "Your account has sent another transaction since. It may be this one.",
    "Check what was sent, here or in your wallet's activity, before you send this again.",
  ],
  unknown_nonce: [
    "It is not known whether your account has sent this already: its node does not say.",
    "Check your wallet's activity before you send it again.",
  ],
  unsimulated: [
    "This could not be simulated: your wallet or its node gave no verdict.",
    "That is not a refusal. You can send it; if the contract refuses it, only the gas is lost.",
  ],
  reverted: [
    "The contract refuses this call.",
    "Read the reason, then try again once it no longer holds.",
  ],
  failed: [
    "Your wallet or its node could not complete the request.",
    "Check the connection and the balance for gas, then try again.",
  ],
});

/** A refusal with its `kind`; `message` is one plain sentence, `next` says what to do. */
export class WalletError extends Error {
  /**
   * @param {WalletErrorKind} kind
   * @param {WalletErrorMore & {message?: string, next?: string}} [more]
   */
  constructor(kind, more = {}) {
    super(more.message ?? WORDS[kind][0]);
    this.name = "WalletError";
    /** @type {WalletErrorKind} */
    this.kind = kind;
    /** What to do now. */
    this.next = more.next ?? WORDS[kind][1];
    /** The wallet's own words: hostile text, "" if it said nothing. */
    this.detail = plainText(more.detail ?? "", DETAIL_LENGTH);
    /** The wallet's error code, or null. */
    this.code = more.code ?? null;
    /** The data of a revert, 0x-prefixed hex, or null where the wallet gave none. */
    this.data = more.data ?? null;
  }
}

// EIP-1193, EIP-1474 and EIP-5792. The last says 4001 for a batch that the user declined.
/** @type {ReadonlyMap<number, WalletErrorKind>} */
const KINDS = new Map([
  [4001, "rejected"],
  [4100, "unauthorized"],
  [4200, "unsupported"],
  [4901, "wrong_network"],
  [4902, "wrong_network"],
  [5700, "unsupported"],
  [5710, "unsupported"],
  [5740, "unsupported"],
  [5750, "rejected"],
  [5760, "unsupported"],
  [-32002, "pending"],
  [-32004, "unsupported"],
  [-32601, "unsupported"],
  [3, "reverted"],
]);

/**
 * The WalletError of whatever a provider threw.
 * @param {unknown} thrown
 * @returns {WalletError}
 */
export function walletError(thrown) {
  if (thrown instanceof WalletError) return thrown;
  const layers = layersOf(thrown);
  const detail = layers.map((layer) => textOf(layer, "message")).find((text) => text !== "") ?? "";
  const data = layers.map(revertData).find((hex) => hex !== null) ?? null;
  const codes = layers.map((layer) => numberOf(layer, "code"));
  const code = codes.find((each) => each !== null) ?? null;
  const known = codes.flatMap((each) => (each === null ? [] : (KINDS.get(each) ?? [])));
  const isRevert = data !== null || layers.some((layer) => isRevertText(textOf(layer, "message")));
  const kind = known[0] ?? (isRevert ? "reverted" : "failed");
  return new WalletError(kind, { detail, code, data });
}

/**
 * One line of printable text: no control characters and none that reorder what is around them.
 * @param {unknown} value
 * @param {number} length in characters, beyond which the text is cut with an ellipsis
 * @returns {string}
 */
export function plainText(value, length) {
  if (typeof value !== "string") return "";
  // Cut first, so that megabytes of text cost nothing.
  const text = value
    .slice(0, length * 4)
    .replace(/[\p{C}\u2028\u2029]+/gu, " ")
    .trim();
  const letters = [...text];
  return letters.length > length ? letters.slice(0, length - 1).join("") + "\u2026" : text;
}

/**
 * The error and those that wallets nest in it: `data`, `data.originalError`, `error`, `cause`.
 * @param {unknown} thrown
 * @returns {unknown[]}
 */
function layersOf(thrown) {
  const layers = [thrown];
  for (let i = 0; i < layers.length && i < DEPTH; i++) {
    for (const name of ["data", "originalError", "error", "cause"]) {
      const inner = fieldOf(layers[i], name);
      const isLayer = typeof inner === "object" && inner !== null;
      if (isLayer && !layers.includes(inner)) layers.push(inner);
    }
  }
  return layers;
}

/**
 * @param {unknown} layer
 * @returns {string | null}
 */
function revertData(layer) {
  const data = fieldOf(layer, "data");
  // Some nodes write "Reverted 0x..." where others give the bytes alone.
  if (typeof data !== "string") return null;
  const match = /^(?:Reverted )?(0x(?:[0-9a-f]{2}){4,})$/i.exec(data);
  return match?.[1]?.toLowerCase() ?? null;
}

/** @param {string} text */
function isRevertText(text) {
  return /execution reverted|vm exception while processing transaction: revert/i.test(text);
}

/**
 * @param {unknown} from
 * @param {string} name
 * @returns {unknown}
 */
function fieldOf(from, name) {
  if (typeof from !== "object" || from === null) return undefined;
  try {
    return Reflect.get(from, name);
  } catch {
    return undefined; // a getter of the wallet's that throws
  }
}

/**
 * @param {unknown} from
 * @param {string} name
 */
function textOf(from, name) {
  const value = fieldOf(from, name);
  return typeof value === "string" ? value : "";
}

/**
 * @param {unknown} from
 * @param {string} name
 */
function numberOf(from, name) {
  const value = fieldOf(from, name);
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}
