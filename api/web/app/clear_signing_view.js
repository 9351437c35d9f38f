// What the owner's wallet shows of the terms, if it has our ERC-7730 descriptors (docs/erc7730.md).
// Loaded when it is shown.

import { boundTo, typedDataScreen } from "./clearsigning.js";
import { descriptors } from "./descriptors.js";

const USDC = { ticker: "USDC", decimals: 6 };

/**
 * @param {import("./clearsigning.js").TypedData} document
 * @returns {Promise<readonly import("./clearsigning.js").Row[]>}
 */
export async function shownByWallet(document) {
  const { readService } = await import("./session.js");
  return termsOn(await readService(), document);
}

/**
 * The terms by label and text, on the network of the service and with its contracts, published or
 * not. Errors: ClearSigningError where a wallet would not use the descriptor.
 * @param {{chain_id: number, contracts: Record<string, string>}} service its discovery document
 * @param {import("./clearsigning.js").TypedData} document
 * @returns {readonly import("./clearsigning.js").Row[]}
 */
export function termsOn({ chain_id: chainId, contracts: { factory = "", usdc = "" } }, document) {
  const terms = boundTo(descriptors.terms, { chainId, factory, usdc });
  return typedDataScreen(terms, document, {
    tokens: { [`${chainId}:${usdc.toLowerCase()}`]: USDC },
  }).rows;
}
