// RLP, proofs of the state trie, and proofs of the anchors' tree.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkLines } from "../../../../api/web/verify/anchors.js";
import { decodeValues } from "../../../../api/web/verify/abi.js";
import { bytesOf, concat, genesisHash, hexOf, keccak, utf8, word } from "../../../../api/web/verify/bytes.js";
import { Report } from "../../../../api/web/verify/findings.js";
import { Pauses } from "../../../../api/web/verify/pause.js";
import { decode, encode, numberBytes, provenValue } from "../../../../api/web/verify/tries.js";

test("RLP writes and reads what it wrote", () => {
  const long = new Uint8Array(1_024).fill(7);
  const items = [utf8("dog"), [], [utf8("cat"), [utf8("")]], Uint8Array.of(0), Uint8Array.of(128), long];
  assert.deepEqual(decode(encode(items)), items);
  assert.equal(hexOf(encode([utf8("cat"), utf8("dog")])), "0xc88363617483646f67");
  assert.equal(hexOf(numberBytes(1_024n)), "0x0400");
});

test("RLP that is cut short, too deep or too long is refused", () => {
  for (const text of ["0x", "0x83646f", "0xc883636174", "0x00ff", `0x${"c1".repeat(20)}c0`, "0xb9ffff00"]) {
    assert.throws(() => decode(bytesOf(text)), /short|deep|after|length/);
  }
});

test("a proof of a trie gives its value under its own root alone", () => {
  const key = utf8("key");
  const path = hexOf(keccak(key)).slice(2);
  const leaf = encode([bytesOf(`0x20${path}`), utf8("value")]);
  assert.equal(hexOf(provenValue(keccak(leaf), key, [hexOf(leaf)])), hexOf(utf8("value")));
  assert.equal(provenValue(keccak(leaf), utf8("other"), [hexOf(leaf)]).length, 0);
  assert.throws(() => provenValue(keccak(utf8("root")), key, [hexOf(leaf)]), /missing/);
  assert.throws(() => provenValue(keccak(leaf), key, null), /no proof/);
});

/** What is found of one line of an anchor of a mandate that is alone in the tree. */
async function anchorNames(change) {
  const publicId = "m_abcdefghij";
  const [rowHash, root] = [`0x${"11".repeat(32)}`, null];
  const value = keccak(concat(Uint8Array.of(2), word(1).subarray(24), bytesOf(rowHash)));
  const key = keccak(utf8(`record-anchor:key:v1:${publicId}`));
  const leaf = hexOf(keccak(concat(Uint8Array.of(0), key, value)));
  const anchor = { epoch: 7, root: root ?? leaf, rootBefore: leaf, seq: 1, rowHash, proof: "AAA=" };
  const first = { mandate_id: publicId, genesis_hash: genesisHash(publicId) };
  const record = { first, head: null, rows: [{ seq: 1, rowHash }], anchors: [{ ...anchor, ...change }] };
  const report = new Report();
  await checkLines(record, report, new Pauses(undefined));
  return report.findings.map((one) => one.name);
}

test("the anchor of a mandate that is alone has the proof of docs/record.md", async () => {
  assert.deepEqual(await anchorNames({}), []);
});

test("an anchor of another head, and a proof in another spelling, are found", async () => {
  assert.deepEqual(await anchorNames({ rowHash: `0x${"22".repeat(32)}` }), ["anchor.head", "anchor.proof"]);
  for (const proof of ["AAA", "AAAA", "AQA=", "", "AAE=", "AgA=", "!"]) {
    assert.deepEqual(await anchorNames({ proof }), ["anchor.proof"], proof);
  }
});

test("values that unfold into more than they are, are refused", () => {
  const bomb = bytesOf(`0x${"20".padStart(64, "0")}${"ff".padStart(64, "0")}${"00".repeat(64)}`);
  assert.throws(() => decodeValues(["(address,bytes)[]"], bomb), /short|more than it is/);
  assert.throws(() => decodeValues(["uint8"], word(256)), /no uint8/);
  assert.throws(() => decodeValues(["address"], bytesOf(`0x01${"00".repeat(31)}`)), /no address/);
});
