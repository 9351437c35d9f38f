// A mandate from sign-in to withdrawal: `node mandate.mjs` with the settings as JSON on stdin; writes what it saw as JSON.
// {base_url, rpc_url, usdc, adapter, library: ethers | viem | safe, owner_keys, agent_key}
import { readFileSync } from "node:fs";
import { JsonRpcProvider, Wallet, Contract } from "ethers";
import { createSiweMessage } from "viem/siwe";
import { byEthers, bySafe, byViem } from "./owners.mjs";

const settings = JSON.parse(readFileSync(0, "utf8"));
const { base_url: base, rpc_url: rpc, library } = settings;
const seen = { library };

async function call(method, path, { headers = {}, body } = {}) {
  const init = { method, headers: { ...headers, ...(body ? { "Content-Type": "application/json" } : {}) }, body: body && JSON.stringify(body) };
  const answer = await fetch(base + path, init);
  const json = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${json.detail}`);
  return json;
}

async function until(what, ask) {
  for (let tries = 0; tries < 300; tries++) {
    const found = await ask();
    if (found) return found;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error(`never ${what}`);
}

const owner = await { ethers: byEthers, viem: byViem, safe: bySafe }[library](rpc, library === "safe" ? settings.owner_keys : settings.owner_keys[0]);

// Sign in with a message that the client builds around our nonce, as wagmi and RainbowKit do.
const { nonce } = await call("POST", "/auth/wallet/nonce", { body: { wallet_address: owner.address, purpose: "login" } });
const site = new URL(base);
const message = createSiweMessage({ address: owner.address, chainId: 84532, domain: site.host, nonce, uri: `${site.origin}/`, version: "1" });
const session = await call("POST", "/auth/owner/login", { body: { message, signature: await owner.signMessage(message) } });
const asOwner = { headers: { Authorization: `Bearer ${session.bearer_token}` } };

// An agent of the owner's, whose wallet is linked. Its id goes in as it came out: a number.
const agent = await call("POST", "/auth/agent/connect", { ...asOwner, body: { agent_name: "runner" } });
const agentWallet = new Wallet(settings.agent_key, new JsonRpcProvider(rpc, undefined, { cacheTimeout: -1, pollingInterval: 50 }));
const link = await call("POST", "/auth/wallet/nonce", { body: { wallet_address: agentWallet.address, purpose: "link" } });
await call("POST", "/auth/wallet/link", {
  headers: { Authorization: `Bearer ${agent.bearer_token}` },
  body: { wallet_address: agentWallet.address, signature: await agentWallet.signMessage(link.message) },
});
const wallet = "/mandate-wallet";
await call("PUT", `${wallet}/agents/${agent.user_id}/policy`, { ...asOwner, body: { accepts_mandates: true } });

// Draft, sign, deploy and fund.
const draft = { purpose: "Buy units at the test venue, carefully.", agent_id: agent.user_id, budget_usdc: "1000", horizon_days: 30, stop_floor_bps: 500, market_mode: "testnet" };
const { mandate } = await call("POST", `${wallet}/mandates`, { ...asOwner, body: draft });
const path = `${wallet}/mandates/${mandate.id}`;
const signature = await owner.signTypedData(await call("GET", `${path}/terms`, asOwner));
seen.terms_signature_bytes = (signature.length - 2) / 2;
await call("POST", `${path}/sign`, { ...asOwner, body: { signature } });
await fund();
await until("working", async () => (await call("GET", path, asOwner)).mandate.status === "working");

// The agent buys by the call that the API builds.
const asAgent = { headers: { "X-SVC-User-Key": agent.api_key } };
const bought = await call("POST", `${path}/execute-call`, {
  ...asAgent,
  body: { target: settings.adapter, function: "buy(uint256)", args: ["40000000"], amount_usdc: "40" },
});
await (await agentWallet.sendTransaction(bought)).wait();
await until("bought", async () => (await call("GET", path, asOwner)).progress.cash === "960.000000");

// Leave: the stop and the withdrawal of what is there as one batch, then what the position brings.
const plan = () => call("GET", `${path}/close-all-plan`, asOwner);
const { batch } = await plan();
seen.batch_usdc = batch.amount_usdc;
await owner.send(batch.calls);
await until("stopped", async () => (await call("GET", path, asOwner)).mandate.status === "stopped");
for (const type of ["unwind", "withdraw"]) {
  const step = await until(type, async () => (await plan()).steps.find((one) => one.type === type && one.call));
  await owner.send([step.call]);
}
const usdc = new Contract(settings.usdc, ["function balanceOf(address) view returns (uint256)"], agentWallet);
seen.owner_usdc_e6 = String(await usdc.balanceOf(owner.address));
seen.owner = owner.address;
console.log(JSON.stringify(seen));
process.exit(0);

async function fund() {
  const sent = new Contract(settings.usdc, ["function mint(address,uint256)"], agentWallet);
  await (await sent.mint(owner.address, 1_000_000_000n)).wait();
  if (library === "safe") {
    // Both calls of fund=approve in one transaction; an authorization needs a signature with bytes.
    await owner.send((await call("GET", `${path}/deploy-call?fund=approve`, asOwner)).calls);
    return;
  }
  const asked = await call("GET", `${path}/deploy-call?fund=authorization`, asOwner);
  const authorization = await owner.signTypedData(asked);
  await owner.send([await call("GET", `${path}/deploy-call?fund=authorization&authorization_signature=${authorization}`, asOwner)]);
}
