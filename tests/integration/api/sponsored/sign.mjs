// Signs one EIP-712 document as a wallet's page would, by the library that is named, and prints the
// signature: {library, document, key} on standard input.
import { readFileSync } from "node:fs";
import { Wallet } from "ethers";
import { privateKeyToAccount } from "viem/accounts";

const { library, document, key } = JSON.parse(readFileSync(0, "utf8"));
const { EIP712Domain: _, ...types } = document.types; // ethers derives it from the domain
const signature =
  library === "viem"
    ? await privateKeyToAccount(key).signTypedData(document)
    : await new Wallet(key).signTypedData(document.domain, types, document.message);
console.log(signature);
