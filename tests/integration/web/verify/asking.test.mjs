// What is asked of a wallet and what is not, and what a long or hostile file costs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { verifyRecord } from "../../../../api/web/verify/verify.js";
import { FACTORY, VECTORS, buyRow, paperRecord, wallet } from "./wallet.mjs";

const namesOf = (found) => [...new Set(found.findings.map((one) => one.name))].sort();
const check = (lines, options = {}) =>
  verifyRecord(lines.join(""), { request: wallet().request, factories: [FACTORY], ...options });

test("a paper record is its authors' word, and what is left to the command is named", async () => {
  const { request, asked, vault } = wallet();
  const found = await check(paperRecord(5), { request });
  assert.deepEqual([found.findings, found.unchecked], [[], []]);
  assert.deepEqual([found.verdict, found.claims], ["claims_only", [2, 3, 4, 5]]);
  assert.equal(found.subject.vault, vault);
  assert.deepEqual(
    found.notCheckedHere.map((text) => text.split(":")[0]),
    ["receipts", "witnesses", "a second node"],
  );
  const methods = new Set(asked.map((one) => one.method));
  const known = ["eth_blockNumber", "eth_call", "eth_chainId", "eth_getCode", "eth_getLogs"];
  assert.deepEqual([...methods].sort(), known);
});

test("a record without a factory that anybody trusts is never sound", async () => {
  const found = await check(paperRecord(3), { factories: [] });
  assert.equal(found.verdict, "unchecked");
  assert.match(found.unchecked.join(), /the factory: none of chain 84532 is known/);
});

test("another factory than the trusted one is a difference", async () => {
  const found = await check(paperRecord(3), { factories: [VECTORS.signer] });
  assert.deepEqual(namesOf(found), ["terms.factory"]);
});

test("a wallet on another chain is a difference, and nothing else is asked", async () => {
  const { request, asked } = wallet({ chainId: 1 });
  const found = await check(paperRecord(3), { request });
  assert.deepEqual(namesOf(found), ["terms.chain_id"]);
  assert.deepEqual(asked.map((one) => one.method), ["eth_chainId"]);
});

test("a record of another mandate or owner than was asked for is a difference", async () => {
  const found = await check(paperRecord(3), { mandate: "m_aaaaaaaaaa", owner: FACTORY });
  assert.deepEqual(namesOf(found), ["subject.mandate", "subject.owner"]);
});

test("a wallet that refuses leaves the record unchecked", async () => {
  const request = async () => {
    throw { code: 4001, message: "User rejected the request." };
  };
  const found = await check(paperRecord(3), { request });
  assert.equal(found.verdict, "unchecked");
  assert.match(found.unchecked[0] ?? "", /the chain's id: User rejected the request/);
});

test("answers of another form leave the record unchecked", async () => {
  for (const answer of [null, 84532, "84532", "0x", `0x${"1".repeat(70)}`, {}, []]) {
    const found = await check(paperRecord(3), { request: async () => answer });
    assert.equal(found.verdict, "unchecked");
    assert.match(found.unchecked[0] ?? "", /the node's answer to eth_chainId is/);
  }
});

test("a node that asks to be slower is asked again", async () => {
  const { request } = wallet();
  let refused = 0;
  const slow = async (call) => {
    if (refused++ < 2) throw { code: -32005, message: "rate limit" };
    return request(call);
  };
  assert.equal((await check(paperRecord(3), { request: slow })).verdict, "claims_only");
});

test("calls are at most as many as allowed", async () => {
  const { request, asked } = wallet();
  const found = await check(paperRecord(3), { request, mostCalls: 2 });
  assert.equal(asked.length, 2);
  assert.equal(found.verdict, "unchecked");
  assert.match(found.unchecked.join(), /more than 2 calls would be needed/);
});

test("a check that its reader ends, ends with the reader's reason", async () => {
  const ending = new AbortController();
  const onProgress = () => ending.abort(new Error("closed"));
  const request = () => new Promise(() => setTimeout(onProgress, 1));
  const options = { request, signal: ending.signal };
  await assert.rejects(check(paperRecord(3), options), /closed/);
});

test("another's money in a paper record is found", async () => {
  const rowOf = (seq) => ({ ...buyRow(seq), cash_delta_usdc: "5.000000" });
  assert.deepEqual(namesOf(await check(paperRecord(3, { rowOf }))), [
    "head.totals", "row.cash_without_proof",
  ]);
});

test("a flag that the rules do not give is found", async () => {
  const target = FACTORY; // none of the rules
  const rowOf = (seq) => ({ ...buyRow(seq), payload: { target } });
  assert.deepEqual(namesOf(await check(paperRecord(3, { rowOf }))), ["row.flag"]);
});

test("crafted lines are differences and end nothing", async () => {
  const lines = paperRecord(3);
  for (const line of [
    `${"[".repeat(200_000)}${"]".repeat(200_000)}\n`,
    `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}\n`,
    `{"body":${"9".repeat(900_000)}}\n`,
    '{"body":{},"prev_hash":[],"row_hash":{}}\n',
    '{"__proto__":{"head":1}}\n',
    '{"head":{"__proto__":null}}\n',
    "\ufeff{}\n",
    "\n",
  ]) {
    const found = await check([...lines.slice(0, 2), line, ...lines.slice(2)]);
    assert.equal(found.verdict, "different", line.slice(0, 40));
    assert.ok(namesOf(found).some((name) => name.startsWith("format.")), line.slice(0, 40));
  }
});

test("bytes that are no text are a difference", async () => {
  const text = new TextEncoder().encode(paperRecord(3).join(""));
  const bytes = Uint8Array.of(...text.subarray(0, 3_000), 0xff, ...text.subarray(3_000));
  const found = await verifyRecord(bytes, { request: wallet().request, factories: [FACTORY] });
  assert.ok(namesOf(found).includes("format.json"));
});

test("a line of more than a megabyte ends the reading", async () => {
  const lines = paperRecord(3);
  const found = await check([...lines.slice(0, 2), `${"x".repeat(3_000_000)}\n`, ...lines.slice(2)]);
  assert.deepEqual(namesOf(found), ["format.head_missing", "format.line"]);
});

test("many differences are counted and not kept", async () => {
  const lines = paperRecord(3);
  const found = await check([lines[0], ...Array(5_000).fill("{}\n"), ...lines.slice(1)]);
  assert.equal(found.findings.length, 1_000);
  assert.ok(found.moreFindings >= 4_000);
});

test("an empty file and a refusal are not checked", async () => {
  assert.deepEqual((await check([])).unchecked, ["format: the file is empty"]);
  const refused = await check(['{"detail":"Sign in  first."}\n']);
  assert.deepEqual(refused.unchecked, ["format: the file is a refusal: Sign in first."]);
});

test("10,000 rows are checked without a task of 100 ms", async (context) => {
  const lines = paperRecord(10_000, { everyS: 300 });
  const parts = new Set();
  let [longest, isDone] = [0, false];
  let before = process.cpuUsage();
  const tick = () => {
    const { user, system } = process.cpuUsage(before); // of this process: others may hold the core
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.cpuUsage();
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  const found = await check(lines, { onProgress: (part) => parts.add(part) });
  isDone = true;
  assert.deepEqual([found.findings, found.unchecked], [[], []]);
  assert.equal(found.counts.rows, 10_000);
  assert.ok(parts.has("reading"));
  assert.ok(longest < 100, `a task took ${longest} ms`);
  context.diagnostic(`the longest task took ${longest.toFixed(0)} ms`);
});
