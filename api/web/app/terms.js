// What an owner signs: the EIP-712 digest of a mandate's terms, and the hashes of its lists.
// Source: core/mandate/chain/typed_data.py.

import { bytesOf, concat, hexOf, keccak, utf8, word } from "./bytes.js";
import { canonical } from "./canonical.js";

/** @typedef {{target: string, selector: string, recipientWord: number, kind: number}} Rule */

const DOMAIN = /** @type {readonly (readonly [string, string])[]} */ ([
  ["string", "name"],
  ["string", "version"],
  ["uint256", "chainId"],
  ["address", "verifyingContract"],
]);
/** Of version 2, the only one that is issued: type and name of each member. */
export const TERMS_FIELDS = /** @type {readonly (readonly [string, string])[]} */ ([
  ["string", "publicId"],
  ["address", "owner"],
  ["address", "agent"],
  ["uint256", "budgetUsdc"],
  ["uint256", "perTxCap"],
  ["uint256", "dailyCap"],
  ["uint256", "stopFloor"],
  ["uint16", "stopFloorBps"],
  ["uint32", "horizonDays"],
  ["uint64", "endsAt"],
  ["uint16", "agentFeeBps"],
  ["uint256", "approvalAbove"],
  ["uint8", "onFloor"],
  ["bytes32", "allowedTargetsHash"],
  ["bytes32", "guardTargetsHash"],
  ["uint64", "issuedAt"],
  ["uint256", "nonce"],
]);

/**
 * One member as EIP-712 encodes it: 32 bytes, text hashed. Errors: RangeError.
 * @param {string} type @param {string | bigint | undefined} value
 */
function encoded(type, value) {
  if (type === "string" && typeof value === "string") return keccak(utf8(value));
  if (typeof value === "string") {
    const bytes = bytesOf(value);
    if (type === "address" && bytes.length === 20) return concat(new Uint8Array(12), bytes);
    if (type === "bytes32" && bytes.length === 32) return bytes;
  }
  const bits = /^uint([0-9]+)$/.exec(type);
  if (bits && typeof value === "bigint" && value >= 0n && value >> BigInt(bits[1] ?? 0) === 0n) {
    return word(value);
  }
  throw new RangeError(`${String(value).slice(0, 80)} is no ${type}`);
}

/**
 * @param {string} name @param {readonly (readonly [string, string])[]} form
 * @param {Record<string, string | bigint>} message
 */
function structHash(name, form, message) {
  const type = `${name}(${form.map((member) => member.join(" ")).join(",")})`;
  const members = form.map(([kind, member]) => encoded(kind, message[member]));
  return keccak(concat(keccak(utf8(type)), ...members));
}

/**
 * The digest of terms of version 2. Errors: RangeError on a value out of range.
 * @param {Record<string, string | bigint>} terms @param {string} factory @param {number} chainId
 */
export function termsDigest(terms, factory, chainId) {
  const domain = {
    name: "Mandate Wallet",
    version: "2",
    chainId: BigInt(chainId),
    verifyingContract: factory,
  };
  const parts = [
    structHash("EIP712Domain", DOMAIN, domain),
    structHash("MandateTerms", TERMS_FIELDS, terms),
  ];
  return hexOf(keccak(concat(Uint8Array.of(0x19, 0x01), ...parts)));
}

/** keccak256(abi.encode(Rule[])). Errors: RangeError. @param {readonly Rule[]} rules */
export function rulesHash(rules) {
  const words = rules.flatMap((rule) => [
    encoded("address", rule.target),
    encoded("bytes32", `${rule.selector}${"00".repeat(28)}`),
    encoded("uint8", BigInt(rule.recipientWord)),
    encoded("uint8", BigInt(rule.kind)),
  ]);
  return hexOf(keccak(concat(word(32), word(rules.length), ...words)));
}

/** @param {unknown} targets */
export const guardTargetsHash = (targets) => hexOf(keccak(utf8(canonical(targets))));
