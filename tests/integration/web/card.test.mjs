// The cards above the page, without a page: what the browser gives is stood in for.

import assert from "node:assert/strict";
import { test } from "node:test";

const OWNER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const OTHER = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc";
const USDC = "0x036cbd53842c5426634e7929541ec2318f3dcf7e";
const HASH = `0x${"ab".repeat(32)}`;
const shelf = { getItem: () => null, setItem() {}, removeItem() {} };
Object.assign(globalThis, {
  window: new EventTarget(),
  localStorage: shelf,
  sessionStorage: shelf,
  location: { hash: "", hostname: "127.0.0.1", host: "127.0.0.1" },
  document: { hidden: false, getElementById: () => null },
  addEventListener() {},
});
const interval = globalThis.setInterval;
globalThis.setInterval = (...all) => interval(...all).unref();
const { begin } = await import("../../../api/web/app/transaction_card.js");
const { Transactions } = await import("../../../api/web/app/transactions.js");
const { connect, session } = await import("../../../api/web/app/session.js");

// the list behind the cards, which the page keeps to itself
let list = null;
const { add } = Transactions.prototype;
Transactions.prototype.add = function (...wanted) {
  list = this;
  return add.apply(this, wanted);
};

const until = async (holds) => {
  for (let tries = 0; tries < 400 && !holds(); tries++) {
    await new Promise((done) => setTimeout(done, 10));
  }
  assert.ok(holds());
};

test("the second call is of the account that sent the first, whoever signs in meanwhile", async () => {
  const asked = [];
  let receipt = null;
  const answers = {
    eth_requestAccounts: [OWNER],
    eth_accounts: [OWNER],
    eth_chainId: "0x14a34",
    eth_call: "0x",
    eth_getTransactionCount: "0x5",
    eth_sendTransaction: HASH,
  };
  const request = async ({ method, params }) => {
    asked.push({ method, from: params[0]?.from });
    if (method === "eth_getTransactionReceipt") return receipt;
    if (method === "wallet_getCapabilities") return {};
    return answers[method] ?? null;
  };
  await connect({ uuid: "1", id: "1", name: "W", icon: "", provider: { request } });
  session.value = { address: OWNER, token: "t", expiresAt: "2999-01-01T00:00:00Z" };
  const call = (data) => ({ to: USDC, data, value: 0, chain_id: 84532 });
  await begin({ title: "Create", calls: [call("0x01"), call("0x02")] });
  const simulated = () => asked.filter((one) => one.method === "eth_call").map((one) => one.from);
  assert.deepEqual(simulated(), [OWNER]);

  await list.send(list.list()[0].id);
  session.value = { address: OTHER, token: "u", expiresAt: "2999-01-01T00:00:00Z" };
  receipt = { transactionHash: HASH, blockNumber: "0x10", status: "0x1" };
  await until(() => simulated().length === 2);
  assert.deepEqual(simulated(), [OWNER, OWNER]);
  list.close();
});

test("what the wallet has not answered is not asked a second time by the page's button", async () => {
  const asked = [];
  let decline = null;
  const answers = { eth_requestAccounts: [OWNER], eth_accounts: [OWNER], eth_chainId: "0x14a34", eth_call: "0x" };
  const request = ({ method }) => {
    asked.push(method);
    if (method === "eth_sendTransaction") return new Promise((_, reject) => (decline = reject));
    return Promise.resolve(answers[method] ?? null);
  };
  await connect({ uuid: "2", id: "2", name: "W", icon: "", provider: { request } });
  session.value = { address: OWNER, token: "t", expiresAt: "2999-01-01T00:00:00Z" };
  const redeem = { title: "Redeem 5 RSV", calls: [{ to: USDC, data: "0x01", value: 0, chain_id: 84532 }] };
  await begin(redeem);
  const id = list.list()[0].id;
  const sending = list.send(id);
  await until(() => asked.includes("eth_sendTransaction"));
  await begin(redeem);
  assert.deepEqual(list.list().map((one) => one.id), [id]);

  // another amount, or another mandate's, is another thing
  await begin({ ...redeem, title: "Redeem 6 RSV" });
  await begin({ ...redeem, mandateId: "m_1" });
  assert.equal(list.list().length, 3);
  decline({ code: 4001 });
  await sending;
  list.close();
});
