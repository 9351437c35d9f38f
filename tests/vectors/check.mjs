// Computes every golden vector with ethers, a JavaScript wallet library, and prints what differs; exit code 1 when anything does.
import { readFileSync } from "node:fs";
import { TypedDataEncoder, verifyTypedData } from "ethers";

const vectors = JSON.parse(readFileSync(new URL("mandate_terms.json", import.meta.url), "utf8"));
const faults = [];

function check(name, document, signature, digest) {
  const { EIP712Domain, ...types } = document.types;
  const found = TypedDataEncoder.hash(document.domain, types, document.message);
  if (digest !== undefined && found !== digest) faults.push(`${name}: digest ${found}, the vector says ${digest}`);
  const signer = verifyTypedData(document.domain, types, document.message, signature);
  if (signer !== vectors.signer) faults.push(`${name}: signed by ${signer}, the vector says ${vectors.signer}`);
}

for (const one of vectors.terms) check(one.name, one.typed_data, one.signature, one.digest);
check("funding", vectors.funding.typed_data, vectors.funding.signature);

console.log(faults.length ? faults.join("\n") : `${vectors.terms.length + 1} vectors agree`);
process.exit(faults.length ? 1 : 0);
