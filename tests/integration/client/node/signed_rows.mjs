// The TypeScript package as it is built, with a wallet of viem: an agent reports, and its rows are signed.
// stdin {base_url, package, agent_key, wallet_key, mandate_id}; writes what it saw as JSON.
import { readFileSync } from "node:fs";
import { privateKeyToAccount } from "viem/accounts";

const { base_url: base, package: built, agent_key: key, wallet_key, mandate_id: id } = JSON.parse(readFileSync(0, "utf8"));
const { answer, createClient } = await import(built);
const signer = privateKeyToAccount(wallet_key);
const api = createClient(base, { key }, { signer });
const params = { path: { id } };
const EVENTS = "/mandate-wallet/mandates/{id}/events";

const note = (text) => answer(api.POST(EVENTS, { params, body: { kind: "note", payload: { text } } }));
const payload = { target: "0x" + "99".repeat(20), "\u20ac": [1, { b: null, a: true }], nested: { z: 1, y: "\t\u00e9" } };
const bought = await answer(
  api.POST(EVENTS, { params, body: { kind: "resolve", amount_usdc: "-2.5", tx_hash: `0x${"AB".repeat(32)}`, why: "lost", payload } }),
);
const refused = await answer(
  api.POST("/mandate-wallet/mandates/{id}/refusals", { params, body: { reason: "OverPerTxCap", amount_usdc: "500" } }),
);
const beside = createClient(base, { key }, { signer });
await answer(beside.POST(EVENTS, { params, body: { kind: "note", why: "Another proce\u0301ss." } }));
const after = await note("Signed again where the service says.");
const stopped = await answer(api.POST("/mandate-wallet/mandates/{id}/stop", { params }));
const unsigned = await createClient(base, { key }).POST(EVENTS, { params, body: { kind: "note" } });
const { events } = await answer(api.GET("/mandate-wallet/mandates/{id}/ledger", { params }));

console.log(
  JSON.stringify({
    signed_by: [bought, refused, after].map(({ event }) => event.signed_by),
    newest: [events[0].kind, events[0].payload, events[0].signed_by],
    signed: events.filter((event) => event.signed_by === signer.address).length,
    status: stopped.status,
    unsigned: unsigned.error.service.reason,
  }),
);
