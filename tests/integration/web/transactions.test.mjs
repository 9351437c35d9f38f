import assert from "node:assert/strict";
import { test } from "node:test";

import { PendingStore } from "../../../api/web/app/pending-store.js";
import { after, builtTransaction } from "../../../api/web/app/transaction-states.js";
import { Transactions } from "../../../api/web/app/transactions.js";
import { Wallet, WalletError } from "../../../api/web/app/wallet.js";

const OWNER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const VAULT = "0x036cbd53842c5426634e7929541ec2318f3dcf7e";
const CALL = { to: VAULT, data: "0x63c4f031", value: 0, chain_id: 84532 };
const HASH = `0x${"ab".repeat(32)}`;
// MandateStopped(1700000000)
const STOPPED = `0x5dd25fa5${(1_700_000_000).toString(16).padStart(64, "0")}`;

/** localStorage. */
function shelf(content = {}) {
  const items = new Map(Object.entries(content));
  return {
    items,
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
    removeItem: (key) => items.delete(key),
  };
}

/** A wallet of the owner's on a chain whose answers a test changes. */
async function owner(answers = {}) {
  const table = {
    eth_chainId: "0x14a34",
    eth_accounts: [OWNER],
    eth_call: "0x",
    eth_getTransactionCount: "0x5",
    eth_sendTransaction: HASH,
    eth_getTransactionReceipt: null,
    eth_getTransactionByHash: null,
    ...answers,
  };
  const provider = {
    async request({ method, params }) {
      const answer = table[method];
      return typeof answer === "function" ? answer(...params) : answer;
    },
  };
  const wallet = new Wallet({ uuid: "1", id: "1", name: "W", icon: "", provider });
  await wallet.resume();
  return { table, wallet };
}

async function sent(answers = {}, storage = shelf()) {
  const { table, wallet } = await owner(answers);
  const list = new Transactions({ wallet, shelf: storage, pollMs: 1_000_000, now: () => 1 });
  const id = list.add("Stop", [CALL], OWNER);
  await list.simulate(id);
  await list.send(id);
  list.close();
  return { list, table, id, storage, wallet };
}

const receipt = (status) => ({ transactionHash: HASH, blockNumber: "0x10", status });

test("the table of states takes each event in its phases alone", () => {
  const events = {
    simulated: { type: "simulated" },
    refused: { type: "refused", refusal: { name: "X", args: {}, sentence: "", next: "" } },
    asked: { type: "asked" },
    unsimulated: { type: "unsimulated", error: new WalletError("unsimulated") },
    late: { type: "late", error: new WalletError("unanswered") },
    doubted: { type: "doubted", error: new WalletError("moved"), hashes: [] },
    failed: { type: "failed", error: new WalletError("rejected"), open: 0 },
    sent: { type: "sent", hash: HASH, batchId: null, nonceBefore: 5, at: 1 },
    mined: { type: "mined", block: 1, hash: HASH },
    reverted: { type: "reverted", block: 1, hash: HASH, refusal: null },
    replaced: { type: "replaced" },
    recorded: { type: "recorded" },
  };
  const goes = {
    built: { simulated: "simulated", unsimulated: "unsimulated", refused: "refused", asked: "waiting" },
    refused: { simulated: "simulated", unsimulated: "unsimulated", asked: "waiting" },
    simulated: { refused: "refused", unsimulated: "unsimulated", asked: "waiting" },
    unsimulated: { simulated: "simulated", refused: "refused", asked: "waiting" },
    waiting: { failed: "built", late: "unanswered", sent: "sent" },
    unanswered: { failed: "built", asked: "waiting", sent: "sent" },
    sent: { mined: "mined", reverted: "reverted", replaced: "replaced", recorded: "recorded" },
    replaced: { mined: "mined", reverted: "reverted", recorded: "recorded" },
    mined: { recorded: "recorded" },
    reverted: {},
    recorded: {},
  };
  const start = builtTransaction({ id: "1", title: "Stop", calls: [CALL], from: OWNER });
  for (const [phase, wanted] of Object.entries(goes)) {
    for (const [name, event] of Object.entries(events)) {
      assert.equal(after({ ...start, phase }, event).phase, wanted[name] ?? phase, `${phase} ${name}`);
    }
  }
});

