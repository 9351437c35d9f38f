import assert from "node:assert/strict";
import { test } from "node:test";

import { Wallet, WalletError, Wallets, walletError } from "../../../api/web/app/wallet.js";

const OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const CALL = { to: OWNER, data: "0x", value: 0, chain_id: 84532 };

/** A provider that answers from a table, and whose events a test emits. */
function provider(answers = {}) {
  const listeners = new Map();
  return {
    asked: [],
    async request({ method, params }) {
      this.asked.push(method);
      const answer = { eth_chainId: "0x14a34", eth_accounts: [OWNER], ...answers }[method];
      if (answer === undefined) throw { code: -32601, message: "no such method" };
      return typeof answer === "function" ? answer(...params) : answer;
    },
    on: (event, listener) => listeners.set(event, listener),
    removeListener: (event) => listeners.delete(event),
    emit: (event, value) => listeners.get(event)?.(value),
  };
}

const walletOf = (answers) =>
  new Wallet({ uuid: "1", id: "1", name: "W", icon: "", provider: provider(answers) });

const refusalOf = async (promise) => {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof WalletError);
    return error.kind;
  }
  return "none";
};

test("each code of a wallet has its kind, whatever it is nested in", () => {
  const kinds = [
    [{ code: 4001 }, "rejected"],
    [{ code: 4100 }, "unauthorized"],
    [{ code: 4200 }, "unsupported"],
    [{ code: -32601 }, "unsupported"],
    [{ code: 4901 }, "wrong_network"],
    [{ code: 4902 }, "wrong_network"],
    [{ code: -32603, data: { originalError: { code: 4902 } } }, "wrong_network"],
    [{ code: -32002 }, "pending"],
    [{ code: 5750 }, "rejected"],
    [{ code: 5760 }, "unsupported"],
    [{ code: 3, data: "0xd0d4a1b1" }, "reverted"],
    [{ code: -32000, message: "execution reverted" }, "reverted"],
    [{ code: -32603, data: { code: 3, data: "0xd0d4a1b1" } }, "reverted"],
    [{ code: -32000, message: "insufficient funds" }, "failed"],
    [new Error("x"), "failed"],
    ["a text", "failed"],
    [null, "failed"],
  ];
  for (const [thrown, kind] of kinds) assert.equal(walletError(thrown).kind, kind);
});

test("the data of a revert is found where wallets put it", () => {
  const data = "0xd0d4a1b1";
  for (const thrown of [
    { code: 3, data },
    { code: -32603, data: { code: 3, data } },
    { code: -32603, data: { originalError: { data } } },
    { error: { data: `Reverted ${data}` } },
  ]) {
    assert.equal(walletError(thrown).data, data);
  }
});

test("a wallet's words are one line of bounded, printable text", () => {
  const { detail } = walletError({ message: `a\n\u202eb${"c".repeat(100_000)}` });

  assert.equal(detail.length, 300);
  assert.ok(detail.startsWith("a b"));
});

test("an error whose fields throw is an error all the same", () => {
  const hostile = {
    get code() {
      throw new Error("no");
    },
  };
  assert.equal(walletError(hostile).kind, "failed");
});

test("a transaction goes to the wallet with its network, account and value", async () => {
  const sent = [];
  const hash = `0x${"ab".repeat(32)}`;
  const wallet = walletOf({ eth_sendTransaction: (call) => (sent.push(call), hash) });

  assert.equal(await wallet.send(CALL, { from: OWNER }), hash);
  const expected = { from: OWNER.toLowerCase(), to: OWNER, data: "0x", value: "0x0" };
  assert.deepEqual(sent, [{ ...expected, chainId: "0x14a34" }]);
});

test("another network or account is refused before the wallet is asked", async () => {
  const elsewhere = walletOf({ eth_chainId: "0x1" });
  const other = walletOf({ eth_accounts: [`0x${"11".repeat(20)}`] });

  assert.equal(await refusalOf(elsewhere.send(CALL, { from: OWNER })), "wrong_network");
  assert.equal(await refusalOf(other.send(CALL, { from: OWNER })), "unauthorized");
  for (const { found } of [elsewhere, other]) {
    assert.ok(!found.provider.asked.includes("eth_sendTransaction"));
  }
});

test("answers that are none of a wallet's are refused", async () => {
  for (const answer of [null, 7, "0x12", "hash", {}, `0x${"zz".repeat(32)}`]) {
    const wallet = walletOf({ eth_sendTransaction: () => answer });
    assert.equal(await refusalOf(wallet.send(CALL)), "failed");
  }
});

test("account, network and disconnection are followed at once", async () => {
  const wallet = walletOf({ eth_requestAccounts: [OWNER] });
  const seen = [];
  await wallet.connect();
  wallet.subscribe(({ address, chainId }) => seen.push([address, chainId]));
  const { provider } = wallet.found;
  provider.emit("chainChanged", "0x1");
  provider.emit("accountsChanged", []);
  provider.emit("accountsChanged", ["<script>"]);
  provider.emit("disconnect", {});

  assert.deepEqual(seen, [
    [OWNER.toLowerCase(), 1],
    [null, 1],
    [null, null],
  ]);
  wallet.close();
  provider.emit("chainChanged", "0x1");
  assert.equal(seen.length, 3);
});

