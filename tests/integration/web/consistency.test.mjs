// What the page puts before the wallet, of a service that answers as ours does (owner_calls.json: answers of a local
// stack), and of one that lies in one place.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  requireAuthorization,
  requireCalls,
  requirePurchase,
  requireTerms,
} from "../../../api/web/app/consistency.js";
import { uintWord, unwindArguments } from "../../../api/web/app/abi.js";
import { RELEASE, SELECTORS } from "../../../api/web/app/contracts.js";
import { requireSignIn } from "../../../api/web/app/sign-in-text.js";
import { WalletError } from "../../../api/web/app/wallet-errors.js";

const ANSWERS = JSON.parse(readFileSync(new URL("owner_calls.json", import.meta.url), "utf8"));
const { owner, service } = ANSWERS;
const VAULT = ANSWERS.signed.offered.vault_address;
const THIEF = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const THIEF_WORD = THIEF.slice(2).toLowerCase().padStart(64, "0");
const OWNER_WORD = owner.slice(2).toLowerCase().padStart(64, "0");
const VAULT_WORD = VAULT.slice(2).toLowerCase().padStart(64, "0");

const copy = (value) => structuredClone(value);
const refused = (work) => assert.throws(work, (error) => error instanceof WalletError);

for (const name of ["draft", "paper", "signed"]) {
  test(`the terms of ours pass: ${name}`, () => {
    const { mandate, terms } = ANSWERS[name];
    assert.equal(requireTerms(terms, { mandate, owner, service }).digest, terms.digest);
  });
}

test("the vault is computed from the terms", () => {
  const { mandate, terms } = ANSWERS.signed;
  assert.equal(requireTerms(terms, { mandate, owner, service }).vault, VAULT.toLowerCase());
});

const LIES = {
  "another owner": (data) => (data.message.owner = THIEF),
  "a larger budget": (data) => (data.message.budgetUsdc = "5000000000"),
  "a larger cap": (data) => (data.message.perTxCap = "500000001"),
  "a larger daily cap": (data) => (data.message.dailyCap = "500000000"),
  "a lower stop line": (data) => (data.message.stopFloor = "0"),
  "another stop line in hundredths": (data) => (data.message.stopFloorBps = "10000"),
  "a later end": (data) => (data.message.endsAt = "99999999999"),
  "a longer time": (data) => (data.message.horizonDays = "3650"),
  "a larger fee": (data) => (data.message.agentFeeBps = "10000"),
  "another threshold": (data) => (data.message.approvalAbove = "1"),
  "another act at the floor": (data) => (data.message.onFloor = "0"),
  "another mandate": (data) => (data.message.publicId = "m_aaaaaaaaaa"),
  "other targets": (data) => (data.message.allowedTargetsHash = `0x${"00".repeat(32)}`),
  "other payments": (data) => (data.message.guardTargetsHash = `0x${"00".repeat(32)}`),
  "no amount": (data) => (data.message.budgetUsdc = null),
  "another factory": (data) => (data.domain.verifyingContract = THIEF),
  "another network": (data) => (data.domain.chainId = 8453),
  "another name": (data) => (data.domain.name = "Permit2"),
  "a salt": (data) => (data.domain.salt = "0x00"),
  "another document": (data) => (data.primaryType = "Permit"),
  "a second type": (data) => (data.types.Permit = []),
  "a member more": (data) => (data.message.spender = THIEF),
  "a type of a member": (data) => (data.types.MandateTerms[3].type = "string"),
  "members in another order": (data) => data.types.MandateTerms.reverse(),
  "a document of nothing": (data) => (data.types = null),
};
for (const [lie, tell] of Object.entries(LIES)) {
  test(`terms that lie are not signed: ${lie}`, () => {
    const { mandate, terms } = copy(ANSWERS.draft);
    tell(terms.typed_data);
    refused(() => requireTerms(terms, { mandate, owner, service }));
  });
}

test("a target that the page does not name is not signed, although the hash has it", () => {
  const { mandate, terms } = copy(ANSWERS.draft);
  const others = { ...service, contracts: { ...service.contracts, x402_adapter: THIEF } };
  refused(() => requireTerms(terms, { mandate, owner, service: others }));
});

const authorization = (change = () => {}) => {
  const { mandate, terms, offered } = copy(ANSWERS.signed);
  const shown = { owner, service, budget: mandate.budget_usdc };
  change(offered.typed_data);
  const { vault, digest } = requireTerms(terms, { mandate, owner, service });
  return () => requireAuthorization(offered.typed_data, { ...shown, vault, digest });
};

test("the authorization of ours passes", authorization());

const THEFTS = {
  "to somebody else": (data) => (data.message.to = THIEF),
  "of more": (data) => (data.message.value = "500000001"),
  "of another account": (data) => (data.message.from = THIEF),
  "with another number": (data) => (data.message.nonce = `0x${"00".repeat(32)}`),
  "of another token": (data) => (data.domain.verifyingContract = THIEF),
  "on another network": (data) => (data.domain.chainId = 1),
  "that anybody may submit": (data) => (data.primaryType = "TransferWithAuthorization"),
};
for (const [theft, tell] of Object.entries(THEFTS)) {
  test(`an authorization ${theft} is not signed`, () => refused(authorization(tell)));
}

