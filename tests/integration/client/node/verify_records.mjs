// Checks records with the modules of the console, as a page does: every question goes through one
// EIP-1193 function. Reads {rpc_url, factory, records: [{name, base64, refused, options}]}, writes what
// verifyRecord answers by name, with the names of differences.
import { readFileSync } from "node:fs";
import { verifyRecord } from "../../../../api/web/verify/verify.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
let id = 0;

function wallet(refused = []) {
  return async ({ method, params = [] }) => {
    if (refused.includes(method) && params[1] !== "latest") {
      throw { code: -32000, message: "missing trie node" };
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params });
    const headers = { "content-type": "application/json" };
    const answer = await (await fetch(asked.rpc_url, { method: "POST", headers, body })).json();
    if (answer.error) throw answer.error;
    return answer.result;
  };
}

const found = {};
for (const { name, base64, refused, options = {} } of asked.records) {
  const one = await verifyRecord(Buffer.from(base64, "base64"), {
    request: wallet(refused),
    factories: [asked.factory],
    ...options,
  });
  found[name] = { ...one, names: [...new Set(one.findings.map((each) => each.name))].sort() };
}
process.stdout.write(JSON.stringify(found));
