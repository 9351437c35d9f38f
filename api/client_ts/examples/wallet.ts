/** An owner's wallet as the API needs it: it signs texts and typed data, and sends the calls that the API builds, unchanged. */
import {
  type Address,
  type Client,
  createWalletClient,
  getAddress,
  type Hex,
  type HttpTransport,
  http,
  isHex,
  type PublicActions,
  publicActions,
  type TransactionReceipt,
  type TypedDataDefinition,
  type WalletActions,
} from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";

export interface Call {
  readonly to: Address;
  readonly data: Hex;
  readonly value: bigint;
}

export interface Wallet {
  readonly address: Address;
  /** Of a wallet with one key: it signs the owner's rows of the record. A Safe leaves them unsigned. */
  readonly account?: PrivateKeyAccount;
  signMessage(text: string): Promise<Hex>;
  signTypedData(document: TypedDataDefinition): Promise<Hex>;
  /** Sends the calls in this order and waits for them; answers the receipt of the last. Throws when one reverts. */
  send(calls: readonly Call[]): Promise<TransactionReceipt>;
}

type Chain = typeof baseSepolia;
type Actions = PublicActions<HttpTransport, Chain, PrivateKeyAccount> & WalletActions<Chain, PrivateKeyAccount>;
/** A viem client that reads the chain, and signs and sends with one key. */
export type Connection = Client<HttpTransport, Chain, PrivateKeyAccount, undefined, Actions>;

export function connect(rpcUrl: string, privateKey: Hex): Connection {
  const account = privateKeyToAccount(privateKey);
  return createWalletClient({ account, chain: baseSepolia, transport: http(rpcUrl), pollingInterval: 200 }).extend(publicActions);
}

export async function sendOne(connection: Connection, call: Call): Promise<TransactionReceipt> {
  const receipt = await connection.waitForTransactionReceipt({ hash: await connection.sendTransaction(call) });
  if (receipt.status !== "success") throw new Error(`transaction ${receipt.transactionHash} reverted`);
  return receipt;
}

/** A wallet of one key. */
export function keyWallet(connection: Connection): Wallet {
  return {
    address: connection.account.address,
    account: connection.account,
    signMessage: (message) => connection.signMessage({ message }),
    signTypedData: (document) => connection.account.signTypedData(document),
    async send(calls) {
      const receipts = [];
      for (const call of calls) receipts.push(await sendOne(connection, call));
      return receipts.at(-1) ?? fail("there is nothing to send");
    },
  };
}

/** A call that the API built, for viem. Throws with the API's reason when there is nothing to send at the moment. */
export function sendable(built: { to: string | null; data: string | null; value: number; reason?: string | null }): Call {
  if (built.to === null || !isHex(built.data)) return fail(`there is nothing to send: ${built.reason}`);
  return { to: getAddress(built.to), data: built.data, value: BigInt(built.value) };
}

/** Typed data of an answer, which the OpenAPI document describes as an object, for viem. */
export function typedData(document: unknown): TypedDataDefinition {
  return document as TypedDataDefinition;
}

export function fail(message: string): never {
  throw new Error(message);
}
