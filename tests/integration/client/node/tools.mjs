// The official TypeScript client of MCP at the tool endpoint, which holds every result to the tool's declared answer.
// stdin {base_url}; writes what it saw as JSON.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { base_url: base } = JSON.parse(readFileSync(0, "utf8"));

async function connected(headers) {
  const client = new Client({ name: "tests", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp?profile=full`), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  return { client, tools };
}

const { client: nobody, tools } = await connected({});
const made = (await nobody.callTool({ name: "agent_connect", arguments: { agent_name: "typescript" } })).structuredContent;
const refused = await nobody.callTool({ name: "mandate_list", arguments: {} });
const { client: agent } = await connected({ "X-SVC-User-Key": made.api_key });
const byNumber = await agent.callTool({ name: "agent_policy_get", arguments: { id: made.user_id } });
const byText = await agent.callTool({ name: "agent_policy_get", arguments: { id: String(made.user_id) } });
// with figures and without: a listing that was graded, one that was not, one that nobody knows
const market = [
  ["search_tokens", { q: "LINK" }], ["search_tokens", { q: "nothing at all" }], ["get_stats", {}],
  ["get_warnings", { all: true }], ["get_warnings", { token: "DUST", limit: 1 }],
  ["get_price", { token_id: "binance_btc_usdt" }], ["get_price", { token_id: "bithumb_link_krw" }],
  ["get_price_stats", { token_id: "binance_btc_usdt", days: 90, series: true }],
  ["get_price_stats", { token_id: "mexc_dust_usdt" }],
  ["get_price", { token_id: "binance_nosuch_usdt" }], ["get_price_stats", { token_id: "binance_btc_usdt", days: 91 }],
];
const read = [];
for (const [name, given] of market) {
  const { isError, structuredContent } = await agent.callTool({ name, arguments: given });
  read.push([name, isError === true ? structuredContent.service.reason : Object.keys(structuredContent)[0]]);
}
const missing = await agent.callTool({ name: "mandate_get", arguments: { id: "m_aaaaaaaaaa" } });

console.log(
  JSON.stringify({
    untitled: tools.filter((tool) => !tool.title).map((tool) => tool.name),
    without_answer: tools.filter((tool) => tool.outputSchema?.type !== "object").map((tool) => tool.name),
    tools: tools.length,
    refused: [refused.isError, refused.structuredContent.service.reason],
    policies: [byNumber, byText].map((result) => result.structuredContent.agent_id),
    agent: String(made.user_id),
    market: read,
    missing: [missing.isError, missing.structuredContent.service.reason],
  }),
);
process.exit(0);
