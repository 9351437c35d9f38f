// What pages show of times, listings, figures and simulated steps, as the text of their elements.

import assert from "node:assert/strict";
import { test } from "node:test";

const shelf = { getItem: () => null, setItem() {}, removeItem() {} };
Object.assign(globalThis, {
  window: new EventTarget(),
  localStorage: shelf,
  sessionStorage: shelf,
  location: { hash: "", hostname: "127.0.0.1", host: "127.0.0.1" },
  document: { hidden: false, getElementById: () => null, documentElement: { dataset: {} } },
  addEventListener() {},
});
const interval = globalThis.setInterval;
globalThis.setInterval = (...all) => interval(...all).unref();
const { clock } = await import("../../../api/web/app/format.js");
const { blocks } = await import("../../../api/web/app/markdown.js");
const { figure } = await import("../../../api/web/app/market.js");
const { StepList } = await import("../../../api/web/pages/record.js");
const { listingName } = await import("../../../api/web/pages/work_parts.js");

/** Every element below, components called. */
function elements(node) {
  if (Array.isArray(node)) return node.flatMap(elements);
  if (node === null || typeof node !== "object") return [node];
  if (typeof node.type === "function") return elements(node.type(node.props));
  return [node, ...elements(node.props.children)];
}

function textOf(node) {
  const texts = elements(node).filter((one) => typeof one === "string" || typeof one === "number");
  return texts.join(" ");
}

test("a time keeps its UTC on one line", () => {
  assert.equal(clock("2026-12-31T01:14:46Z"), "2026-12-31 01:14:46\u00a0UTC");
});

test("a time in a cell of a note is an element that does not wrap, and any other text is as it was", () => {
  const rows = ["| Seen | Says |", "|---|---|", "| 2026-12-01T01:17:03Z | on 2026-12-01T01:17:03Z |"];
  const shown = blocks(rows.join("\n"), () => "");
  const times = elements(shown).filter((one) => one?.type === "time");
  assert.deepEqual(
    times.map((one) => one.props.datetime),
    ["2026-12-01T01:17:03Z"],
  );
  assert.ok(textOf(shown).includes("on 2026-12-01T01:17:03Z"));
});

test("a listing has a name, and an id of another form stays", () => {
  assert.equal(listingName("binance_btc_usdt"), "BTC/USDT at binance");
  assert.equal(listingName("dex_a_b_c"), "dex_a_b_c");
});

test("a figure below zero has the sign that percentages have", () => {
  assert.equal(figure(-5), "−5");
  assert.equal(figure(1234.5, 6), "1,234.5");
});

test("a simulated step never says that it is on the chain", () => {
  const step = {
    ...{ id: 1, kind: "action", code: "action_executed", at: "2026-11-20T10:00:00Z", why: null },
    ...{ note: null, amount_usdc: null, status: "done", breached: [], params: {} },
    ...{ reported_by: "chain", confirmed_on_chain: true, tx_hash: null },
  };
  assert.match(textOf(StepList({ steps: [step] })), /on chain/);
  const simulated = textOf(StepList({ steps: [step], isSimulated: true }));
  assert.match(simulated, /simulated/);
  assert.doesNotMatch(simulated, /on chain/);
});
