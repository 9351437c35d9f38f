// Is this true? What was reported beside what is proven, and what this browser can check.

import { pagesAgain } from "../app/api.js";
import { clock, cut, shortHash, units, words } from "../app/format.js";
import { saveFile } from "../app/long_work.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { place, setQuery } from "../app/router.js";
import { explorer } from "../app/session.js";
import { Table } from "../app/table.js";
import { Amount, Badge, html, Time, useRef, useState } from "../app/ui.js";
import { CheckRecord } from "./check_record.js";
import { REASONS } from "./what_if.js";

/**
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").RecordStep} RecordStep
 * @typedef {{rows: RecordStep[], isWhole: boolean}} Listed
 */

const MOST_STEPS = 20_000;

/** @param {{id: string, mandate: MandateView}} props */
export default function Record({ id, mandate }) {
  const kind = place.value.query.get("record.kind") ?? "";
  const [progress, setProgress] = useState(0);
  const held = useRef(/** @type {Listed | null} */ (null));
  const found = useResource(
    async (stop) => {
      const path = /** @type {const} */ (`/mandate-wallet/mandates/${id}/steps`);
      const options = { query: { limit: 200 }, most: MOST_STEPS, stop, onPage: setProgress };
      held.current = await pagesAgain(held.current, path, "steps", options);
      return held.current;
    },
    [id],
    { again: [mandate] },
  );
  return html`<${CheckRecord} id=${id} mandate=${mandate} />
    ${found.data === null && found.isLoading && progress > 0 ? html`<p class="quiet" role="status">${progress} steps read …</p>` : null}
    <${Read} of=${found} what="the record">${(/** @type {Listed} */ list) => html`<${Steps} id=${id} rows=${list.rows} isWhole=${list.isWhole} kind=${kind} />`}<//>`;
}

/** @param {{id: string, rows: RecordStep[], isWhole: boolean, kind: string}} props */
function Steps({ id, rows, isWhole, kind }) {
  const kinds = [...new Set(rows.map((row) => row.kind))].sort();
  const shown = kind ? rows.filter((row) => row.kind === kind) : rows;
  const save = () =>
    saveFile(`${id}.ndjson`, "the record file", `/mandate-wallet/mandates/${id}/record`);
  return html`<section class="stack" aria-label="The record">
    <${Table} name="record" label="the record's steps" columns=${COLUMNS} rows=${shown} keyOf=${(/** @type {RecordStep} */ row) => row.id}>
      <select aria-label="Kind of step" value=${kind} onChange=${(/** @type {any} */ event) => setQuery({ "record.kind": event.target.value })}><option value="">All kinds</option>${kinds.map((one) => html`<option value=${one}>${one}</option>`)}</select>
      <button type="button" onClick=${save}>Record file</button><//>
    ${isWhole ? null : html`<p class="quiet">These are the newest ${rows.length} steps. The record file has all.</p>`}</section>`;
}

/** @type {import("../app/table.js").Column<RecordStep>[]} */
const COLUMNS = [
  {
    key: "at",
    label: "When",
    text: (row) => row.at,
    sortBy: (row) => row.at,
    show: (row) => html`<time datetime=${row.at}>${clock(row.at)}</time>`,
  },
  {
    key: "what",
    label: "What",
    isName: true,
    text: (row) => sentence(row),
    sortBy: (row) => row.code,
    show: (row) => html`<${What} step=${row} />`,
  },
  {
    key: "amount_usdc",
    label: "Amount",
    isNumber: true,
    text: (row) => row.amount_usdc,
    sortBy: (row) => units(row.amount_usdc),
    show: (row) =>
      row.amount_usdc === null
        ? html`<span class="quiet">–</span>`
        : html`<${Amount} value=${row.amount_usdc} unit=${false} />`,
  },
  {
    key: "reported_by",
    label: "Whose word",
    text: (row) => row.reported_by,
    sortBy: (row) => row.reported_by,
    show: (row) => html`<${Proof} step=${row} />`,
  },
  {
    key: "status",
    label: "Status",
    text: (row) => row.status,
    sortBy: (row) => row.status,
    show: (row) => (row.breached.length > 0 ? html`<${Breach} step=${row} />` : words(row.status)),
  },
  {
    key: "tx_hash",
    label: "Transaction",
    text: (row) => row.tx_hash,
    show: (row) => html`<${Tx} hash=${row.tx_hash} />`,
  },
];

