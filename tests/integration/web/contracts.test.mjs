// Encoding and decoding against vectors that tests/integration/web/test_modules.py makes with the
// service's own encoder: the path of the file is in VECTORS.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { AbiError, rulesOf, textOfWord, uintOf, wordsOf } from "../../../api/web/app/abi.js";
import { addressOf, checksummed, keccak256 } from "../../../api/web/app/keccak.js";
import { refusalOf, SENTENCES } from "../../../api/web/app/refusals.js";
import { timeText, usdcText } from "../../../api/web/app/words.js";
import {
  leastOf,
  releaseCall,
  stopCall,
  takesMinimum,
  unwindCall,
  withdrawCall,
} from "../../../api/web/exit/calls.js";

const vectors = JSON.parse(readFileSync(process.env.VECTORS, "utf8"));

test("keccak256 and checksums of addresses agree", () => {
  for (const [text, hash] of vectors.hashes) assert.equal(keccak256(text), hash, text.length);
  for (const address of vectors.addresses) {
    assert.equal(checksummed(address.toLowerCase()), address);
    assert.equal(addressOf(` ${address}\n`), address);
    assert.equal(addressOf(address.toLowerCase()), address);
  }
});

test("an address with a wrong checksum, length or letter is none", () => {
  const [address] = vectors.addresses;
  const swapped = [...address].map((c, i) =>
    i > 1 && /[a-f]/i.test(c) ? (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()) : c,
  );
  const wrong = ["", "0x", address.slice(0, -1), `${address}0`, `0x${"g".repeat(40)}`, swapped.join("")];
  for (const text of wrong) {
    assert.equal(addressOf(text), null);
  }
});

test("the calls of an owner are the service's own", () => {
  const { vault, token, amount, stop, withdraw, unwinds, release } = vectors.calls;
  assert.equal(stopCall(vault, 84532).data, stop);
  assert.equal(withdrawCall(vault, token, BigInt(amount), 84532).data, withdraw);
  for (const { position, least, data } of unwinds) {
    const units = BigInt(position.units);
    assert.equal(unwindCall(vault, { ...position, units }, 84532, BigInt(least)).data, data);
  }
  assert.equal(releaseCall(vault, unwinds[0].position, 84532).data, release);
});

test("a position of unknown size or exit has no call", () => {
  const { vault, unwinds } = vectors.calls;
  const { position } = unwinds[0];
  for (const change of [{ units: null }, { units: 0n }, { units: 1n, exit: null }]) {
    assert.equal(unwindCall(vault, { ...position, ...change }, 84532, 1n), null);
  }
});

test("an exit that takes a minimum has no call without one", () => {
  const { vault, unwinds } = vectors.calls;
  const [{ position }] = unwinds.filter((one) => takesMinimum(one.position));
  assert.equal(unwindCall(vault, { ...position, units: 1n }, 84532, null), null);
});

test("the least that is proposed is the worth less the allowance, and unknown stays unknown", () => {
  assert.equal(leastOf({ worth: 100_000_101n }), 99_000_099n);
  assert.equal(leastOf({ worth: 0n }), 0n);
  assert.equal(leastOf({ worth: null }), null);
});

test("every error of the contracts is read with its arguments", () => {
  for (const { data, name, args } of vectors.errors) {
    const refusal = refusalOf(data);
    assert.equal(refusal.name, name);
    assert.deepEqual(refusal.args, args, name);
    assert.ok(refusal.sentence.length > 10 && !refusal.sentence.includes("undefined"), name);
  }
});

test("every error of the ABIs has a sentence of its own, and no other has one", () => {
  assert.deepEqual(Object.keys(SENTENCES).sort(), vectors.errors.map(({ name }) => name).sort());
  for (const { data, name } of vectors.errors) {
    const { sentence } = refusalOf(data);
    assert.ok(sentence.includes(" ") && !sentence.includes(name), `${name}: ${sentence}`);
  }
});

test("data that is no error, or is cut short, is unknown and never guessed", () => {
  const [{ data }] = vectors.errors.filter(({ name }) => name === "WithdrawLocked");
  for (const bad of [null, "0x", "0x12345678", data.slice(0, -2), data.slice(0, 40)]) {
    const refusal = refusalOf(bad);
    assert.equal(refusal.name, "");
    assert.ok(refusal.sentence.startsWith("The contract refuses the call for a reason that is not known"));
  }
});

test("rules are read as the vault encodes them", () => {
  assert.deepEqual(rulesOf(vectors.rules.data), vectors.rules.rules);
  for (const bad of ["0x", vectors.rules.data.slice(0, -64), vectors.rules.data + "0".repeat(64), 7]) {
    assert.throws(() => rulesOf(bad), AbiError);
  }
});

test("answers that are not what the ABI says are refused", () => {
  for (const bad of [null, 7, "0x1", `0x${"0".repeat(63)}`, {}]) {
    assert.throws(() => wordsOf(bad, 1), AbiError);
  }
  assert.throws(() => uintOf("f".repeat(64), 64), AbiError);
  assert.equal(textOfWord("6100ff".padEnd(64, "0")), "a??");
});

test("amounts and times read as people write them", () => {
  assert.equal(usdcText(0n), "0.000000");
  assert.equal(usdcText(999_999n), "0.999999");
  assert.equal(usdcText(1_234_567_000_001n), "1,234,567.000001");
  assert.equal(timeText(1_700_000_000n), "2023-11-14 22:13:20 UTC");
  assert.equal(timeText(2n ** 64n), "unknown time");
});
