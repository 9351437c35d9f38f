// What the service built, against what the page shows its owner: whatever differs is not put before the wallet.
//
// Laws
// - Terms are signed only if each figure in them is the one on the page, for this owner, by this factory.
// - The vault's address is computed here from the terms, so money is approved or authorized for that vault alone.
// - A sponsored buy pays the reserve token and its treasury, what the page says, and mints to the buyer. The contracts
//   are those of GET /reserve/config, and token and batch say so themselves.
// - A call is of this network, sends no ether, and is the function that the button names, at the mandate's vault, its
//   factory or USDC. What a vault pays out goes to its owner. A sale leaves the position that is named, and for no less
//   than the page says.
//
// What cannot be compared here stays the service's word: that its factory and its USDC are the real ones, which wallet
// an agent has, and what a clause says beside its figures (docs/console.md#security).
// Loaded when something is to be signed.

import { addressWord, uintWord, unwindArguments } from "./abi.js";
import { bytesOf, concat, hexOf, keccak } from "./bytes.js";
import { EXITS, RELEASE, VAULT_SHELL_HASH } from "./contracts.js";
import { units } from "./format.js";
import { keccak256 } from "./keccak.js";
import { guardTargetsHash, rulesHash, TERMS_FIELDS, termsDigest } from "./terms.js";
import { WalletError } from "./wallet-errors.js";

/**
 * @typedef {import("./wallet.js").Call} Call
 * `contracts` by name, of the discovery document.
 * @typedef {{chain_id: number, contracts: Record<string, any>}} Service
 * @typedef {keyof typeof FUNCTIONS} Does
 * `owner` signs. `does`: what the page says, one a call. `vault`: of the mandate; null: it has none, and no call of one
 * is right. `amount` in USDC base units, and `agent`: null where the page names none. `sale`: of an unwind, the adapter
 * that is left, and the least that it may bring in USDC base units; null where its exit takes no minimum.
 * @typedef {{owner: string, service: Service, vault: string | null, does: readonly Does[], amount?: bigint | null,
 *   agent?: string | null, sale?: {adapter: string, least: bigint | null} | null}} Shown
 */

const WORD = 64; // hex digits of 32 bytes
const AUTHORIZATION = ["from", "to", "value", "validAfter", "validBefore", "nonce"];
const AUTHORIZATION_FORM = /** @type {readonly (readonly [string, string])[]} */ ([
  ["address", "from"],
  ["address", "to"],
  ["uint256", "value"],
  ["uint256", "validAfter"],
  ["uint256", "validBefore"],
  ["bytes32", "nonce"],
]);
const DOMAIN = ["name", "version", "chainId", "verifyingContract"];
// Of a sponsored buy: nothing dearer is quoted, USDC base units; nor for longer, seconds, with five minutes more for a
// clock that is wrong; nor below the token's own quote by more, in hundredths of a percent.
const MOST_FEE = 5_000_000n;
const MOST_GOOD_S = 1_800 + 300;
const MOST_RISE_BPS = 200n;
const VERSION = 2; // of terms: the only one that is issued

const TERMS =
  "(string,address,address,uint256,uint256,uint256,uint256,uint16,uint32,uint64,uint16,uint256,uint8,bytes32,bytes32,uint64,uint256)";
/** What owners send, by name: whose function it is, and its signature. */
const FUNCTIONS = Object.freeze({
  approve: ["usdc", "approve(address,uint256)"],
  createVault: [
    "factory",
    `createVault(${TERMS},(address,bytes4,uint8,uint8)[],bytes,(uint256,uint256,uint256,bytes))`,
  ],
  cancelTerms: ["factory", `cancelTerms(${TERMS})`],
  deposit: ["vault", "deposit(uint256)"],
  removeAgent: ["vault", "removeAgent()"],
  setAgent: ["vault", "setAgent(address)"],
  stop: ["vault", "stop(bytes32)"],
  release: ["vault", "unwind((address,uint256,bytes)[])"],
  unwind: ["vault", "unwind((address,uint256,bytes)[])"],
  withdraw: ["vault", "withdraw(address,address,uint256)"],
});

/**
 * The terms are those of the mandate that is shown. Errors: WalletError.
 * @param {any} answer of GET .../terms
 * @param {{mandate: any, owner: string, service: Service}} shown
 * @returns {{digest: string, vault: string}} of the document, computed here
 */