test("a call that passes is sent and kept until it is mined", async () => {
  const { list, table, id, storage } = await sent();
  assert.deepEqual([list.get(id).phase, list.get(id).hash], ["sent", HASH]);
  assert.equal(storage.items.size, 1);

  table.eth_getTransactionReceipt = receipt("0x1");
  await list.look();
  assert.deepEqual([list.get(id).phase, list.get(id).block], ["mined", 16]);
  assert.equal(storage.items.size, 0);
});

test("a call that would revert is not sent, and says why by name", async () => {
  const { wallet } = await owner({
    eth_call: () => {
      throw { code: 3, data: STOPPED };
    },
  });
  const list = new Transactions({ wallet, shelf: null });
  const id = list.add("Stop", [CALL], OWNER);

  assert.equal(await list.simulate(id), false);
  const { phase, refusal } = list.get(id);
  assert.deepEqual([phase, refusal.name], ["refused", "MandateStopped"]);
  assert.equal(refusal.sentence, "The mandate was stopped at 2023-11-14 22:13:20 UTC.");
});

test("a signature that is declined leaves the call to be sent again", async () => {
  const { list, id } = await sent({
    eth_sendTransaction: () => {
      throw { code: 4001 };
    },
  });

  assert.deepEqual([list.get(id).phase, list.get(id).error.kind], ["built", "rejected"]);
});

test("a call is asked for once, however often it is pressed", async () => {
  let asked = 0;
  const { wallet } = await owner({ eth_sendTransaction: () => (asked++, HASH) });
  const list = new Transactions({ wallet, shelf: null, pollMs: 1_000_000 });
  const id = list.add("Stop", [CALL], OWNER);
  await Promise.all([list.send(id), list.send(id), list.send(id)]);
  list.close();

  assert.equal(asked, 1);
});

