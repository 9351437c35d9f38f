// Checks records with the modules of the console, as a page does: every question goes through one
// EIP-1193 function. Reads {rpc_url, factory, records: [{name, text, methods_refused}]}, writes
// {name: {verdict, names, unchecked, ...}}.
import { readFileSync } from "node:fs";
import { verifyRecord } from "../../../../api/web/verify/verify.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
let id = 0;

function wallet(refused = []) {
  return async ({ method, params = [] }) => {
    const isPast = ![params[1]].includes("latest");
    if (refused.includes(method) && isPast) throw { code: -32000, message: "missing trie node" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params });
    const headers = { "content-type": "application/json" };
    const answer = await (await fetch(asked.rpc_url, { method: "POST", headers, body })).json();
    if (answer.error) throw answer.error;
    return answer.result;
  };
}

const found = {};
for (const { name, text, base64, refused, options = {} } of asked.records) {
  const content = base64 === undefined ? text : Buffer.from(base64, "base64");
  const one = await verifyRecord(content, {
    request: wallet(refused),
    factories: [asked.factory],
    ...options,
  });
  found[name] = { ...one, names: [...new Set(one.findings.map((each) => each.name))].sort() };
}
process.stdout.write(JSON.stringify(found));
