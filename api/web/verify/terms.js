/**
 * Who signed what, and which vault that is: nothing of the record's first line is taken at its word.
 *
 * terms -> digest (EIP-712, the factory's domain) -> the owner's signature
 * factory, digest -> predictVault, and computed here too (EIP-1014) -> the vault
 */

/** @import {Block, Log, NewRow, Json, JsonObject, PositionRules, Rule, Subject} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */
/** @import {Message} from "./eip712.js" */
/** @import {AbiValue} from "./abi.js" */

import { AbiError } from "./abi.js";
import { bytesOf, checksum, concat, hexOf, isAddress, keccak } from "./bytes.js";
import { hasKeys, isObject, isSame } from "./canonical.js";
import { guardTargetsHash, rulesHash, termsDigest } from "./eip712.js";
import { eventOf, topicOf } from "./events.js";
import { UncheckedError } from "./findings.js";
import { TERMS_FIELDS, VAULT_SHELL_HASH } from "./tables.js";
import { addressWord, isSignedBy, view } from "./views.js";

const NEWEST = TERMS_FIELDS["2"] ?? [];
const NAMES = new Set(NEWEST.map(([, name]) => name));
const OTHER_TERMS = "other terms";
const MOST_NAMED = 10;
const UNSIGNED = /^(?:0|[1-9][0-9]{0,77})$/;
const SIGNATURE = /^0x(?:[0-9a-f]{2})+$/;
const SELECTOR = /^0x[0-9a-f]{8}$/;

/**
 * Read the first line and check it against itself; null when there is too little to go on.
 * @param {JsonObject} first @param {Report} report
 * @returns {Subject | null}
 */
