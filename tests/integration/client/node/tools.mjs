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
const missing = await agent.callTool({ name: "mandate_get", arguments: { id: "m_aaaaaaaaaa" } });

console.log(
  JSON.stringify({
    untitled: tools.filter((tool) => !tool.title).map((tool) => tool.name),
    without_answer: tools.filter((tool) => tool.outputSchema?.type !== "object").map((tool) => tool.name),
    tools: tools.length,
    refused: [refused.isError, refused.structuredContent.service.reason],
    policies: [byNumber, byText].map((result) => result.structuredContent.agent_id),
    agent: String(made.user_id),
    missing: [missing.isError, missing.structuredContent.service.reason],
  }),
);
process.exit(0);