const budget = 500_000_000n;
const { working, signed, stopped } = ANSWERS;
const OURS = {
  "create with the authorization": [[signed.final], { does: ["createVault"] }],
  "approve and create": [
    signed.approve.calls,
    { does: ["approve", "createVault"], amount: budget },
  ],
  pause: [[working.pause], { does: ["removeAgent"] }],
  resume: [
    [working.resume],
    { does: ["setAgent"], agent: ANSWERS.draft.terms.typed_data.message.agent },
  ],
  stop: [[working.stop], { does: ["stop"] }],
  "stop and withdraw": [working.plan.batch.calls, { does: ["stop", "withdraw"], amount: budget }],
  withdraw: [[stopped.withdraw], { does: ["withdraw"], amount: budget }],
};
for (const [name, [calls, more]] of Object.entries(OURS)) {
  const shown = { owner, service, vault: VAULT, ...more };
  const change = (tell) => {
    const told = copy(calls);
    tell(told.at(-1));
    return () => requireCalls(told, shown);
  };

  test(`${name}: the calls of ours pass`, () => requireCalls(calls, shown));

  test(`${name}: nothing is sent elsewhere, on another network, with ether, or as another function`, () => {
    refused(change((call) => (call.to = THIEF)));
    refused(change((call) => (call.to = null)));
    refused(change((call) => (call.chain_id = 8453)));
    refused(change((call) => (call.value = 1)));
    refused(change((call) => (call.value = "much")));
    refused(change((call) => (call.data = `0xa9059cbb${THIEF_WORD}${"f".repeat(64)}`)));
    refused(change((call) => (call.data = null)));
    refused(() => requireCalls([...calls, { ...calls[0], to: THIEF }], shown));
    refused(() => requireCalls([], shown));
  });
}

test("a withdrawal goes to the owner alone, and of the amount that is shown", () => {
  const [calls, more] = OURS.withdraw;
  const shown = { owner, service, vault: VAULT, ...more };
  const data = calls[0].data;
  refused(() => requireCalls([{ ...calls[0], data: data.replace(OWNER_WORD, THIEF_WORD) }], shown));
  refused(() => requireCalls(calls, { ...shown, amount: budget - 1n }));
});

test("nobody but the mandate's vault may take USDC, and no more than is shown", () => {
  const [[approve, create], more] = OURS["approve and create"];
  const shown = { owner, service, vault: VAULT, ...more };
  const stolen = { ...approve, data: approve.data.replace(VAULT_WORD, THIEF_WORD) };
  const endless = { ...approve, data: `${approve.data.slice(0, -64)}${"f".repeat(64)}` };
  refused(() => requireCalls([stolen, create], shown));
  refused(() => requireCalls([endless, create], shown));
});

test("a pause gives the vault to no other agent, and a resume to the one that is named", () => {
  const shown = { owner, service, vault: VAULT };
  refused(() => requireCalls([working.resume], { ...shown, does: ["removeAgent"] }));
  refused(() => requireCalls([working.resume], { ...shown, does: ["setAgent"], agent: THIEF }));
});

const ADAPTER = "0x00000000000000000000000000000000000000ad";
const [REDEEM, SELL] = ["0x7cbc2373", "0xe4849b32"]; // with a minimum, and without one
const unwind = (...exits) => {
  const calls = exits.map(({ target = ADAPTER, data }) => ({ target, data }));
  return { ...working.stop, data: SELECTORS.unwind + unwindArguments(calls) };
};
const word = (value) => uintWord(BigInt(value));
const redeem = (least) => ({ data: REDEEM + word(7) + word(least) });
const sale = (least, does = "unwind") => {
  return { owner, service, vault: VAULT, does: [does], sale: { adapter: ADAPTER, least } };
};

test("a sale has the minimum that the page shows, at the position that it names", () => {
  requireCalls([unwind(redeem(99_500_000))], sale(99_500_000n));
  requireCalls([unwind(redeem(0))], sale(0n));
  requireCalls([unwind({ data: SELL + word(7) })], sale(null));
  requireCalls([unwind({ data: RELEASE })], sale(null, "release"));
});

const SALES = {
  "for less than is shown": [unwind(redeem(99_499_999)), sale(99_500_000n)],
  "for any price": [unwind(redeem(0)), sale(99_500_000n)],
  "with a minimum where none is shown": [unwind(redeem(1)), sale(null)],
  "without one where one is shown": [unwind({ data: SELL + word(7) }), sale(99_500_000n)],
  "at another adapter": [unwind({ ...redeem(1), target: THIEF }), sale(1n)],
  "of two positions": [unwind(redeem(1), redeem(1)), sale(1n)],
  "by an exit that is not known": [unwind({ data: `0xa9059cbb${word(7)}` }), sale(null)],
  "with more behind it": [unwind({ data: REDEEM + word(7) + word(1) + word(0) }), sale(1n)],
  "that hands over tokens": [unwind({ data: RELEASE }), sale(null)],
  "that is no release": [unwind({ data: SELL + word(7) }), sale(null, "release")],
  "of a position that nobody named": [unwind(redeem(1)), { ...sale(1n), sale: null }],
};
for (const [what, [call, shown]] of Object.entries(SALES)) {
  test(`a sale ${what} is not sent`, () => refused(() => requireCalls([call], shown)));
}