const WHAT = /** @type {Readonly<Record<string, string>>} */ ({
  control_vaultcreated: "vault created",
  control_agentset: "agent set",
  control_agentremoved: "agent removed",
  control_termscancelled: "terms cancelled",
  control_stoprequested: "stop requested by the agent",
  control_stopped: "stopped",
  action_executed: "action in the vault",
  outcome_payout: "settled",
  outcome_mark: "valued",
  outcome_proceeds: "proceeds received",
  consent_pending: "above your threshold",
  consent_recorded: "above your threshold",
});

/** What a step is, in words. @param {RecordStep} step */
export function whatOf(step) {
  return WHAT[step.code] ?? words(step.code.replace(new RegExp(`^${step.kind}_`), ""));
}

/** @param {RecordStep} step */
function sentence(step) {
  const what = whatOf(step);
  if (step.why) return `${what}: ${step.why}`;
  if (!step.note) return what;
  const note = step.note.replace(/\b[A-Z]\w+[A-Z]\w+/g, (name) => REASONS[name] ?? name);
  return note.toLowerCase().includes(what) ? note : `${what}: ${note}`;
}

const MOST_SHOWN = 160; // characters of an agent's reason

/** @param {{step: RecordStep}} props what it is, cut; the CSV and the record file have the whole text */
function What({ step }) {
  const whole = sentence(step);
  const shown = cut(whole, MOST_SHOWN);
  return shown === whole ? shown : html`<span title=${whole}>${shown}</span>`;
}

/** @param {{step: RecordStep}} props a report against the terms, and the clauses that it breaks */
function Breach({ step }) {
  const { breached } = step;
  return html`<${Badge} tone="loss">against ${breached.length === 1 ? "clause" : "clauses"} ${breached.join(", ")}<//>`;
}

const CONTRADICTED = /** @type {Readonly<Record<string, string>>} */ ({
  tx_reverted: "false: reverted on chain",
  tx_not_reverted: "false: passed on chain",
  other_target: "false: another target on chain",
  other_amount: "false: another amount on chain",
});

/** How the chain contradicts a report; null when it does not. @param {RecordStep} step */
function contradiction({ status, params }) {
  const codes = status === "flagged" && Array.isArray(params.codes) ? params.codes : [];
  return CONTRADICTED[codes.length === 1 ? String(codes[0]) : ""] ?? null;
}

/** @param {{step: RecordStep, isSimulated?: boolean}} props what the chain shows, and what only somebody says, never in one look */
function Proof({ step, isSimulated = false }) {
  if (isSimulated) return html`<${Badge}>simulated<//>`;
  const contradicted = contradiction(step);
  if (contradicted) return html`<${Badge} tone="loss">${contradicted}<//>`;
  if (step.confirmed_on_chain) return html`<${Badge} tone="settled">on chain<//>`;
  return html`<${Badge}>${step.reported_by} says<//>`;
}

/** @param {{hash: string | null}} props */
function Tx({ hash }) {
  if (!hash) return html`<span class="quiet">–</span>`;
  const href = explorer("tx", hash);
  return href
    ? html`<a href=${href} rel="noreferrer"><code>${shortHash(hash)}</code></a>`
    : html`<code title=${hash}>${shortHash(hash)}</code>`;
}

/** @param {{steps: readonly RecordStep[], isSimulated?: boolean}} props */
export function StepList({ steps, isSimulated = false }) {
  if (steps.length === 0) return html`<p class="quiet">Nothing has happened yet.</p>`;
  return html`<ul class="list">${steps.map(
    (
      step,
    ) => html`<li key=${step.id} class="step"><span class="words"><${What} step=${step} /></span><span class="row">
      ${step.breached.length > 0 ? html`<${Breach} step=${step} />` : null}${step.amount_usdc === null ? null : html`<${Amount} value=${step.amount_usdc} />`}<${Proof} step=${step} isSimulated=${isSimulated} /><span class="quiet"><${Time} at=${step.at} /></span></span></li>`,
  )}</ul>`;
}
