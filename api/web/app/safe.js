// Calls as a file for Safe's Transaction Builder: owners whose account is a Safe load it there,
// review it and sign.
//
// The app warns where a file's checksum is not the one that it computes: keccak256 of the file with
// sorted names, without the batch's name and without the checksum itself.

import { checksummed, keccak256 } from "./keccak.js";

/**
 * @typedef {import("./wallet.js").Call} Call
 * @typedef {{to: string, value: string, data: string, contractMethod: null,
 *   contractInputsValues: null}} SafeTransaction
 * @typedef {{
 *   version: "1.0", chainId: string, createdAt: number,
 *   meta: Record<string, string>, transactions: SafeTransaction[],
 * }} SafeBatch
 */

const VERSION = "1.0";
// The version of the app whose form this is; the app shows it, and refuses none.
const BUILDER_VERSION = "1.18.2";

/**
 * The batch file of some calls, with its checksum.
 * @param {{calls: readonly Call[], safe: string, name: string, description?: string,
 *   createdAt?: number}} batch calls of one network, at least one; createdAt in milliseconds
 * @returns {SafeBatch}
 */
export function safeBatch({ calls, safe, name, description = "", createdAt = Date.now() }) {
  const chainId = calls[0]?.chain_id;
  if (chainId === undefined || calls.some((call) => call.chain_id !== chainId)) {
    throw new RangeError("a batch needs calls of one network");
  }
  /** @type {SafeBatch} */
  const batch = {
    version: VERSION,
    chainId: String(chainId),
    createdAt,
    meta: {
      name,
      description,
      txBuilderVersion: BUILDER_VERSION,
      createdFromSafeAddress: checksummed(safe),
      createdFromOwnerAddress: "",
    },
    transactions: calls.map((call) => ({
      to: checksummed(call.to),
      value: BigInt(call.value ?? 0).toString(),
      data: call.data,
      contractMethod: null,
      contractInputsValues: null,
    })),
  };
  return { ...batch, meta: { ...batch.meta, checksum: safeChecksum(batch) } };
}

/**
 * @param {{meta: Record<string, unknown>} & Record<string, unknown>} batch with or without one
 * @returns {string} 0x hex
 */
export function safeChecksum(batch) {
  const { checksum: _, ...meta } = batch.meta;
  return keccak256(canonical({ ...batch, meta: { ...meta, name: null } }));
}

/**
 * Offer a batch to the browser as a file to save.
 * @param {SafeBatch} batch
 * @param {string} fileName
 */
export function downloadSafeBatch(batch, fileName) {
  const file = new Blob([JSON.stringify(batch, null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * The app's own text of a value: an object is its sorted names, then each value and a comma.
 * @param {unknown} value
 * @returns {string}
 */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const fields = /** @type {Record<string, unknown>} */ (value);
  const names = Object.keys(fields).sort();
  return `{${JSON.stringify(names)}${names.map((name) => canonical(fields[name]) + ",").join("")}}`;
}
