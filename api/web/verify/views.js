/** Typed reads of the factory, of a vault and of contract wallets. */

/** @import {At, Node} from "./node.js" */

import { AbiError, decodeValues, encodedBytes } from "./abi.js";
import { bytesOf, concat, hexOf, keccak, utf8, word } from "./bytes.js";
import { recoveredAddress } from "./eip712.js";
import { UncheckedError } from "./findings.js";
import { RefusedError, VIEW_GAS } from "./node.js";
import { VIEWS } from "./tables.js";

const ERC1271 = "1626ba7e";
const ERC6492 = "6492".repeat(16);
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;

/**
 * What a view of our contracts returns. Errors: UncheckedError.
 * @param {Node} node @param {string} part @param {string} to @param {string} name
 * @param {string[]} words arguments, each 32 bytes of hex without 0x @param {At} [at]
 */
export async function view(node, part, to, name, words = [], at = "latest") {
  const found = VIEWS[name];
  if (found === undefined) throw new Error(`no such view: ${name}`);
  try {
    const answer = await node.call(part, { to, data: found.selector + words.join("") }, at);
    const values = decodeValues(found.outputs, answer);
    const [first] = values;
    return values.length === 1 && Array.isArray(first) ? first : values; // a struct's members
  } catch (error) {
    if (!(error instanceof RefusedError || error instanceof AbiError)) throw error;
    throw new UncheckedError(part, error.message, error instanceof RefusedError && error.isRevert);
  }
}

/** @param {string} address */
export const addressWord = (address) => address.slice(2).toLowerCase().padStart(64, "0");

/**
 * Whether a wallet signed a digest: a key, or a contract wallet (ERC-1271, ERC-6492), in the
 * factory's own order. A key's signature needs no node. Errors: UncheckedError.
 * @param {Node} node @param {string} part @param {string} factory
 * @param {{signer: string, digest: string, signature: string}} signed @param {At} [at]
 */
export async function isSignedBy(node, part, factory, signed, at = "latest") {
  const { signer, digest, signature } = signed;
  if (recoveredAddress(digest, signature) === signer) return true;
  if (!HEX.test(signature)) return false;
  if (signature.endsWith(ERC6492)) {
    const [validator] = await view(node, part, factory, "validator", [], at);
    const call = "isValidSignature(address,bytes32,bytes)";
    const parts = [bytesOf(`0x${addressWord(signer)}`), bytesOf(digest), word(96)];
    const answer = await said(node, part, String(validator), call, parts, signature, at);
    return answer !== "0x" && BigInt(answer) === 1n;
  }
  if ((await node.codeAt(part, signer, at)) === "0x") return false;
  const parts = [bytesOf(digest), word(64)];
  const call = "isValidSignature(bytes32,bytes)";
  return (await said(node, part, signer, call, parts, signature, at)) === magic();
}

const magic = () => `0x${ERC1271}${"0".repeat(56)}`;

/**
 * What code that strangers chose answers; 0x when it fails.
 * @param {Node} node @param {string} part @param {string} to @param {string} call
 * @param {Uint8Array[]} parts @param {string} signature @param {At} at
 */
async function said(node, part, to, call, parts, signature, at) {
  const selector = keccak(utf8(call)).subarray(0, 4);
  const data = hexOf(concat(selector, ...parts, encodedBytes(bytesOf(signature))));
  try {
    return hexOf(await node.call(part, { to, data, gas: VIEW_GAS }, at));
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.isOfTheCode) return "0x";
    throw new UncheckedError(part, error.message);
  }
}
