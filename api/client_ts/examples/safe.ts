/**
 * A mandate of a Safe whose two owners must both sign: `node dist/examples/safe.js [FOLDER]`, with `make up` running.
 *
 * The Safe signs by ERC-1271: each owner signs a SafeMessage that holds the digest, and the two signatures one after the other are the
 * Safe's. What it sends is one transaction for any number of calls, which either owner may submit.
 */
import {
  type Address,
  concat,
  encodeFunctionData,
  encodePacked,
  type Hex,
  hashMessage,
  hashTypedData,
  parseAbi,
  size,
  type TypedDataDefinition,
  zeroAddress,
} from "viem";
import { createSafe, MULTI_SEND_CALL_ONLY, readStack, sendUsdc } from "./local.js";
import { live } from "./mandate.js";
import { type Call, type Connection, connect, fail, sendOne, type Wallet } from "./wallet.js";

const SAFE = parseAbi([
  "function nonce() view returns (uint256)",
  // the fields of SAFE_TX but the nonce, then the signatures
  "function execTransaction(address, uint256, bytes, uint8, uint256, uint256, uint256, address, address, bytes) returns (bool)",
]);
const MULTI_SEND = parseAbi(["function multiSend(bytes transactions) payable"]);
const SAFE_MESSAGE = [{ name: "message", type: "bytes" }] as const;
const SAFE_TX = [
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "data", type: "bytes" },
  { name: "operation", type: "uint8" },
  { name: "safeTxGas", type: "uint256" },
  { name: "baseGas", type: "uint256" },
  { name: "gasPrice", type: "uint256" },
  { name: "gasToken", type: "address" },
  { name: "refundReceiver", type: "address" },
  { name: "nonce", type: "uint256" },
] as const;
const CALL = 0;
const DELEGATE_CALL = 1;

/** The wallet of the Safe at `address`. `owners`: as many as its threshold; the first one sends its transactions and pays their gas. */
export function safeWallet(address: Address, owners: readonly [Connection, ...Connection[]]): Wallet {
  const [sender] = owners;
  const domain = { chainId: sender.chain.id, verifyingContract: address };

  /** The signatures of all owners, in the order of their addresses, as the Safe requires. */
  async function signedByAll(document: TypedDataDefinition): Promise<Hex> {
    const inOrder = owners.map((owner) => owner.account).sort((one, other) => (BigInt(one.address) < BigInt(other.address) ? -1 : 1));
    return concat(await Promise.all(inOrder.map((account) => account.signTypedData(document))));
  }
  const signDigest = (digest: Hex) =>
    signedByAll({ domain, types: { SafeMessage: SAFE_MESSAGE }, primaryType: "SafeMessage", message: { message: digest } });

  return {
    address,
    signMessage: (text) => signDigest(hashMessage(text)),
    signTypedData: (document) => signDigest(hashTypedData(document)),
    async send(calls) {
      const { to, data, operation } = asOne(calls);
      const nonce = await sender.readContract({ address, abi: SAFE, functionName: "nonce" });
      // No refund of gas: the sender pays it, and the Safe's transaction reverts when a call does.
      const refund = { safeTxGas: 0n, baseGas: 0n, gasPrice: 0n, gasToken: zeroAddress, refundReceiver: zeroAddress };
      const message = { to, value: 0n, data, operation, ...refund, nonce };
      const signatures = await signedByAll({ domain, types: { SafeTx: SAFE_TX }, primaryType: "SafeTx", message });
      const args = [to, 0n, data, operation, 0n, 0n, 0n, zeroAddress, zeroAddress, signatures] as const;
      return sendOne(sender, { to: address, data: encodeFunctionData({ abi: SAFE, functionName: "execTransaction", args }), value: 0n });
    },
  };
}

/** A single call as it is; several through MultiSendCallOnly, which reverts when one of them does. */
function asOne(calls: readonly Call[]): { to: Address; data: Hex; operation: number } {
  const [first, ...more] = calls;
  if (first === undefined) return fail("there is nothing to send");
  if (more.length === 0) return { to: first.to, data: first.data, operation: CALL };
  const packed = calls.map(({ to, data, value }) =>
    encodePacked(["uint8", "address", "uint256", "uint256", "bytes"], [CALL, to, value, BigInt(size(data)), data]),
  );
  const data = encodeFunctionData({ abi: MULTI_SEND, functionName: "multiSend", args: [concat(packed)] });
  return { to: MULTI_SEND_CALL_ONLY, data, operation: DELEGATE_CALL };
}

const stack = readStack(process.argv[2]);
const alice = connect(stack.rpc_url, stack.accounts.owner.private_key);
const bob = connect(stack.rpc_url, stack.accounts.stranger.private_key);
const safe = await createSafe(alice, [alice.account.address, bob.account.address]);
await sendUsdc(alice, stack.contracts.usdc, safe, 1_000_000_000n);
await live(stack.base_url, safeWallet(safe, [alice, bob]));