test("a network that the wallet does not know is added, then switched to", async () => {
  let chainId = "0x1";
  const added = [];
  const wallet = walletOf({
    eth_chainId: () => chainId,
    wallet_switchEthereumChain: (wanted) => {
      if (added.length === 0) throw { code: 4902 };
      chainId = wanted.chainId;
      return null;
    },
    wallet_addEthereumChain: (chain) => (added.push(chain), null),
  });
  await wallet.switchTo({ chainId: 84532, name: "Base Sepolia", rpcUrls: ["https://a.example"] });

  assert.equal(added[0].chainId, "0x14a34");
  assert.equal(wallet.chainId, 84532);
});

test("typed data goes as its JSON text, on the network of its domain alone", async () => {
  const asked = [];
  const wallet = walletOf({ eth_signTypedData_v4: (...params) => (asked.push(params), "0x1b") });
  await wallet.signTypedData({ domain: { chainId: 84532 } });

  assert.deepEqual(asked, [[OWNER.toLowerCase(), '{"domain":{"chainId":84532}}']]);
  const other = wallet.signTypedData({ domain: { chainId: 1 } });
  assert.equal(await refusalOf(other), "wrong_network");
});

test("a message goes as the hex of its UTF-8", async () => {
  const asked = [];
  const wallet = walletOf({ personal_sign: (...params) => (asked.push(params), "0x1b") });
  await wallet.signMessage("hé");

  assert.deepEqual(asked, [["0x68c3a9", OWNER.toLowerCase()]]);
});

test("batches are offered where the wallet has them, and atomic where it says so", async () => {
  const of = async (answer) => {
    const wallet = walletOf({ eth_requestAccounts: [OWNER], wallet_getCapabilities: answer });
    await wallet.connect();
    return wallet.batchSupport(84532);
  };
  const atomic = (status) => ({ "0x14a34": { atomic: { status } } });

  assert.deepEqual(await of(atomic("supported")), { isSupported: true, isAtomic: true });
  assert.deepEqual(await of(atomic("ready")), { isSupported: true, isAtomic: true });
  assert.deepEqual(await of(atomic("unsupported")), { isSupported: true, isAtomic: false });
  assert.deepEqual(await of(undefined), { isSupported: false, isAtomic: false });
  assert.deepEqual(await of(null), { isSupported: false, isAtomic: false });
});

test("a batch is one request, and its status is read by the standard's numbers", async () => {
  const asked = [];
  const hash = `0x${"ab".repeat(32)}`;
  const status = (code) => ({ status: code, atomic: true, receipts: [] });
  const wallet = walletOf({
    wallet_sendCalls: (batch) => (asked.push(batch), { id: "b1" }),
    wallet_getCallsStatus: (id) =>
      id === "b1"
        ? { ...status(200), receipts: [{ transactionHash: hash, status: "0x1" }] }
        : status(Number(id)),
  });

  assert.equal(await wallet.sendBatch([CALL, CALL]), "b1");
  assert.equal(asked[0].calls.length, 2);
  assert.equal(asked[0].atomicRequired, true);
  assert.deepEqual(await wallet.batchStatus("b1"), {
    status: "done",
    isAtomic: true,
    receipts: [{ hash, isSuccess: true }],
  });
  for (const [code, word] of [["100", "pending"], ["400", "failed"], ["500", "failed"], ["600", "partly"]]) {
    assert.equal((await wallet.batchStatus(code)).status, word);
  }
});

test("a request that nobody answers ends as a timeout", async () => {
  const wallet = walletOf({ eth_chainId: () => new Promise(() => {}) });

  assert.equal(await refusalOf(wallet.request("eth_chainId", [], 5)), "timeout");
});

test("announcements are taken once, in order, and hostile ones not at all", () => {
  const host = Object.assign(new EventTarget(), { ethereum: provider() });
  const wallets = new Wallets(host);
  const announce = (detail) =>
    host.dispatchEvent(Object.assign(new Event("eip6963:announceProvider"), { detail }));
  assert.deepEqual(wallets.list().map(({ name }) => name), ["Browser wallet"]);

  const first = provider();
  announce({ info: { uuid: "1", name: "A", rdns: "a", icon: "data:image/png;base64,AA" }, provider: first });
  announce({ info: { uuid: "1", name: "Thief", rdns: "a", icon: "" }, provider: provider() });
  announce({ info: { uuid: "2", name: "", rdns: 7, icon: "data:text/html,x" }, provider: provider() });
  for (const bad of [null, 1, {}, { info: {} }, { info: { uuid: "3" }, provider: {} }]) announce(bad);
  for (let i = 0; i < 99; i++) announce({ info: { uuid: `x${i}`, name: "x" }, provider: provider() });

  const [one, two, ...rest] = wallets.list();
  assert.deepEqual([one.name, one.icon, one.provider === first], ["A", "data:image/png;base64,AA", true]);
  assert.deepEqual([two.name, two.icon, two.id], ["Unnamed wallet", "", "2"]);
  assert.equal(rest.length, 30);
});

test("a wallet whose listeners or getters throw can be chosen, and left for another one", async () => {
  const hostile = {
    ...provider(),
    get on() {
      throw new Error("mine");
    },
    removeListener() {
      throw new Error("mine");
    },
  };
  const wallet = new Wallet({ uuid: "1", id: "1", name: "W", icon: "", provider: hostile });
  assert.equal(await wallet.connect().catch(() => "refused"), "refused");
  wallet.close();
  assert.equal(wallet.address, null);
});
