// The official TypeScript client of x402, which pays 402s by itself: a page of the shop, and the door, where nothing can be paid.
// stdin {base_url, payer_key, page, door}; writes what it saw as JSON.
import { readFileSync } from "node:fs";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const { base_url: base, payer_key: key, page, door } = JSON.parse(readFileSync(0, "utf8"));
const account = privateKeyToAccount(key);
let signed = 0;
const signer = { address: account.address, signTypedData: (document) => ((signed += 1), account.signTypedData(document)) };
const pays = wrapFetchWithPayment(fetch, new x402Client().register("eip155:84532", new ExactEvmScheme(signer)));

const bought = await pays(base + page);
const text = await bought.text();
const afterThePage = signed;
let left;
try {
  left = (await pays(base + door)).status;
} catch (error) {
  left = error.message;
}
const asked = await fetch(base + door);
console.log(
  JSON.stringify({
    page: [bought.status, text.slice(0, 1)],
    receipt: bought.headers.has("PAYMENT-RESPONSE"),
    signed: afterThePage,
    signed_at_the_door: signed - afterThePage,
    door: [asked.status, asked.headers.get("X-Payable")],
    left,
  }),
);
process.exit(0);
