/** A mandate from sign-in to withdrawal, for any wallet: docs/owners.md explains each step. */
import { setTimeout as sleep } from "node:timers/promises";
import { answer, createClient, type MandateWallet } from "mandate-wallet-client";
import { type Address, type Hex, hashTypedData, type TransactionReceipt } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { fail, sendable, typedData, type Wallet } from "./wallet.js";

const WITHIN_S = 30;
const BUDGET_USDC_E6 = 1_000_000_000n;

/** The wallet signs an EIP-4361 text that names the service and a number used once. Answers a client with the owner's session. */
export async function signIn(baseUrl: string, owner: Wallet): Promise<MandateWallet> {
  const api = createClient(baseUrl);
  const { message } = await answer(api.POST("/auth/wallet/nonce", { body: { wallet_address: owner.address, purpose: "login" } }));
  const login = { message, signature: await owner.signMessage(message) };
  const { bearer_token: session } = await answer(api.POST("/auth/owner/login", { body: login }));
  return createClient(baseUrl, { session }, owner.account && { signer: owner.account });
}

/** A new agent of the owner that accepts mandates, with a wallet of its own. Answers its user id. */
export async function hire(baseUrl: string, api: MandateWallet, name: string): Promise<number> {
  const { user_id, bearer_token: bearer } = await answer(api.POST("/auth/agent/connect", { body: { agent_name: name } }));
  const account = privateKeyToAccount(generatePrivateKey()); // the agent's own; the owner never needs it
  const agent = createClient(baseUrl, { bearer });
  const wallet_address = account.address;
  const { message } = await answer(agent.POST("/auth/wallet/nonce", { body: { wallet_address, purpose: "link" } }));
  const signature = await account.signMessage({ message });
  await answer(agent.POST("/auth/wallet/link", { body: { wallet_address, signature } }));
  const params = { path: { id: `${user_id}` } };
  await answer(api.PUT("/mandate-wallet/agents/{id}/policy", { params, body: { accepts_mandates: true } }));
  return user_id;
}

/** Drafts a mandate and signs its EIP-712 terms. Answers its id. */
export async function giveMandate(api: MandateWallet, owner: Wallet, agentId: number): Promise<string> {
  const { mandate } = await answer(
    api.POST("/mandate-wallet/mandates", {
      params: { header: { "Idempotency-Key": crypto.randomUUID() } },
      body: {
        purpose: "Buy units at the test venue, carefully.",
        agent_id: agentId,
        budget_usdc: "1000.000000",
        per_tx_cap_usdc: "200.000000",
        daily_cap_usdc: "450.000000",
        stop_floor_bps: 500,
        horizon_days: 30,
        market_mode: "testnet",
      },
    }),
  );
  const params = { path: { id: mandate.public_id } };
  const terms = await answer(api.GET("/mandate-wallet/mandates/{id}/terms", { params }));
  const document = typedData(terms.typed_data);
  if (hashTypedData(document) !== terms.digest) fail("these are not the terms of the digest");
  const signature = await owner.signTypedData(document);
  await answer(api.POST("/mandate-wallet/mandates/{id}/sign", { params, body: { signature } }));
  return mandate.public_id;
}

/** Deploys the vault and pays the budget into it in one transaction, by a USDC authorization that pays this vault only. */
export async function fund(api: MandateWallet, owner: Wallet, id: string): Promise<{ vault: string; receipt: TransactionReceipt }> {
  const deployCall = (authorization_signature?: Hex) => {
    const query = { fund: "authorization" as const, authorization_signature };
    return answer(api.GET("/mandate-wallet/mandates/{id}/deploy-call", { params: { path: { id }, query } }));
  };
  const offered = await deployCall();
  const authorization = typedData(offered.typed_data);
  const { to, value } = authorization.message as { to: Address; value: bigint | number | string };
  if (to !== offered.vault_address || BigInt(value) !== BUDGET_USDC_E6) fail(`the authorization would pay ${value} to ${to}`);
  const call = await deployCall(await owner.signTypedData(authorization));
  const receipt = await owner.send([sendable(call)]);
  await until("working", async () => (await read(api, id)).mandate.status === "working");
  return { vault: offered.vault_address, receipt };
}

/** Stops the mandate and takes out all that the vault holds. Open positions remain: their calls are in `steps` of the plan. */
export async function withdraw(api: MandateWallet, owner: Wallet, id: string): Promise<TransactionReceipt> {
  const plan = await answer(api.GET("/mandate-wallet/mandates/{id}/close-all-plan", { params: { path: { id } } }));
  if (plan.batch === null) return fail(`there is nothing to withdraw: ${plan.reason}`);
  const receipt = await owner.send(plan.batch.calls.map(sendable));
  await until("empty", async () => (await read(api, id)).lock.reason === "nothing_left");
  return receipt;
}

/** Goes all the way and prints what it did, one fact per line. */
export async function live(baseUrl: string, owner: Wallet): Promise<void> {
  const api = await signIn(baseUrl, owner);
  console.log(`owner ${owner.address}`);
  const id = await giveMandate(api, owner, await hire(baseUrl, api, "typescript-agent"));
  console.log(`mandate ${id}`);
  const { vault, receipt } = await fund(api, owner, id);
  console.log(`vault ${vault}`);
  console.log(`funded ${receipt.transactionHash}`);
  const withdrawal = await withdraw(api, owner, id);
  console.log(`withdrawn ${withdrawal.transactionHash}`);
  console.log(`status ${(await read(api, id)).mandate.status}`);
  const statement = await answer(api.GET("/mandate-wallet/mandates/{id}/statement", { params: { path: { id } } }));
  if (typeof statement === "string") fail("only format=csv and format=pdf answer text");
  for (const name of ["deposits", "withdrawals", "unexplained"] as const) console.log(`${name} ${statement.flows[name]}`);
}

function read(api: MandateWallet, id: string) {
  return answer(api.GET("/mandate-wallet/mandates/{id}", { params: { path: { id } } }));
}

/** The service follows the chain within a second or so. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const ends = Date.now() + WITHIN_S * 1000;
  while (!(await holds())) {
    if (Date.now() > ends) fail(`the mandate is not ${what} after ${WITHIN_S} s; look at GET /health/ready`);
    await sleep(200);
  }
}