export function subjectOf(first, report) {
  let subject, hashes;
  try {
    subject = readSubject(first);
    const targets = Array.isArray(first.guard_targets) ? first.guard_targets : [];
    hashes = { rules: rulesHash(subject.rules), targets: guardTargetsHash(targets) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    report.say("terms.form", null, error.message);
    return null;
  }
  compareFirst(first, subject, hashes, report);
  return subject;
}

/** Errors: RangeError. @param {JsonObject} first @returns {Subject} */
function readSubject(first) {
  const terms = termsOf(first.terms);
  const rules = Array.isArray(first.rules) ? first.rules.map(ruleOf) : [];
  const [factory, version] = [String(first.factory), Number(first.terms_version)];
  if (!isAddress(factory)) throw new RangeError("factory: no address");
  const mode = first.market_mode;
  if (mode !== "paper" && mode !== "testnet") throw new RangeError("market_mode: no such mode");
  const vault = first.vault;
  if (vault !== null && !isAddress(vault)) throw new RangeError("vault: no address");
  return {
    chainId: Number(first.chain_id),
    factory,
    vaultSaid: vault,
    terms,
    publicId: String(terms.publicId),
    owner: String(terms.owner),
    agent: String(terms.agent),
    rules,
    digest: termsDigest(terms, factory, Number(first.chain_id), version),
    version,
    isPaper: mode === "paper",
    budget: BigInt(terms.budgetUsdc ?? 0n),
    positions: positionRules(rules),
  };
}

/** @param {Json | undefined} raw @returns {Message} */
function termsOf(raw) {
  if (!isObject(raw) || !hasKeys(raw, NAMES)) throw new RangeError("terms: other fields");
  return Object.fromEntries(
    NEWEST.map(([type, name]) => {
      const value = raw[name];
      if (typeof value !== "string") throw new RangeError(`${name}: terms are written as text`);
      if (!type.startsWith("uint")) return [name, value];
      if (!UNSIGNED.test(value)) throw new RangeError(`${name}: write a whole number`);
      return [name, BigInt(value)];
    }),
  );
}

/** @param {Json} raw @returns {Rule} */
function ruleOf(raw) {
  if (!isObject(raw)) throw new RangeError("rules: no object");
  const { target, selector, recipient_word: recipientWord, kind } = raw;
  if (!isAddress(target)) throw new RangeError("rules: a target that is no address");
  if (typeof selector !== "string" || !SELECTOR.test(selector)) {
    throw new RangeError("rules: no selector");
  }
  if (typeof recipientWord !== "number") throw new RangeError("rules: no recipient_word");
  if (typeof kind !== "number" || kind < 0 || kind > 3) throw new RangeError("rules: no such kind");
  return { target, selector, recipientWord, kind };
}

/** @param {readonly Rule[]} rules @returns {PositionRules} */
function positionRules(rules) {
  const valued = new Set(
    rules.filter((rule) => rule.kind === 2).map((rule) => rule.target.toLowerCase()),
  );
  const unvalued = rules
    .filter((rule) => rule.kind < 2 && !valued.has(rule.target.toLowerCase()))
    .map((rule) => `${rule.target}:${rule.selector}`.toLowerCase());
  return { unvalued: new Set(unvalued), valued };
}

/**
 * @param {JsonObject} first @param {Subject} subject @param {{rules: string, targets: string}} hashes
 * @param {Report} report
 */
function compareFirst(first, subject, hashes, report) {
  const { terms } = subject;
  const signed = new Set((TERMS_FIELDS[subject.version] ?? []).map(([, name]) => name));
  if (subject.publicId !== first.mandate_id) {
    const text = `the record is of ${first.mandate_id}, the terms are of ${subject.publicId}`;
    report.say("terms.mandate_id", null, text);
  }
  if (hashes.rules !== terms.allowedTargetsHash) {
    const text = `the rules give ${hashes.rules}, signed was ${terms.allowedTargetsHash}`;
    report.say("terms.rules", null, text);
  }
  if (hashes.targets !== terms.guardTargetsHash && signed.has("guardTargetsHash")) {
    const text = `the guard's targets give ${hashes.targets}, signed was ${terms.guardTargetsHash}`;
    report.say("terms.guard_targets", null, text);
  }
  if (subject.digest !== first.terms_digest) {
    const text = `the terms give ${subject.digest}, the record says ${first.terms_digest}`;
    report.say("terms.digest", null, text);
  }
  const unsigned = [...NAMES].filter((name) => !signed.has(name));
  if (unsigned.length > 0) {
    const text = `those of version ${subject.version} do not hold ${unsigned.join(", ")}`;
    report.doubt(`terms: ${text}; what the record says of them nobody signed`);
  }
  compareSpelling(first, subject, report);
}

/**
 * What was read, written again, is what was there: one spelling each.
 * @param {JsonObject} first @param {Subject} subject @param {Report} report
 */
function compareSpelling(first, subject, report) {
  const rules = subject.rules.map((rule) => ({
    target: rule.target,
    selector: rule.selector,
    recipient_word: rule.recipientWord,
    kind: rule.kind,
  }));
  const vault = subject.vaultSaid === null ? null : checksum(subject.vaultSaid);
  const written = { rules, factory: checksum(subject.factory), vault };
  for (const [key, value] of Object.entries(written)) {
    if (!isSame(first[key], value)) {
      report.say("terms.form", null, `${key} is not written as a record writes it`);
    }
  }
  const signature = first.signature;
  if (signature !== null && !SIGNATURE.test(String(signature))) {
    const text = "the signature is not 0x and pairs of lower-case hex digits";
    report.say("terms.form", null, text);
  }
}

/**
 * The vault of these terms; null when node and record are of different chains or there is no such
 * factory. `trusted`: factories; without any the record cannot be sound: its own would be its own
 * witness. Errors: UncheckedError.
 * @param {Subject} subject @param {Node} node @param {readonly string[]} trusted
 * @param {Report} report
 */
export async function checkPlace(subject, node, trusted, report) {
  const chainId = await node.chainId();
  if (chainId !== subject.chainId) {
    const text = `the record is of chain ${subject.chainId}, the wallet is on ${chainId}`;
    report.say("terms.chain_id", null, text);
    return null;
  }
  if (trusted.length === 0) {
    report.doubt(`the factory: none of chain ${chainId} is known; name the published one`);
  } else if (!trusted.includes(subject.factory)) {
    const text = `the record's factory is ${subject.factory}, trusted is ${trusted.join(", ")}`;
    report.say("terms.factory", null, text);
  }
  if ((await node.codeAt("the factory's code", subject.factory)) === "0x") {
    report.say("terms.factory", null, `there is no contract at ${subject.factory}`);
    return null;
  }
  const part = "the vault's address";
  const words = [subject.digest.slice(2)];
  const vault = String((await view(node, part, subject.factory, "predictVault", words))[0]);
  if (vault !== vaultAddress(subject) && trusted.includes(subject.factory)) {
    report.doubt(`${part}: the factory's word is not the address that its code gives`);
  }
  if (subject.vaultSaid !== null && subject.vaultSaid !== vault) {
    const text = `the record's vault is ${subject.vaultSaid}, these terms give ${vault}`;
    report.say("terms.vault", null, text);
  }
  return vault;
}

/** EIP-1014, the salt is the digest. @param {Subject} subject */
function vaultAddress(subject) {
  const parts = [subject.factory, subject.digest, VAULT_SHELL_HASH].map(bytesOf);
  return checksum(hexOf(keccak(concat(Uint8Array.of(0xff), ...parts)).subarray(12)));
}

/**
 * Whether the owner signed the terms; a key's signature needs no node, a contract wallet is asked.
 * Errors: UncheckedError when there is neither a signature nor a vault.
 * @param {Subject} subject @param {Json | undefined} signature
 * @param {{isSigned: boolean, hasVault: boolean}} said @param {Node} node @param {Report} report
 */
export async function checkSignature(subject, signature, said, node, report) {
  if (typeof signature !== "string") {
    if (said.hasVault) return false;
    if (said.isSigned) {
      const text = "the rows say signed, the record has no signature and the factory no vault";
      report.say("terms.signature", null, text);
    }
    throw new UncheckedError("terms", "there is neither a signature nor a vault");
  }
  if (!said.isSigned) report.say("row.left_out", null, "the terms are signed and no row says so");
  const { owner: signer, digest } = subject;
  const signed = { signer: checksum(signer), digest, signature };
  if (await isSignedBy(node, "the owner's signature", subject.factory, signed)) return true;
  if (said.hasVault && (await node.codeAt("the owner's code", signer)) !== "0x") {
    const text = `the owner's wallet ${signer} does not take the signature of the terms now`;
    report.remark(`${text}; the factory took it when it made the vault`);
    return true;
  }
  report.say("terms.signature", null, `${signer} did not sign ${digest}`);
  return false;
}

/**
 * The only contract whose X402Paid is believed: the one that is trusted, else the one that the
 * signed rules name. Errors: UncheckedError when the rules name several and none is trusted.
 * @param {Subject} subject @param {readonly string[]} trusted @param {Report} report
 */
export function paymentAdapter(subject, trusted, report) {
  const costs = subject.rules.filter((rule) => rule.kind === 3).map((rule) => rule.target);
  const named = [...new Set(costs)].sort();
  const chosen = named.find((one) => trusted.includes(one)) ?? trusted[0];
  if (chosen === undefined && named.length > 1) {
    throw new UncheckedError("payments", `the rules name ${named.length} payment adapters`);
  }
  if (chosen === undefined && named.length === 1) {
    const text = `payments are those of ${named[0]}, which the owner signed for`;
    report.remark(`${text}; name the deployment's adapter to be sure`);
  }
  const adapter = chosen ?? named[0] ?? null;
  for (const other of named) {
    if (other === adapter) continue;
    const text = `${other} may be paid as a cost and is not the x402 adapter`;
    report.remark(`${text}: its payments count as none`);
  }
  return adapter;
}

/**
 * Whether the factory holds the terms for cancelled, as its log said or did not say.
 * @param {Subject} subject @param {readonly NewRow[]} counted @param {Node} node @param {Block} last
 * @param {Report} report
 */
export async function checkCancelled(subject, counted, node, last, report) {
  const isSaid = counted.some((row) => Object.hasOwn(row.payload, "terms_cancelled"));
  const [part, words] = ["the terms' cancellation", [subject.digest.slice(2)]];
  const at = { blockHash: last.hash };
  const [isSo] = await view(node, part, subject.factory, "isCancelled", words, at);
  if (isSo === isSaid) return;
  const said = (/** @type {boolean} */ is) => (is ? "cancelled" : "not cancelled");
  const text = `the rows say ${said(isSaid)}, the factory ${said(isSo === true)}`;
  report.say("terms.cancelled", null, text);
}

/**
 * What this record says nothing of: vaults that the factory, or another trusted one, made of other
 * terms by the same owner. An owner may sign several terms for one mandate, and a record can show
 * those that have no vault.
 * Errors: UncheckedError when the vault may be that of the mandate that is meant.
 * @param {Subject} subject @param {{factories: string[], hasVault: boolean, isNamed: boolean}} said
 * `factories`: the trusted ones; `isNamed`: the reader said which mandate is meant
 * @param {Node} node @param {Report} report
 */
export async function checkOtherTerms(subject, { factories, hasVault, isNamed }, node, report) {
  const others = [];
  for (const factory of new Set([subject.factory, ...factories])) {
    others.push(...(await otherVaults(subject, factory, node)));
  }
  const same = others.filter((one) => one.publicId === subject.publicId);
  if (same.length > 0) {
    const text = `the owner signed others for ${subject.publicId} too, and the factory made of them`;
    throw new UncheckedError(
      OTHER_TERMS,
      `${text} ${named(same)}; this record says nothing of that`,
    );
  }
  if (others.length === 0) return;
  if (!hasVault && !isNamed) {
    const text = "these have no vault, and the factory made of others by the same owner";
    throw new UncheckedError(
      OTHER_TERMS,
      `${text} ${named(others)}; name the mandate that you mean`,
    );
  }
  const text = "the owner has other vaults, of which this record says nothing";
  report.remark(`${text}: ${named(others)}`);
}

/** @param {Subject} subject @param {string} factory @param {Node} node */
async function otherVaults(subject, factory, node) {
  const newest = await node.newest();
  const first = await node.firstWithCode(factory, newest);
  const topics = [topicOf("VaultCreated"), null, null, `0x${addressWord(subject.owner)}`];
  const filter = { address: factory, topics };
  const found = [];
  for await (const log of node.logs(OTHER_TERMS, filter, first, newest, newest - first + 1)) {
    const { vault, termsDigest: digest, publicId } = createdBy(log);
    if (digest !== subject.digest) found.push({ vault, publicId });
  }
  return found;
}

/** Errors: UncheckedError. @param {Log} log */
function createdBy(log) {
  try {
    return eventOf(log)?.values ?? {};
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    throw new UncheckedError(OTHER_TERMS, `${log.txHash}: ${error.message}`);
  }
}

/** @param {readonly {vault?: AbiValue, publicId?: AbiValue}[]} made */
function named(made) {
  const each = made.slice(0, MOST_NAMED).map((one) => `${one.vault} of ${one.publicId}`);
  return (
    each.join(", ") + (made.length > MOST_NAMED ? ` and ${made.length - MOST_NAMED} more` : "")
  );
}

/**
 * Each term against the one that the factory wrote down when it made the vault.
 * @param {Subject} subject @param {AbiValue[]} terms @param {AbiValue[][]} rules
 * @param {Report} report
 */
export function compareCreated(subject, terms, rules, report) {
  NEWEST.forEach(([, name], at) => {
    if (subject.terms[name] !== terms[at]) {
      const text = `${name}: the record says ${subject.terms[name]}, the factory ${terms[at]}`;
      report.say("terms.on_chain", null, text);
    }
  });
  const said = subject.rules.map((rule) =>
    [rule.target, rule.selector, rule.recipientWord, rule.kind].join(),
  );
  if (said.join(";") !== rules.map((rule) => rule.join()).join(";")) {
    const text = "the rules are not those that the factory wrote down";
    report.say("terms.rules", null, text);
  }
}
