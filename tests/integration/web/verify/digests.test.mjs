// What wallets sign: the golden vectors, and the worked example of docs/record.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chainHash, genesisHash, hexOf, word, numberOf, bytesOf, concat, utf8 } from "../../../../api/web/verify/bytes.js";
import { canonical } from "../../../../api/web/verify/canonical.js";
import {
  guardTargetsHash, recordRowDigest, recoveredAddress, rulesHash, termsDigest,
} from "../../../../api/web/verify/eip712.js";
import { rowOf } from "../../../../api/web/verify/lines.js";
import { VECTORS } from "./wallet.mjs";

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const PAGE = readFileSync(new URL("../../../../docs/record.md", import.meta.url), "utf8");
const ROWS = [...PAGE.matchAll(/^\{"body":.*$/gm)].map(([line]) => JSON.parse(line));

/** The terms of a vector as BigInt and text. */
function termsOf({ typed_data: { message, types, primaryType } }) {
  return Object.fromEntries(
    types[primaryType].map(({ name, type }) => [
      name, type.startsWith("uint") ? BigInt(message[name]) : message[name],
    ]),
  );
}

for (const vector of VECTORS.terms) {
  test(`the digest of terms: ${vector.name}`, () => {
    const { factory, chain_id: chainId, version } = vector;
    assert.equal(termsDigest(termsOf(vector), factory, chainId, version), vector.digest);
    assert.equal(recoveredAddress(vector.digest, vector.signature), VECTORS.signer);
  });
  test(`the hashes of rules and guard's targets: ${vector.name}`, () => {
    const rules = vector.rules.map((rule) => ({ ...rule, recipientWord: rule.recipient_word }));
    const { allowedTargetsHash, guardTargetsHash: targets } = vector.typed_data.message;
    assert.equal(rulesHash(rules), allowedTargetsHash);
    if (targets !== undefined) assert.equal(guardTargetsHash(vector.guard_targets), targets);
  });
}

test("a signature that the factory refuses is nobody's", () => {
  const { digest, signature } = VECTORS.terms[0];
  const raw = bytesOf(signature);
  const [r, s] = [raw.subarray(0, 32), numberOf(raw.subarray(32, 64))];
  const flipped = Uint8Array.of(raw[64] === 27 ? 28 : 27);
  const twin = hexOf(concat(r, word(ORDER - s), flipped)); // the same key, s in the upper half
  for (const one of [twin, signature.slice(0, -2) + "1d", `${signature}00`, "0x", "0xzz", "no"]) {
    assert.equal(recoveredAddress(digest, one), null);
  }
  assert.notEqual(recoveredAddress(digest, hexOf(concat(raw.subarray(0, 64), flipped))), VECTORS.signer);
});

test("the rows of docs/record.md give their hashes and the author's digest", () => {
  let before = genesisHash("m_abcdefghij");
  for (const line of ROWS) {
    assert.equal(line.prev_hash, before);
    before = chainHash(before, utf8(canonical(line.body)));
    assert.equal(line.row_hash, before);
  }
  const row = rowOf(ROWS[1]);
  const factory = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
  const digest = recordRowDigest("m_abcdefghij", row, row.author, factory, 84532);
  assert.equal(digest, "0x7bb7c0869aee6568a3b58545e59278857381a8b9ce662bcdb067462857c6af25");
  assert.equal(recoveredAddress(digest, row.author.signature), row.author.signer);
});
