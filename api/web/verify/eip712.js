/** What an owner or author signed: digests of EIP-712, and the key behind a signature. */

/** @import {JsonList, NewRow, Rule, RowAuthor} from "./types.js" */

import { secp256k1 } from "../vendor/noble.js";
import {
  bytesOf,
  checksum,
  concat,
  hexOf,
  isAddress,
  keccak,
  NO_HASH,
  numberOf,
  utf8,
  word,
} from "./bytes.js"; // prettier-ignore
import { canonical } from "./canonical.js";
import { usdcText } from "./money.js";
import { RECORD_ROW, TERMS_FIELDS } from "./tables.js";

const DOMAIN = /** @type {[string, string][]} */ ([
  ["string", "name"],
  ["string", "version"],
  ["uint256", "chainId"],
  ["address", "verifyingContract"],
]);
// above it a signature is the malleable twin of another (EIP-2)
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const SERVICE_KEYS = new Set(["unseen", "violation"]);

/** @typedef {{[name: string]: string | bigint}} Message */

/**
 * One member as EIP-712 encodes it: 32 bytes, text hashed. Errors: RangeError.
 * @param {string} type @param {string | bigint | undefined} value
 */
function encoded(type, value) {
  if (type === "string" && typeof value === "string") return keccak(utf8(value));
  if (type === "address" && isAddress(value)) return concat(new Uint8Array(12), bytesOf(value));
  if (type === "bytes32" && typeof value === "string") {
    const bytes = bytesOf(value);
    if (bytes.length === 32) return bytes;
  }
  const bits = /^uint([0-9]+)$/.exec(type);
  if (bits && typeof value === "bigint" && value >= 0n && value >> BigInt(bits[1] ?? 0) === 0n) {
    return word(value);
  }
  throw new RangeError(`${String(value).slice(0, 80)} is no ${type}`);
}

/** @param {string} name @param {readonly [string, string][]} form @param {Message} message */
function structHash(name, form, message) {
  const type = `${name}(${form.map(([kind, member]) => `${kind} ${member}`).join(",")})`;
  const members = form.map(([kind, member]) => encoded(kind, message[member]));
  return keccak(concat(keccak(utf8(type)), ...members));
}

/**
 * What is signed. Errors: RangeError on a value out of range.
 * @param {Message} domain @param {string} name @param {readonly [string, string][]} form
 * @param {Message} message
 */
function digestOf(domain, name, form, message) {
  const parts = [structHash("EIP712Domain", DOMAIN, domain), structHash(name, form, message)];
  return hexOf(keccak(concat(Uint8Array.of(0x19, 0x01), ...parts)));
}

/** @param {string} name @param {string} version @param {number} chainId @param {string} contract */
function domainOf(name, version, chainId, contract) {
  return { name, version, chainId: BigInt(chainId), verifyingContract: contract };
}

/**
 * @param {Message} terms @param {string} factory @param {number} chainId @param {number} version
 */
export function termsDigest(terms, factory, chainId, version) {
  const form = Object.hasOwn(TERMS_FIELDS, version) ? TERMS_FIELDS[version] : undefined;
  if (form === undefined) throw new RangeError(`no terms of version ${version}`);
  const domain = domainOf("Mandate Wallet", String(version), chainId, factory);
  return digestOf(domain, "MandateTerms", form, terms);
}

/**
 * @param {string} publicId @param {NewRow} row @param {RowAuthor} author @param {string} factory
 * @param {number} chainId
 */
export function recordRowDigest(publicId, row, author, factory, chainId) {
  const told = Object.entries(row.payload).filter(([key]) => !SERVICE_KEYS.has(key));
  return digestOf(
    domainOf("Mandate Wallet Record", "1", chainId, factory),
    "RecordRow",
    RECORD_ROW,
    {
      mandate: publicId,
      sequence: BigInt(author.sequence),
      prev: author.prev,
      kind: row.kind,
      amountUsdc: row.amount === null ? "" : usdcText(row.amount),
      txHash: row.txHash ?? NO_HASH,
      payloadHash: hexOf(keccak(utf8(canonical(Object.fromEntries(told))))),
    },
  );
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

/** @param {JsonList} targets */
export const guardTargetsHash = (targets) => hexOf(keccak(utf8(canonical(targets))));

/**
 * The checksum address whose key signed; null for a signature that the factory would refuse.
 * Form: 65 bytes r, s, v; v 27 or 28; s in the lower half.
 * @param {string} digest @param {string} signature
 */
export function recoveredAddress(digest, signature) {
  try {
    const raw = bytesOf(signature);
    const recovery = (raw[64] ?? 0) - 27;
    if (raw.length !== 65 || (recovery !== 0 && recovery !== 1)) return null;
    const [r, s] = [numberOf(raw.subarray(0, 32)), numberOf(raw.subarray(32, 64))];
    if (r === 0n || s === 0n || r >= ORDER || s > HALF_ORDER) return null;
    const recovered = concat(Uint8Array.of(recovery), raw.subarray(0, 64));
    const key = secp256k1.recoverPublicKey(recovered, bytesOf(digest), { prehash: false });
    const point = secp256k1.Point.fromBytes(key).toBytes(false);
    return checksum(hexOf(keccak(point.subarray(1)).subarray(12)));
  } catch {
    return null;
  }
}