test("a mandate without a vault has no call of one", () => {
  refused(() => requireCalls([working.stop], { owner, service, vault: null, does: ["stop"] }));
});

test("a sign-in is for this site and this account", () => {
  const { message } = ANSWERS;
  const host = "127.0.0.1:8190";
  requireSignIn(message, { host, address: owner.toLowerCase() });
  requireSignIn(message, { host: "localhost:8190", address: owner });
  refused(() => requireSignIn(message, { host: "example.org", address: owner }));
  refused(() => requireSignIn(message, { host, address: THIEF }));
  refused(() => requireSignIn(message.replace(host, `${host}.example.org`), { host, address: owner }));
  refused(() => requireSignIn(message.replace(host, "127.0.0.1:1"), { host, address: owner }));
  refused(() => requireSignIn("I give you everything", { host, address: owner }));
  refused(() => requireSignIn(null, { host, address: owner }));
});

// What core.sponsored.documents writes of a purchase for 12.500000 USDC: its numbers are the contracts'.
const SPONSORED = JSON.parse(readFileSync(new URL("sponsored_offer.json", import.meta.url), "utf8"));
const purchase = (change = () => {}) => {
  const { offer, buyer, config, treasury, tokens, now } = copy(SPONSORED);
  const { usdc, reserve_token: reserve } = config.contracts;
  const facts = { treasury, usdc, reserve, tokens };
  const shown = { buyer, config, amount: 12_500_000n, facts, now };
  change(offer, shown);
  for (const name of Object.keys(facts)) facts[name] = BigInt(facts[name]);
  return () => requirePurchase(offer, shown);
};

test("a sponsored buy of ours passes", purchase());

const OTHER_BUYS = {
  "with the tokens for somebody else": (data) => (data.recipient = THIEF),
  "of another amount": (data) => (data.purchase.message.value = "12500001"),
  "of fewer tokens than shown": (data) => (data.min_tokens_base = "1170000000000000000001"),
  "of fewer tokens in words": (data) => (data.min_tokens = "1170.000000000000000001"),
  "for nearly no tokens": (data) => {
    data.min_tokens = "0.000000000000000001";
    data.min_tokens_base = "1";
  },
  "that costs more in all": (data) => (data.total_usdc = "12.520001"),
  "that says another amount": (data) => (data.amount_usdc = "12.500001"),
  "with a fee that it says is somebody else's": (data) => (data.treasury = THIEF),
  "good for ever": (data) => {
    data.valid_before = "2099-01-01T00:00:00Z";
    for (const one of ["purchase", "fee"]) data[one].message.validBefore = "4070908800";
  },
  "with a fee good for ever": (data) => (data.fee.message.validBefore = "4070908800"),
  "good from later on": (data) => (data.purchase.message.validAfter = "1799999999"),
  "that has ended": (_, shown) => (shown.now = 1_800_000_000),
  "with a value that reads as text": (data) =>
    (data.fee.types.TransferWithAuthorization[2].type = "string"),
  "at a batch contract that buys something else": (_, { facts }) => (facts.reserve = THIEF),
  "of a token that takes another USDC": (_, { facts }) => (facts.usdc = THIEF),
  "without a batch contract in the service's own list": (_, { config }) =>
    (config.contracts.sponsored_buy = null),
  "of a token that would mint more": (_, { facts }) => (facts.tokens = "1193877551020408163266"),
  "to another contract": (data) => (data.purchase.message.to = THIEF),
  "that anybody may submit": (data) => (data.purchase.primaryType = "TransferWithAuthorization"),
  "with a number of its own": (data) => (data.purchase.message.nonce = `0x${"00".repeat(32)}`),
  "with another salt": (data) => (data.salt = `0x${"5b".repeat(32)}`),
  "without a salt": (data) => (data.salt = null),
  "with a fee for somebody else": (data) => (data.fee.message.to = THIEF),
  "with a larger fee than shown": (data) => (data.fee.message.value = "20001"),
  "with a fee that is none": (data) => (data.fee_usdc = "-0.020000"),
  "with a fee above the most": (data) => {
    data.fee_usdc = "5.000001";
    data.fee.message.value = "5000001";
  },
  "with a fee of another purchase": (data) => (data.fee.message.nonce = `0x${"11".repeat(32)}`),
  "by another batch contract": (data) => (data.batch = THIEF),
  "of another account": (data) => (data.fee.message.from = THIEF),
  "of another token": (data) => (data.fee.domain.verifyingContract = THIEF),
  "on another network": (data) => (data.purchase.domain.chainId = 1),
};
for (const [lie, tell] of Object.entries(OTHER_BUYS)) {
  test(`a sponsored buy ${lie} is not signed`, () => refused(purchase(tell)));
}
