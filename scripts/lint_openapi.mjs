// docs/openapi.json under Redocly's and Spectral's recommended rules: `node scripts/lint_openapi.mjs`. Any finding ends with 1.
import { readFileSync } from "node:fs";
import { createConfig, lint } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";

const DOCUMENT = new URL("../docs/openapi.json", import.meta.url);
// The door answers 402 to everybody: that is its purpose, and there is no success to declare.
const DOOR = /mandate-wallet(\/|~1)door/;
const ABOUT_THE_DOOR = ["operation-2xx-response", "operation-success-response"];
// An object in an example that has the words "type" and "default" is taken for a schema; what examples say is held to the real schemas by tests.
const IN_AN_EXAMPLE = /\/example\/.*\/default$/;
const SEVERITIES = ["error", "warning", "information", "hint"];

async function byRedocly() {
  const config = await createConfig({ extends: ["recommended"] });
  const found = await lint({ ref: DOCUMENT.pathname, config });
  return found.map((one) => ({ by: "Redocly", rule: one.ruleId, severity: one.severity, where: one.location[0]?.pointer ?? "", says: one.message }));
}

async function bySpectral() {
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [[rulesets.oas, "recommended"]] });
  const found = await linter.run(JSON.parse(readFileSync(DOCUMENT, "utf8")));
  return found.map((one) => ({ by: "Spectral", rule: one.code, severity: SEVERITIES[one.severity], where: one.path.join("/"), says: one.message }));
}

const found = [...(await byRedocly()), ...(await bySpectral())];
const isKnown = (one) => (ABOUT_THE_DOOR.includes(one.rule) && DOOR.test(one.where)) || (one.rule === "oas3-valid-schema-example" && IN_AN_EXAMPLE.test(one.where));
const standing = found.filter((one) => !isKnown(one));
for (const one of standing) console.error(`${one.by} ${one.severity} ${one.rule} at ${one.where}: ${one.says}`);
console.log(`docs/openapi.json: ${standing.length} findings of Redocly and Spectral`);
process.exit(standing.length === 0 ? 0 : 1);
