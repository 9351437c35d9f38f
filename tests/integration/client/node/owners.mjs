// Owners as their libraries make them: each signs what the API offers and sends the calls that it builds, unchanged.
import { Contract, ContractFactory, Interface, JsonRpcProvider, Wallet, AbiCoder, concat, getBytes, hashMessage, solidityPacked, TypedDataEncoder } from "ethers";
import { createPublicClient, createWalletClient, defineChain, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const artifact = (path) => require(`@safe-global/safe-contracts/build/artifacts/contracts/${path}.json`);
const ZERO = "0x0000000000000000000000000000000000000000";
const DELEGATECALL = 1;

export async function byEthers(rpc, key) {
  const provider = new JsonRpcProvider(rpc, undefined, { cacheTimeout: -1, pollingInterval: 50 });
  const wallet = new Wallet(key, provider);
  return {
    address: wallet.address,
    signMessage: (text) => wallet.signMessage(text),
    signTypedData: ({ typed_data_parts: parts }) => wallet.signTypedData(parts.domain, parts.types, parts.message),
    send: async (calls) => {
      for (const call of calls) await (await wallet.sendTransaction(call)).wait();
    },
  };
}

export async function byViem(rpc, key) {
  const account = privateKeyToAccount(key);
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = defineChain({ id: 84532, name: "devnet", nativeCurrency, rpcUrls: { default: { http: [rpc] } } });
  const client = createWalletClient({ account, chain, transport: http(rpc) });
  const reader = createPublicClient({ chain, transport: http(rpc), pollingInterval: 50 });
  return {
    address: account.address,
    signMessage: (message) => client.signMessage({ message }),
    signTypedData: ({ typed_data: document }) => client.signTypedData(document),
    send: async (calls) => {
      for (const call of calls) {
        const receipt = await reader.waitForTransactionReceipt({ hash: await client.sendTransaction(call) });
        if (receipt.status !== "success") throw new Error(`reverted: ${JSON.stringify(call)}`);
      }
    },
  };
}

// A Safe of two owners who must both sign, from the published artifacts. Terms are approved on chain, so that their signature is 0x.
export async function bySafe(rpc, keys) {
  const provider = new JsonRpcProvider(rpc, undefined, { cacheTimeout: -1, pollingInterval: 50 });
  const owners = keys.map((key) => new Wallet(key, provider)).sort((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
  const payer = owners[0];
  const deploy = async (path) => {
    const { abi, bytecode } = artifact(path);
    return (await new ContractFactory(abi, bytecode, payer).deploy()).waitForDeployment();
  };
  const singleton = await deploy("Safe.sol/Safe");
  const factory = await deploy("proxies/SafeProxyFactory.sol/SafeProxyFactory");
  const handler = await deploy("handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler");
  const multiSend = await deploy("libraries/MultiSend.sol/MultiSend");
  const signMessages = await deploy("libraries/SignMessageLib.sol/SignMessageLib");
  const addresses = owners.map((owner) => owner.address);
  const setup = [addresses, 2, ZERO, "0x", await handler.getAddress(), ZERO, 0, ZERO];
  const initializer = singleton.interface.encodeFunctionData("setup", setup);
  const made = await (await factory.createProxyWithNonce(await singleton.getAddress(), initializer, 1)).wait();
  const proxy = made.logs.map((log) => factory.interface.parseLog(log)).find((log) => log?.name === "ProxyCreation").args.proxy;
  const safe = new Contract(proxy, singleton.interface, payer);
  const domain = { chainId: 84532, verifyingContract: proxy };

  const signedByBoth = async (types, value) => concat(await Promise.all(owners.map((owner) => owner.signTypedData(domain, types, value))));
  const messageTypes = { SafeMessage: [{ name: "message", type: "bytes" }] };
  const asMessage = (digest) => AbiCoder.defaultAbiCoder().encode(["bytes32"], [digest]);
  const signDigest = (digest) => signedByBoth(messageTypes, { message: asMessage(digest) });

  const execute = async (to, data, operation) => {
    const nonce = await safe.nonce();
    const fields = "to address, value uint256, data bytes, operation uint8, safeTxGas uint256, baseGas uint256, gasPrice uint256, gasToken address, refundReceiver address, nonce uint256";
    const types = { SafeTx: fields.split(", ").map((field) => ({ name: field.split(" ")[0], type: field.split(" ")[1] })) };
    const tx = { to, value: 0, data, operation, safeTxGas: 0, baseGas: 0, gasPrice: 0, gasToken: ZERO, refundReceiver: ZERO, nonce };
    const signatures = await signedByBoth(types, tx);
    const sent = await safe.execTransaction(to, 0, data, operation, 0, 0, 0, ZERO, ZERO, signatures);
    const receipt = await sent.wait();
    const names = receipt.logs.map((log) => (log.address === proxy ? safe.interface.parseLog(log)?.name : null));
    if (!names.includes("ExecutionSuccess")) throw new Error("the Safe's transaction failed");
  };

  return {
    address: proxy,
    signMessage: (text) => signDigest(hashMessage(text)),
    signTypedData: async ({ typed_data_parts: parts }) => {
      const digest = TypedDataEncoder.hash(parts.domain, parts.types, parts.message);
      const data = signMessages.interface.encodeFunctionData("signMessage", [asMessage(digest)]);
      await execute(await signMessages.getAddress(), data, DELEGATECALL);
      return "0x";
    },
    // All calls in one transaction.
    send: async (calls) => {
      const packed = calls.map(({ to, data, value }) =>
        solidityPacked(["uint8", "address", "uint256", "uint256", "bytes"], [0, to, value, getBytes(data).length, data]),
      );
      const data = new Interface(artifact("libraries/MultiSend.sol/MultiSend").abi).encodeFunctionData("multiSend", [concat(packed)]);
      await execute(await multiSend.getAddress(), data, DELEGATECALL);
    },
  };
}
