// What a wallet that has our ERC-7730 descriptor shows of the terms, for this service's contracts.

import { boundTo, typedDataScreen } from "./clearsigning.js";
import { descriptors } from "./descriptors.js";
import { readService } from "./session.js";

/**
 * @param {any} typedData of GET /mandate-wallet/mandates/{id}/terms
 * @returns {Promise<readonly (readonly [string, string])[]>} label and text, as the wallet lists them
 */
export async function shownByWallet(typedData) {
  const { chain_id: chainId, contracts } = await readService();
  const terms = /** @type {import("./clearsigning.js").Descriptor} */ (/** @type {unknown} */ (descriptors.terms));
  const descriptor = boundTo(terms, { chainId, factory: contracts.factory, usdc: contracts.usdc });
  const tokens = { [`${chainId}:${contracts.usdc.toLowerCase()}`]: { ticker: "USDC", decimals: 6 } };
  return typedDataScreen(descriptor, typedData, { tokens }).rows;
}