export function requireTerms(answer, { mandate, owner, service }) {
  return read("the terms", () => {
    const { typed_data: document, rules } = answer;
    requireForm(document, "MandateTerms", TERMS_FIELDS);
    const { factory } = service.contracts;
    requireDomain(document.domain, "Mandate Wallet", String(VERSION), service.chain_id, factory);
    same("the network", mandate.chain_id, service.chain_id);
    const { message } = document;
    const values = Object.entries(expectedOf(mandate, owner));
    for (const [name, value] of values) same(`${name} of the terms`, message[name], value);
    const ends = BigInt(message.issuedAt) + 86_400n * BigInt(mandate.horizon_days);
    same("the end", message.endsAt, ends);
    same("the list of targets", message.allowedTargetsHash, rulesHash(rules.map(ruleOf)));
    const payments = mandate.allowed_targets.filter(
      (/** @type {any} */ one) => one.kind === "x402",
    );
    same("what may be paid", message.guardTargetsHash, guardTargetsHash(payments));
    requireTargets(rules, mandate.allowed_targets, service);
    const terms = Object.fromEntries(
      TERMS_FIELDS.map(([type, name]) => [
        name,
        type.startsWith("uint") ? BigInt(message[name]) : message[name],
      ]),
    );
    const digest = termsDigest(terms, factory, service.chain_id);
    const parts = [factory, digest, VAULT_SHELL_HASH].map(bytesOf);
    const vault = hexOf(keccak(concat(Uint8Array.of(0xff), ...parts)).subarray(12));
    return { digest, vault };
  });
}

/**
 * The authorization gives the vault of these terms the budget, once, and nobody else anything. Errors: WalletError.
 * @param {any} document
 * @param {{owner: string, service: Service, vault: string, digest: string, budget: string}} shown
 */
export function requireAuthorization(document, { owner, service, vault, digest, budget }) {
  read("the authorization", () => {
    const form = AUTHORIZATION.map((name) => /** @type {[string, string]} */ (["", name]));
    requireForm(document, "ReceiveWithAuthorization", form);
    requireDomain(document.domain, null, null, service.chain_id, service.contracts.usdc);
    const { message } = document;
    same("the payer", message.from, owner);
    same("the receiver", message.to, vault);
    same("the amount", message.value, units(budget));
    same("the authorization's number", message.nonce, digest);
  });
}

/**
 * What the contracts themselves say of a purchase: the token's treasury, its USDC, what it would mint now (1e-18), and
 * the token that the batch contract buys.
 * @typedef {{treasury: bigint, usdc: bigint, tokens: bigint, reserve: bigint}} PurchaseFacts
 */

/**
 * The two authorizations of a sponsored buy: the amount to the reserve token, for these tokens at least and for the
 * buyer itself, and the fee that is shown to the token's treasury, both for half an hour at most. Both numbers are
 * computed here, as the contracts do.
 * @param {any} offer of POST /reserve/buy/sponsored/prepare
 * @param {{buyer: string, config: import("./answers.js").ReserveConfig, amount: bigint, facts: PurchaseFacts,
 *   now: number}} shown `now`: unix seconds
 */
export function requirePurchase(offer, { buyer, config, amount, facts, now }) {
  read("the authorization", () => {
    const { chain_id: chainId, contracts } = config;
    const token = contracts.reserve_token;
    const fee = units(offer.fee_usdc) ?? -1n;
    const payee = addressOf(facts.treasury);
    same("the token's USDC", addressOf(facts.usdc), contracts.usdc);
    same("the contract that sends both", offer.batch, contracts.sponsored_buy);
    same("the token that is bought", addressOf(facts.reserve), token);
    if (fee < 0n || fee > MOST_FEE) throw differs("the fee", offer.fee_usdc);
    same("who gets the tokens", offer.recipient, buyer);
    same("who gets the fee", offer.treasury, payee);
    same("the amount", units(offer.amount_usdc), amount);
    same("the sum", units(offer.total_usdc), amount + fee);
    const least = BigInt(offer.min_tokens_base);
    if (least * 10_000n < facts.tokens * (10_000n - MOST_RISE_BPS))
      throw differs("how many tokens you get at least", offer.min_tokens);
    same("how many tokens you get at least", tokensOf(offer.min_tokens), least);
    const ends = requireEnd(offer, now);
    const places = addressWord(token) + addressWord(buyer) + addressWord(buyer);
    const terms = uintWord(amount) + uintWord(least) + wordOf(offer.salt);
    const ofBuy = hashOfWords(uintWord(chainId) + places + terms);
    const ofFee = hashOfWords(
      uintWord(chainId) + addressWord(offer.batch) + wordOf(ofBuy) + uintWord(fee),
    );
    const documents = /** @type {const} */ ([
      ["ReceiveWithAuthorization", offer.purchase, token, amount, ofBuy],
      ["TransferWithAuthorization", offer.fee, payee, fee, ofFee],
    ]);
    for (const [name, document, to, value, nonce] of documents) {
      requireForm(document, name, AUTHORIZATION_FORM);
      requireDomain(document.domain, null, null, chainId, contracts.usdc);
      same("from when it is good", document.message.validAfter, 0);
      same("how long it is good", document.message.validBefore, ends);
      same("the payer", document.message.from, buyer);
      same("the receiver", document.message.to, to);
      same("the amount", document.message.value, value);
      same("the authorization's number", document.message.nonce, nonce);
    }
  });
}

