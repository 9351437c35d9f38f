// Rows of a record that the owner writes by a call, signed by the wallet where the record needs that: whoever signed
// one row of a mandate signs every later one (docs/record.md#signed-rows).
//
// What is signed is made here out of the call itself, never of what the service offers to sign.

import { ApiRefusal, get, post } from "./api.js";
import { keccak256 } from "./keccak.js";
import { WalletError } from "./wallet-errors.js";

/**
 * @typedef {import("./wallet.js").Wallet} Wallet
 * @typedef {import("./answers.js").NextRow} Place where the owner's next signed row stands
 */

/** What each call writes of an owner: the row's kind, and its payload as RFC 8785 has it. */
const ROWS = /** @type {const} */ ({
  stop: ["stop", '{"stopped":{"by":"owner","reason":"owner","worth_usdc":null}}'],
  cancel: ["note", '{"cancelled":true}'],
});
const NOTHING = `0x${"00".repeat(32)}`;
const TYPES = {
  EIP712Domain: [
    { name: "name", type: "string" },
    { name: "version", type: "string" },
    { name: "chainId", type: "uint256" },
    { name: "verifyingContract", type: "address" },
  ],
  RecordRow: [
    { name: "mandate", type: "string" },
    { name: "sequence", type: "uint64" },
    { name: "prev", type: "bytes32" },
    { name: "kind", type: "string" },
    { name: "amountUsdc", type: "string" },
    { name: "txHash", type: "bytes32" },
    { name: "payloadHash", type: "bytes32" },
  ],
};

/**
 * Stop a paper mandate, or cancel a draft; the wallet is asked to sign only where the service wants a signature.
 * Errors: ApiRefusal, OfflineError, WalletError.
 * @param {"stop" | "cancel"} call
 * @param {string} id
 * @param {Wallet | null} wallet
 */
export async function write(call, id, wallet) {
  try {
    await send(call, id, {});
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.reason !== "author_signature_missing") throw error;
    if (wallet === null) throw new WalletError("no_wallet");
    const place = await get(`/mandate-wallet/mandates/${id}/author`);
    await send(call, id, { author: await authorOf(call, id, place, wallet) });
  }
}

/**
 * @param {"stop" | "cancel"} call
 * @param {string} id
 * @param {{author?: import("./answers.js").AuthorFields}} body
 */
function send(call, id, body) {
  const sent = { isRepeatable: true };
  return call === "stop"
    ? post(`/mandate-wallet/mandates/${id}/stop`, body, sent)
    : post(`/mandate-wallet/mandates/${id}/cancel`, body, sent);
}

/**
 * @param {"stop" | "cancel"} call
 * @param {string} id
 * @param {Place} place
 * @param {Wallet} wallet
 * @returns {Promise<import("./answers.js").AuthorFields>}
 */
async function authorOf(call, id, { domain, signers, sequence, prev }, wallet) {
  if (domain.name !== "Mandate Wallet Record" || domain.version !== "1")
    throw new Error("Not signed: the service names another domain than that of a record's rows.");
  const signer = signers[0];
  if (signer === undefined) throw new Error("Not signed: the service names nobody who may sign.");
  const [kind, payload] = ROWS[call];
  const message = {
    mandate: id,
    sequence,
    prev,
    kind,
    amountUsdc: "",
    txHash: NOTHING,
    payloadHash: keccak256(payload),
  };
  const document = { types: TYPES, primaryType: "RecordRow", domain, message };
  const signature = await wallet.signTypedData(document, { from: signer });
  return { signer, sequence, prev, signature };
}
