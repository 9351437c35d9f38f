// Checks records as the console's page does, every question through one function.
// stdin {rpc_url, anchor, records: [{name, mandate, base64, looksUp}]}; writes what checkRecord answers by name.
import { readFileSync } from "node:fs";
import { checkRecord } from "../../../../api/web/app/record.js";

const { rpc_url: url, anchor, records } = JSON.parse(readFileSync(0, "utf8"));
let id = 0;

async function request(method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params });
  const headers = { "content-type": "application/json" };
  const answer = await (await fetch(url, { method: "POST", headers, body })).json();
  if (answer.error) throw answer.error;
  return answer.result;
}

const found = {};
for (const { name, mandate, base64, looksUp = true } of records) {
  found[name] = await checkRecord(Buffer.from(base64, "base64").toString(), {
    mandate,
    request: looksUp ? request : null,
    anchor: anchor ?? null,
  });
}
process.stdout.write(JSON.stringify(found));