/**
 * When both authorizations end, unix seconds: in the future, and not for longer than a quote is.
 * @param {any} offer @param {number} now
 */
function requireEnd(offer, now) {
  const ends = Date.parse(offer.valid_before) / 1000;
  const isBounded = Number.isInteger(ends) && now < ends && ends <= now + MOST_GOOD_S;
  if (!isBounded || !(Date.parse(offer.expires_at) / 1000 <= ends))
    throw differs("how long it is good", offer.valid_before);
  return ends;
}

/** @param {bigint} word */
function addressOf(word) {
  return `0x${word.toString(16).padStart(40, "0")}`;
}

/** @param {string} text tokens with eighteen decimals @returns {bigint | null} in 1e-18 */
function tokensOf(text) {
  return /^\d{1,60}\.\d{18}$/.test(text) ? BigInt(text.replace(".", "")) : null;
}

/** @param {string} text a bytes32 @returns {string} its digits */
function wordOf(text) {
  if (!/^0x[0-9a-f]{64}$/i.test(text)) throw differs("a number", text);
  return text.slice(2);
}

/** @param {string} digits */
function hashOfWords(digits) {
  return hexOf(keccak(bytesOf(`0x${digits}`)));
}

/**
 * The calls do what the page says, in that order, at this mandate's contracts. Errors: WalletError.
 * @param {readonly Call[]} calls @param {Shown} shown
 */
export function requireCalls(calls, shown) {
  read("a call", () => {
    same("the number of calls", calls.length, shown.does.length);
    for (const [at, call] of calls.entries()) requireCall(call, shown.does[at] ?? "stop", shown);
  });
}

/** @param {Call} call @param {Does} does @param {Shown} shown */
function requireCall({ to, data, value, chain_id: chainId }, does, shown) {
  const { owner, service, vault, amount = null, agent = null } = shown;
  const [whose, signature = ""] = FUNCTIONS[does];
  same("the network", chainId, service.chain_id);
  same("the ether that is sent", BigInt(value ?? 0), 0n);
  same(
    "the contract that is called",
    to,
    whose === "vault" ? vault : service.contracts[whose ?? ""],
  );
  same("the function that is called", data.slice(0, 10), keccak256(signature).slice(0, 10));
  const words = data.slice(10).match(/.{64}/g) ?? [];
  if (does === "approve") same("who may take USDC", addressAt(words, 0), vault);
  if (does === "withdraw") same("the receiver", addressAt(words, 1), owner);
  if (does === "setAgent" && agent !== null) same("the agent", addressAt(words, 0), agent);
  if (does === "release" || does === "unwind") requireExit(data, does, shown.sale ?? null);
  const moved = { approve: words[1], deposit: words[0], withdraw: words[2] }[String(does)];
  if (moved !== undefined && amount !== null) same("how much", BigInt(`0x${moved}`), amount);
}

/**
 * One exit of the adapter that the page names, of all its units or as many as the venue pays, for no less than it says;
 * or the handing over of the venue's own tokens. Nothing else is in the call.
 * @param {string} data of unwind @param {"release" | "unwind"} does @param {Shown["sale"]} sale
 */
function requireExit(data, does, sale) {
  const digits = data.slice(10).toLowerCase();
  const target = addressAt(digits.match(/.{64}/g) ?? [], 3);
  const length = Number.parseInt(digits.slice(6 * WORD, 7 * WORD), 16) * 2;
  const exit = `0x${digits.slice(7 * WORD, 7 * WORD + length)}`;
  same("the calls of the unwind", digits, unwindArguments([{ target, data: exit }]));
  same("the position that is closed", target, sale?.adapter);
  if (does === "release") return same("how the position is left", exit, RELEASE);
  const known = EXITS[exit.slice(0, 10)];
  if (known === undefined) throw differs("how the position is left", exit);
  same("how the position is left", exit.length, 10 + WORD * (known.takesMinimum ? 2 : 1));
  const least = known.takesMinimum ? BigInt(`0x${exit.slice(-WORD)}`) : "none";
  same("the least that it may bring", least, sale?.least ?? "none");
}