/** A list whose wallet answers a request when the test says so; `ask` opens one and waits until it is late. */
async function slow(answers = {}) {
  const asked = [];
  const { table, wallet } = await owner({
    eth_sendTransaction: () =>
      new Promise((resolve, reject) => {
        asked.push({ resolve, reject });
      }),
    ...answers,
  });
  const options = { wallet, shelf: shelf(), pollMs: 1_000_000, patienceMs: 40 };
  const list = new Transactions(options);
  const id = list.add("Redeem 5 RSV", [CALL], OWNER);
  assert.equal(await list.pursue(id), false);
  assert.equal(list.get(id).phase, "unanswered");
  return { asked, table, list, id, storage: options.shelf };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const OTHER = `0x${"cd".repeat(32)}`;

test("what a wallet sends after the page's patience is followed and kept", async () => {
  const { asked, table, list, id, storage } = await slow();
  asked[0].resolve(HASH);
  await settled();
  assert.deepEqual([list.get(id).phase, list.get(id).hash], ["sent", HASH]);
  assert.equal(storage.items.size, 1);

  table.eth_getTransactionReceipt = receipt("0x1");
  await list.look();
  assert.equal(list.get(id).phase, "mined");
  list.close();
});

test("what a wallet sends after its card was dismissed, or the page left it, is kept too", async () => {
  for (const leave of [(list, id) => list.discard(id), (list) => list.close()]) {
    const { asked, list, id, storage } = await slow();
    leave(list, id);
    asked[0].resolve(HASH);
    await settled();
    assert.deepEqual(list.list().map(({ title, hash }) => [title, hash]), [["Redeem 5 RSV", HASH]]);
    assert.equal(storage.items.size, 1);
    list.close();
  }
});

test("what a wallet declines late can be sent again", async () => {
  const { asked, list, id } = await slow();
  asked[0].reject({ code: 4001 });
  await settled();
  assert.deepEqual([list.get(id).phase, list.get(id).error.kind], ["built", "rejected"]);

  await list.pursue(id);
  assert.equal(asked.length, 2);
});

test("a request that is still open is not made a second time without the owner's consent", async () => {
  const { asked, list, id } = await slow();
  assert.equal(await list.pursue(id), false);
  assert.equal(await list.send(id), false);
  assert.equal(asked.length, 1);
  const { phase, error, doubts } = list.get(id);
  assert.deepEqual([phase, error.kind, doubts], ["unanswered", "unanswered", []]);

  await list.pursue(id, { isSure: true });
  assert.equal(asked.length, 2);
  // the first is confirmed now, the second declined: the card follows the first
  asked[0].resolve(HASH);
  await settled();
  assert.deepEqual([list.get(id).phase, list.get(id).hasOther], ["sent", true]);
  asked[1].reject({ code: 4001 });
  await settled();
  assert.deepEqual(list.list().map(({ phase, hash }) => [phase, hash]), [["sent", HASH]]);
  list.close();
});

test("two requests that are both confirmed are two transactions, each with its card", async () => {
  const { asked, list, id } = await slow();
  await list.pursue(id, { isSure: true });
  asked[1].resolve(HASH);
  asked[0].resolve(OTHER);
  await settled();
  assert.deepEqual(list.list().map(({ hash }) => hash).sort(), [HASH, OTHER]);
  list.close();
});

test("an earlier request that is declined does not end the later one", async () => {
  const { asked, list, id } = await slow();
  const again = list.pursue(id, { isSure: true });
  while (asked.length < 2) await new Promise(setImmediate);
  asked[0].reject({ code: 4001 });
  await new Promise(setImmediate);
  assert.deepEqual([list.get(id).phase, list.get(id).error], ["waiting", null]);
  await again;
  assert.equal(list.get(id).phase, "unanswered");
  asked[1].reject({ code: 4001 });
  await settled();
  assert.equal(list.get(id).phase, "built");
});

/** A chain of 256 blocks; the account's nonce was 5 until the block in which these were sent. */
function chain(sent, at = 200) {
  const count = (_, block) => {
    const number = block === "latest" || block === "pending" ? 256 : Number(block);
    return "0x" + (number >= at ? 5 + sent.length : 5).toString(16);
  };
  const blocks = [];
  return {
    blocks,
    eth_blockNumber: "0x100",
    eth_getTransactionCount: count,
    eth_getBlockByNumber: (block) => {
      blocks.push(block);
      const transactions = sent.map((one, i) => ({ from: OWNER, nonce: `0x${(5 + i).toString(16)}`, ...one }));
      return { transactions: Number(block) === at ? transactions : [] };
    },
  };
}

test("a request whose answer was lost is found on the chain, and not made again", async () => {
  const { asked, table, list, id } = await slow();
  Object.assign(table, chain([{ to: VAULT, input: CALL.data, hash: HASH }]));
  assert.equal(await list.pursue(id), false);
  assert.equal(asked.length, 1);
  assert.deepEqual([list.get(id).phase, list.get(id).hash], ["sent", HASH]);
  // its answer, which comes after all, is the same transaction
  asked[0].resolve(HASH);
  await settled();
  assert.equal(list.list().length, 1);
  list.close();
});

test("one that failed although it was sent is found too", async () => {
  const { table, list, id } = await sent({
    eth_sendTransaction: () => {
      throw { code: -32603, message: "relay closed" };
    },
  });
  assert.equal(list.get(id).phase, "built");
  Object.assign(table, chain([{ to: VAULT, input: CALL.data, hash: HASH }], 256));
  assert.equal(await list.pursue(id), false);
  assert.deepEqual([list.get(id).phase, list.get(id).hash], ["sent", HASH]);
});

test("another transaction of the account is named, and asks for consent", async () => {
  const { table, list, id } = await sent({
    eth_sendTransaction: () => {
      throw { code: -32603 };
    },
  });
  Object.assign(table, chain([{ to: VAULT, input: "0x01", hash: OTHER }]), { eth_sendTransaction: HASH });
  assert.equal(await list.send(id), false);
  const { phase, error, doubts } = list.get(id);
  assert.deepEqual([phase, error.kind, doubts], ["built", "moved", [OTHER]]);

  assert.equal(await list.pursue(id, { isSure: true }), true);
  assert.deepEqual([list.get(id).phase, list.get(id).doubts], ["sent", null]);
});

test("what a node does not show, or does not say, is a doubt and no clearance", async () => {
  const refused = () => {
    throw { code: -32601 };
  };
  const cases = [
    [{ eth_getTransactionCount: "0x6" }, "moved"],
    [{ ...chain([{ to: VAULT, input: "0x01", hash: "0x1" }]) }, "moved"],
    [{ eth_getTransactionCount: refused }, "unknown_nonce"],
  ];
  for (const [answers, kind] of cases) {
    const { asked, table, list, id } = await slow();
    Object.assign(table, answers);
    assert.equal(await list.pursue(id), false);
    assert.deepEqual([list.get(id).error.kind, list.get(id).doubts, asked.length], [kind, [], 1]);
  }
});

test("what another card follows is no doubt", async () => {
  const { list, table, id } = await sent();
  const other = list.add("Withdraw", [{ ...CALL, data: "0x02" }], OWNER);
  table.eth_sendTransaction = () => {
    throw { code: 4001 };
  };
  await list.pursue(other);
  Object.assign(table, chain([{ to: VAULT, input: CALL.data, hash: HASH }]), { eth_sendTransaction: OTHER });
  assert.equal(await list.pursue(other), true);
  assert.deepEqual([list.get(id).hash, list.get(other).hash], [HASH, OTHER]);
});

/** A second card for the same, as the page's own button makes it. */
async function again(list, title = "Redeem 5 RSV", call = CALL) {
  const id = list.add(title, [call], OWNER);
  return { id, isSent: await list.pursue(id) };
}

const LATER = { ...CALL, data: `${CALL.data}01` };

test("a new card for a request whose fate is not known asks no second time", async () => {
  const { asked, table, list, id } = await slow();
  // still open: for the same title, whatever the amount of the call has become meanwhile
  const second = await again(list, "Redeem 5 RSV", LATER);
  assert.deepEqual([second.isSent, asked.length], [false, 1]);
  assert.deepEqual([list.get(second.id).phase, list.get(second.id).error.kind], ["built", "unanswered"]);
  // sent without an answer: the first card follows it, the second names it
  Object.assign(table, chain([{ to: VAULT, input: CALL.data, hash: HASH }]));
  const third = await again(list);
  assert.deepEqual([third.isSent, asked.length, list.get(id).hash], [false, 1, HASH]);
  const { phase, error, doubts } = list.get(third.id);
  assert.deepEqual([phase, error.kind, doubts], ["built", "moved", [HASH]]);
  // its fate is known now
  assert.equal(list.pursue(third.id, { isSure: true }) instanceof Promise, true);
  while (asked.length < 2) await new Promise(setImmediate);
  list.close();
});

test("a new card for one that failed although it was sent asks no second time", async () => {
  const { table, list, id } = await sent({
    eth_sendTransaction: () => {
      throw { code: -32603, message: "relay closed" };
    },
  });
  Object.assign(table, chain([{ to: VAULT, input: CALL.data, hash: HASH }]), { eth_sendTransaction: OTHER });
  const second = await again(list, "Stop");
  assert.deepEqual([second.isSent, list.get(id).hash, list.get(second.id).doubts], [false, HASH, [HASH]]);
  list.close();
});

test("one that failed, and whose nonce another has taken, is kept no longer", async () => {
  const { table, list, storage } = await sent({
    eth_sendTransaction: () => {
      throw { code: -32000, message: "insufficient funds for gas * price + value" };
    },
  });
  assert.equal(storage.items.size, 1);
  Object.assign(table, { eth_sendTransaction: HASH });
  assert.equal((await again(list, "Stop")).isSent, true);
  table.eth_getTransactionReceipt = receipt("0x1");
  await list.look();
  assert.equal(storage.items.size, 0);
  list.close();
});

test("a new card beside a declined request, or another's, is sent", async () => {
  const { asked, list } = await slow();
  const other = list.add("Redeem 6 RSV", [CALL], OWNER);
  void list.pursue(other);
  while (asked.length < 2) await new Promise(setImmediate);
  asked[0].reject({ code: 4001 });
  await settled();
  void again(list);
  while (asked.length < 3) await new Promise(setImmediate);
  list.close();
});

test("a request that the wallet still has when the page is loaded again is not made a second time", async () => {
  const { list, storage } = await slow();
  list.close();
  let sends = 0;
  const { table, wallet } = await owner({ eth_sendTransaction: () => (sends++, OTHER) });
  const next = new Transactions({ wallet, shelf: storage, pollMs: 1_000_000 });
  next.resume();
  next.resume();
  const [kept] = next.list();
  assert.deepEqual(
    next.list().map(({ phase, title, error }) => [phase, title, error.kind]),
    [["unanswered", "Redeem 5 RSV", "unheard"]],
  );
  assert.equal((await again(next)).isSent, false);
  assert.equal(await next.pursue(kept.id), false);
  assert.equal(sends, 0);

  // confirmed in the wallet now: it is found without a click
  Object.assign(table, chain([{ to: VAULT, input: CALL.data, hash: HASH }]));
  await next.look();
  assert.deepEqual([next.get(kept.id).phase, next.get(kept.id).hash], ["sent", HASH]);
  next.close();
  const reloaded = new Transactions({ wallet, shelf: storage, pollMs: 1_000_000 });
  reloaded.resume();
  reloaded.close();
  assert.deepEqual(reloaded.list().map(({ phase, hash }) => [phase, hash]), [["sent", HASH]]);
});

test("what is kept of a request goes with its answer, and with its card", async () => {
  const ends = [
    ({ asked }) => asked[0].reject({ code: 4001 }),
    ({ list, id }) => list.discard(id),
    async ({ asked, table, list }) => {
      asked[0].resolve(HASH);
      await settled();
      table.eth_getTransactionReceipt = receipt("0x1");
      await list.look();
    },
  ];
  for (const end of ends) {
    const place = await slow();
    assert.equal(place.storage.items.size, 1);
    await end(place);
    await settled();
    assert.equal(place.storage.items.size, 0);
    place.list.close();
  }
});

test("a simulation that could not be run is no refusal, and no verdict either", async () => {
  for (const thrown of [
    { code: -32005, message: "limit exceeded" },
    { code: -32601, message: "method not found" },
    { code: 4200 },
    { code: 4100 },
    { code: -32603, data: { code: -32005, message: "too many requests", data: { rate: 1 } } },
    new TypeError("Failed to fetch"),
  ]) {
    const { table, wallet } = await owner({ eth_call: () => Promise.reject(thrown) });
    const list = new Transactions({ wallet, shelf: null, pollMs: 1_000_000 });
    const id = list.add("Stop", [CALL], OWNER);
    assert.equal(await list.pursue(id), false);
    const { phase, error } = list.get(id);
    assert.deepEqual([phase, error.kind], ["unsimulated", "unsimulated"], JSON.stringify(thrown));
    assert.equal(await list.pursue(id, { isForced: true }), true);
    assert.equal(list.get(id).phase, "sent");
    list.close();
    table.eth_call = null;
    assert.equal(await list.simulate(list.add("Stop", [CALL], OWNER)), false);
  }
});

test("one that would revert is sent by the owner's word alone", async () => {
  const { wallet } = await owner({ eth_call: () => Promise.reject({ code: 3, data: STOPPED }) });
  const list = new Transactions({ wallet, shelf: null, pollMs: 1_000_000 });
  const id = list.add("Stop", [CALL], OWNER);
  assert.equal(await list.pursue(id), false);
  assert.equal(await list.pursue(id, { isSure: true }), false);
  assert.equal(list.get(id).phase, "refused");
  assert.equal(await list.pursue(id, { isForced: true }), true);
  list.close();
});

test("one that reverted is run again on the state before its block for the reason", async () => {
  const { list, table, id } = await sent();
  table.eth_getTransactionReceipt = receipt("0x0");
  table.eth_getTransactionByHash = { from: OWNER, to: VAULT, input: "0x63c4f031", value: "0x0" };
  table.eth_call = (_, block) => {
    if (block === "0xf") throw { code: 3, data: STOPPED };
    return "0x";
  };
  await list.look();

  assert.deepEqual([list.get(id).phase, list.get(id).refusal.name], ["reverted", "MandateStopped"]);
});

test("one whose reason cannot be found out has none", async () => {
  const { list, table, id } = await sent();
  table.eth_getTransactionReceipt = receipt("0x0");
  await list.look();

  assert.deepEqual([list.get(id).phase, list.get(id).refusal], ["reverted", null]);
});

test("it was replaced when its nonce passed twice without a receipt of it", async () => {
  const { list, table, id } = await sent();
  await list.look();
  assert.equal(list.get(id).phase, "sent");
  table.eth_getTransactionCount = "0x6";
  await list.look();
  assert.equal(list.get(id).phase, "sent");
  await list.look();
  assert.equal(list.get(id).phase, "replaced");
});

test("one that a node shows is not replaced, whatever the nonce", async () => {
  const { list, table, id, storage } = await sent();
  table.eth_getTransactionByHash = { nonce: "0x7" };
  table.eth_getTransactionCount = "0x9";
  for (let i = 0; i < 3; i++) await list.look();

  assert.deepEqual([list.get(id).phase, list.get(id).nonce], ["sent", 7]);
  assert.equal(JSON.parse([...storage.items.values()][0])[0].nonce, 7);
});

test("one that seemed replaced is mined when its receipt comes", async () => {
  const { list, table, id } = await sent({ eth_getTransactionCount: "0x5" });
  table.eth_getTransactionCount = "0x6";
  await list.look();
  await list.look();
  table.eth_getTransactionReceipt = receipt("0x1");
  await list.look();

  assert.equal(list.get(id).phase, "mined");
});

test("nothing is concluded while the wallet is on another network", async () => {
  const { list, table, id } = await sent();
  Object.assign(table, { eth_chainId: "0x1", eth_getTransactionCount: "0x99" });
  for (let i = 0; i < 3; i++) await list.look();

  assert.equal(list.get(id).phase, "sent");
});

test("a receipt of another transaction, or of no form, is none", async () => {
  const { list, table, id } = await sent();
  const others = [{}, 7, { ...receipt("0x1"), transactionHash: "0x1" }, receipt("0x7"), receipt(1)];
  for (const answer of others) {
    table.eth_getTransactionReceipt = answer;
    await list.look();
    assert.equal(list.get(id).phase, "sent");
  }
});

test("a reload finds what was sent, for its own account and network alone", async () => {
  const { storage } = await sent();
  const again = async (answers) => {
    const { wallet } = await owner(answers);
    const list = new Transactions({ wallet, shelf: storage, pollMs: 1_000_000 });
    list.resume();
    list.resume();
    list.close();
    return list.list().map(({ phase, hash, title }) => [phase, hash, title]);
  };

  assert.deepEqual(await again(), [["sent", HASH, "Stop"]]);
  assert.deepEqual(await again({ eth_chainId: "0x1" }), []);
  assert.deepEqual(await again({ eth_accounts: [VAULT] }), []);
});

test("a batch is followed by its id until its receipts are there", async () => {
  let status = { status: 100 };
  const { wallet } = await owner({
    wallet_sendCalls: { id: "b1" },
    wallet_getCallsStatus: () => status,
    eth_getTransactionReceipt: receipt("0x1"),
  });
  const storage = shelf();
  const list = new Transactions({ wallet, shelf: storage, pollMs: 1_000_000 });
  const id = list.add("Stop and withdraw", [CALL, CALL], OWNER);
  await list.send(id);
  list.close();
  await list.look();
  assert.deepEqual([list.get(id).phase, list.get(id).batchId], ["sent", "b1"]);
  status = { status: 200, receipts: [{ transactionHash: HASH, status: "0x1" }] };
  await list.look();

  assert.deepEqual([list.get(id).phase, list.get(id).hash], ["mined", HASH]);
  assert.equal(storage.items.size, 0);
});

test("what the storage holds is taken only where it has the form", () => {
  const key = `mandate-wallet.pending.1.84532.${OWNER}`;
  const entry = {
    ...{ hash: HASH, batchId: null, asked: null, title: "Stop", to: VAULT },
    ...{ nonce: 1, nonceBefore: 1, at: 1 },
  };
  const calls = [{ to: VAULT, data: "0x01", value: "0" }];
  const asked = { ...entry, hash: null, asked: { key: "1", calls } };
  const read = (text) => new PendingStore(shelf({ [key]: text }), 84532, OWNER).read();

  assert.deepEqual(read(JSON.stringify([entry, asked])), [entry, asked]);
  for (const bad of [
    {},
    { key: 1, calls },
    { key: "", calls },
    { key: "1", calls: [] },
    { key: "1", calls: "0x" },
    { key: "1", calls: [null] },
    { key: "1", calls: [{ ...calls[0], to: "0x1" }] },
    { key: "1", calls: [{ ...calls[0], data: "<b>" }] },
    { key: "1", calls: [{ ...calls[0], value: -1 }] },
  ]) {
    assert.deepEqual(read(JSON.stringify([{ ...asked, asked: bad }])), [], JSON.stringify(bad));
  }
  assert.deepEqual(read(JSON.stringify([{ ...entry, nonce: -1, title: "a\u202eb" }])), [
    { ...entry, nonce: null, title: "a b" },
  ]);
  for (const bad of [
    "{",
    "null",
    "{}",
    "7",
    JSON.stringify([null, [], "x", { ...entry, hash: "0x1" }, { ...entry, to: "<b>" }]),
    JSON.stringify([{ ...entry, at: 1e300 }]),
    JSON.stringify([{ ...entry, title: "x".repeat(70_000) }]),
  ]) {
    assert.deepEqual(read(bad), []);
  }
});

test("the storage keeps the newest 32, and a browser without storage keeps none", () => {
  const storage = shelf();
  const store = new PendingStore(storage, 84532, OWNER);
  const entry = { batchId: null, title: "Stop", to: VAULT, nonce: 1, nonceBefore: 1, at: 1 };
  for (let i = 0; i < 40; i++) {
    store.put({ ...entry, hash: `0x${i.toString(16).padStart(64, "0")}` });
  }
  assert.equal(JSON.parse([...storage.items.values()][0]).length, 32);
  assert.equal(store.read().length, 32);
  assert.ok(store.read()[31].hash.endsWith("27"));

  const forbidden = {
    getItem: () => {
      throw new Error("SecurityError");
    },
  };
  new PendingStore(forbidden, 1, OWNER).put({ ...entry, hash: HASH });
  assert.deepEqual(new PendingStore(forbidden, 1, OWNER).read(), []);
});
