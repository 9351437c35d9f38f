// One's own wallet on the chain of `make up`: what the page says of wallets that take its node, keep their own, or refuse.

import assert from "node:assert/strict";
import { test } from "node:test";

const RPC = "http://127.0.0.1:8545";
const OURS = `0x${"11".repeat(32)}`;
const THEIRS = `0x${"22".repeat(32)}`;
const ACCOUNT = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc";
const shelf = { getItem: () => null, setItem() {}, removeItem() {} };
const announced = [];
const page = new EventTarget();
page.addEventListener("eip6963:announceProvider", ({ detail }) => announced.push(detail));
const asked = [];
Object.assign(globalThis, {
  window: page,
  localStorage: shelf,
  sessionStorage: shelf,
  location: { hash: "", hostname: "127.0.0.1", host: "127.0.0.1" },
  document: {
    hidden: false,
    getElementById: () => null,
    querySelector: (wanted) =>
      wanted === "meta[name=local-rpc]" ? { getAttribute: () => RPC } : null,
  },
  addEventListener() {},
  fetch: async (url, { body }) => {
    const { method, params } = JSON.parse(body);
    asked.push([url, method, params]);
    const answers = {
      eth_getBlockByNumber: { hash: OURS },
      eth_chainId: "0x14a34",
      eth_accounts: Array.from({ length: 24 }, (_, n) => (n === 12 ? ACCOUNT : `0x${n}`)),
    };
    return { ok: true, json: async () => ({ result: answers[method] ?? null }) };
  },
});
const interval = globalThis.setInterval;
globalThis.setInterval = (...all) => interval(...all).unref();
const { Wallet } = await import("../../../api/web/app/wallet.js");
const { network, service } = await import("../../../api/web/app/session.js");
const { isHere } = await import("../../../api/web/local/node.js");
await import("../../../api/web/local/wallet.js");
service.value = { chain_id: 84532, contracts: {} };

/** A wallet whose node has that first block, and that does so when it is given another one. */
function wallet(hash, onAdd) {
  const held = { hash };
  const request = async ({ method, params }) => {
    if (method === "wallet_addEthereumChain") return onAdd(params[0], held);
    return method === "eth_getBlockByNumber" ? { hash: held.hash } : null;
  };
  return new Wallet({ uuid: "1", id: "1", name: "W", icon: "", provider: { request } });
}

test("a wallet that takes the node asks this chain from then on", async () => {
  let given = null;
  const mine = wallet(THEIRS, (chain, held) => {
    given = chain;
    held.hash = OURS;
    return null;
  });
  assert.equal(await isHere(mine), false);
  await mine.add(await network());
  assert.deepEqual([given.chainId, given.rpcUrls], ["0x14a34", [RPC]]);
  assert.equal(given.blockExplorerUrls, undefined);
  assert.equal(await isHere(mine), true);
});

test("a wallet that keeps its own Base Sepolia is told apart", async () => {
  const mine = wallet(THEIRS, () => null);
  await mine.add(await network());
  assert.equal(await isHere(mine), false);
});

test("a wallet that refuses says so, by its code or by none", async () => {
  const refusing = (thrown) =>
    wallet(THEIRS, () => {
      throw thrown;
    }).add({ chainId: 84532, name: "n", rpcUrls: [RPC] });
  const declined = Object.assign(new Error("User rejected"), { code: 4001 });
  await assert.rejects(refusing(declined), { kind: "rejected" });
  const known = Object.assign(new Error("already in use"), { code: -32603 });
  await assert.rejects(refusing(known), { kind: "failed", detail: "already in use" });
});

test("the built-in wallet is announced once, and says what it is", async () => {
  const [{ info, provider }, ...more] = announced;
  assert.deepEqual(more, []);
  assert.equal(info.name, "Built-in wallet (local chain only)");
  assert.deepEqual(await provider.request({ method: "eth_accounts" }), [ACCOUNT]);
  assert.equal(await provider.request({ method: "eth_chainId" }), "0x14a34");
});

test("the built-in wallet forwards reads alone, and knows one chain", async () => {
  const [{ provider }] = announced;
  for (const method of ["anvil_setBalance", "eth_sign", "eth_sendRawTransaction", "evm_mine"]) {
    const before = asked.length;
    await assert.rejects(provider.request({ method, params: [] }), { code: 4200 });
    assert.equal(asked.length, before);
  }
  const other = { method: "wallet_switchEthereumChain", params: [{ chainId: "0x1" }] };
  await assert.rejects(provider.request(other), { code: 4902 });
});
