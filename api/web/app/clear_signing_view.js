// What the owner's wallet shows of a document, if it has our ERC-7730 descriptors (docs/erc7730.md).
// Loaded when it is shown.

import { boundTo, typedDataScreen } from "./clearsigning.js";
import { descriptors } from "./descriptors.js";
import { readService } from "./session.js";

const USDC = { ticker: "USDC", decimals: 6 };

/**
 * The terms by label and text, on the network of the service and with its contracts, published or
 * not. Errors: ClearSigningError where a wallet would not use the descriptor.
 * @param {import("./clearsigning.js").TypedData} document
 * @returns {Promise<readonly import("./clearsigning.js").Row[]>}
 */
export async function shownByWallet(document) {
  const { chain_id: chainId, contracts } = await readService();
  const terms = boundTo(descriptors.terms, { chainId, factory: contracts.factory, usdc: contracts.usdc });
  const tokens = { [`${chainId}:${contracts.usdc.toLowerCase()}`]: USDC };
  return typedDataScreen(terms, document, { tokens }).rows;
}