/**
 * What the terms say of a mandate, by name: an empty cap is signed as the budget, an empty threshold as 0.
 * @param {any} mandate @param {string} owner
 */
function expectedOf(mandate, owner) {
  const budget = units(mandate.budget_usdc);
  return {
    publicId: mandate.public_id,
    owner,
    budgetUsdc: budget,
    perTxCap: mandate.per_tx_cap_usdc === null ? budget : units(mandate.per_tx_cap_usdc),
    dailyCap: mandate.daily_cap_usdc === null ? budget : units(mandate.daily_cap_usdc),
    stopFloor: units(mandate.stop_floor_usdc),
    stopFloorBps: mandate.stop_floor_bps,
    horizonDays: mandate.horizon_days,
    agentFeeBps: mandate.payout_rule?.bps ?? 1_000,
    approvalAbove: mandate.approval_above_usdc === null ? 0n : units(mandate.approval_above_usdc),
    onFloor: mandate.on_floor === "close" ? 1 : 0,
  };
}

/**
 * Each rule is of a target that the page names, or of an adapter of the deployment.
 * @param {any[]} rules @param {any[]} targets @param {Service} service
 */
function requireTargets(rules, targets, { contracts }) {
  const named = targets.filter((one) => one.kind === "contract").map((one) => one.address);
  const known = [...named, ...Object.values(contracts).flat()].map((one) =>
    String(one).toLowerCase(),
  );
  for (const { target } of rules) {
    if (!known.includes(String(target).toLowerCase())) throw differs("a target", target);
  }
}

/**
 * A document shows and signs these members, and no more.
 * @param {any} document @param {string} name @param {readonly (readonly [string, string])[]} form `type` "": any
 */
function requireForm({ types, primaryType, domain, message }, name, form) {
  same("what is signed", primaryType, name);
  same("its parts", Object.keys(types).sort().join(), ["EIP712Domain", name].sort().join());
  const written = (/** @type {any[]} */ members) => members.map((one) => one.name).join();
  same("its form", written(types[name]), form.map(([, member]) => member).join());
  form.forEach(([type, member], at) => {
    if (type !== "") same(`the type of ${member}`, types[name][at].type, type);
  });
  same("its domain", written(types.EIP712Domain), DOMAIN.join());
  same("its domain", Object.keys(domain).sort().join(), [...DOMAIN].sort().join());
  const members = form.map(([, member]) => member).sort();
  same("its members", Object.keys(message).sort().join(), members.join());
}

/**
 * @param {any} domain @param {string | null} name @param {string | null} version @param {number} chainId
 * @param {string} contract
 */
function requireDomain(domain, name, version, chainId, contract) {
  if (name !== null) same("its domain", domain.name, name);
  if (version !== null) same("its version", domain.version, version);
  same("its network", domain.chainId, chainId);
  same("its contract", domain.verifyingContract, contract);
}

/** @param {any} rule as the API writes it @returns {import("./terms.js").Rule} */
function ruleOf({ target, selector: called, recipient_word: recipientWord, kind }) {
  return { target, selector: called, recipientWord, kind };
}

/** @param {readonly string[]} words @param {number} at */
function addressAt(words, at) {
  const word = words[at] ?? "";
  return word.length === WORD && /^0{24}/.test(word) ? `0x${word.slice(24)}` : `0x${word}`;
}

/** @param {unknown} one @param {unknown} other addresses and hashes in any case */
function is(one, other) {
  return (
    one !== null && one !== undefined && String(one).toLowerCase() === String(other).toLowerCase()
  );
}

/** @param {string} what @param {unknown} found @param {unknown} shown */
function same(what, found, shown) {
  if (shown === null || shown === undefined || !is(found, shown)) throw differs(what, found);
}

/** @param {string} what @param {unknown} found */
function differs(what, found) {
  return new WalletError("failed", {
    message: `The service asks for something else than this page shows: ${what}.`,
    next: "Your wallet was not asked. Load the page again; if it stays so, do not sign, and leave by the exit page.",
    detail: String(found),
  });
}

/**
 * What has another shape differs too.
 * @template T
 * @param {string} what @param {() => T} compare
 * @returns {T}
 */
function read(what, compare) {
  try {
    return compare();
  } catch (error) {
    throw error instanceof WalletError ? error : differs(what, error);
  }
}
