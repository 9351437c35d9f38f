/** What only the local chain of `make up` needs: its accounts, and Safe's contracts, which every public chain already has. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  type Address,
  concat,
  createTestClient,
  encodeFunctionData,
  getCreate2Address,
  type Hex,
  http,
  parseAbi,
  zeroAddress,
  zeroHash,
} from "viem";
import { type Connection, fail, sendOne } from "./wallet.js";

type Account = { address: Address; private_key: Hex };
type Stack = { base_url: string; rpc_url: string; contracts: { usdc: Address }; accounts: { owner: Account; stranger: Account } };

/** Safe 1.4.1 has the same addresses on every chain: its deployer puts this creation code there, and no other. */
const DEPLOYER: Address = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7";
const SINGLETON: Address = "0x29fcB43b46531BcA003ddC8FCB67FFE91900C762";
const PROXY_FACTORY: Address = "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67";
const FALLBACK_HANDLER: Address = "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99";
export const MULTI_SEND_CALL_ONLY: Address = "0x9641d764fc13c8B624c04430C7356C1C7C8102e2";
const CONTRACTS: Record<string, Address> = {
  "SafeL2.sol/SafeL2": SINGLETON,
  "proxies/SafeProxyFactory.sol/SafeProxyFactory": PROXY_FACTORY,
  "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler": FALLBACK_HANDLER,
  "libraries/MultiSendCallOnly.sol/MultiSendCallOnly": MULTI_SEND_CALL_ONLY,
};
/** Anvil's own CREATE2 deployer, of the same code as Safe's. */
const ANVILS_DEPLOYER: Address = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

const SETUP = parseAbi([
  // owners, threshold, to, data, fallbackHandler, paymentToken, payment, paymentReceiver
  "function setup(address[], uint256, address, bytes, address, address, uint256, address)",
]);
const FACTORY = parseAbi([
  "function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)",
]);
const USDC = parseAbi(["function transfer(address to, uint256 value) returns (bool)"]);

const require = createRequire(import.meta.url);

/** What `make up` wrote about itself. */
export function readStack(folder = ".local"): Stack {
  const file = join(folder, "stack.json");
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    console.error(`${file} cannot be read: run \`make up\` first, and leave it running`);
    process.exit(1);
  }
}

export async function sendUsdc(from: Connection, usdc: Address, to: Address, value: bigint): Promise<void> {
  const data = encodeFunctionData({ abi: USDC, functionName: "transfer", args: [to, value] });
  await sendOne(from, { to: usdc, data, value: 0n });
}

/** A new Safe all of whose owners must sign. Answers its address. */
export async function createSafe(payer: Connection, owners: readonly Address[]): Promise<Address> {
  await deployContracts(payer);
  const setup = [owners, BigInt(owners.length), zeroAddress, "0x", FALLBACK_HANDLER, zeroAddress, 0n, zeroAddress] as const;
  const initializer = encodeFunctionData({ abi: SETUP, functionName: "setup", args: setup });
  const args = [SINGLETON, initializer, BigInt(Date.now())] as const;
  const call = { address: PROXY_FACTORY, abi: FACTORY, functionName: "createProxyWithNonce", args } as const;
  const { request, result } = await payer.simulateContract(call);
  await payer.waitForTransactionReceipt({ hash: await payer.writeContract(request) });
  return result;
}

/** Puts Safe's contracts where every public chain has them. */
async function deployContracts(payer: Connection): Promise<void> {
  const anvil = createTestClient({ mode: "anvil", transport: http(payer.transport.url) });
  const bytecode = (await payer.getCode({ address: ANVILS_DEPLOYER })) ?? fail("this chain is not a local anvil");
  await anvil.setCode({ address: DEPLOYER, bytecode });
  for (const [name, address] of Object.entries(CONTRACTS)) {
    const creation: Hex = require(`@safe-global/safe-contracts/build/artifacts/contracts/${name}.json`).bytecode;
    if (getCreate2Address({ from: DEPLOYER, salt: zeroHash, bytecode: creation }) !== address) fail(`${name} is not that of Safe 1.4.1`);
    const isThere = (await payer.getCode({ address })) !== undefined;
    if (!isThere) await sendOne(payer, { to: DEPLOYER, data: concat([zeroHash, creation]), value: 0n });
  }
}
