// The week in figures that balance to the last micro-USDC, to read and to file.

import { blob, get } from "../app/api.js";
import { clock, sentenced, units, words } from "../app/format.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Table } from "../app/table.js";
import { Amount, Badge, download, Empty, html, PageHead, useState } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").AllStatements} AllStatements
 * @typedef {import("../app/answers.js").Statement} Statement
 * @typedef {import("../app/answers.js").WeekTotals} WeekTotals
 */

export default function Statements() {
  const mandate = place.value.query.get("mandate");
  const week = place.value.query.get("week") ?? "";
  const path = mandate
    ? `/mandate-wallet/mandates/${encodeURIComponent(mandate)}/statement`
    : "/mandate-wallet/me/statement";
  const found = useResource((stop) => get(path, { week }, stop), [path, week]);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const name = `statement-${mandate ?? "all"}-${week || "this-week"}`;
  // bytes: an answer that is read as text loses the mark by which Excel knows UTF-8
  const save = (/** @type {"csv" | "pdf"} */ format) =>
    blob(path, { week, format, bom: format === "csv" ? 1 : null })
      .then((content) => download(`${name}.${format}`, content, content.type))
      .catch(setError);
  return html`<${PageHead} title="Statements" lead=${mandate ? `Mandate ${mandate}` : "All your mandates"}>
      <button type="button" onClick=${() => save("csv")}>CSV</button><button type="button" onClick=${() => save("pdf")}>PDF</button><//>
    <form class="row with-fields" onSubmit=${(
      /** @type {SubmitEvent & {currentTarget: HTMLFormElement}} */ event,
    ) => {
      event.preventDefault();
      setQuery({ week: String(new FormData(event.currentTarget).get("week")).trim() });
    }}>
      <div class="field narrow"><label for="week">Week</label><input id="week" name="week" value=${week} placeholder="this week" /></div><button>Show</button>
      ${mandate ? html`<button type="button" class="plain" onClick=${() => setQuery({ mandate: null })}>All mandates</button>` : null}</form>
    <${Refused} error=${error} />
    <${Read} of=${found} what="the statement">${(
      /** @type {AllStatements | Statement} */ data,
    ) => html`
      <p class="quiet">${data.period.week}: ${clock(data.period.start)} to ${clock(data.period.end)}${data.period.is_complete ? "" : ", not over yet"}. As of ${clock(data.period.as_of)}.</p>
      ${mandate ? html`<${One} data=${data} />` : html`<${All} data=${data} />`}
      ${data.disclosures.length ? html`<section class="card" aria-labelledby="notes"><h2 id="notes">Read with it</h2><ul>${data.disclosures.map((one) => html`<li>${one.text}</li>`)}</ul></section>` : null}`}<//>`;
}

const FLOWS = /** @type {const} */ ([
  "deposits",
  "spent",
  "received",
  "withdrawals",
  "agent_fee",
  "net",
  "unexplained",
]);

/** @param {{data: Statement}} props */
function One({ data }) {
  const { largest_move: move, busiest_day: busiest } = data.allowed_vs_used;
  return html`<div class="two"><section class="card" aria-labelledby="flows"><h2 id="flows">Flows</h2><${Flows} data=${data} /></section>
    <section class="card" aria-labelledby="used"><h2 id="used">Allowed and used</h2><dl class="pairs"><dt>Largest action</dt><dd><${Amount} value=${move.used} why="There was none." /> of <${Amount} value=${move.allowed} /></dd><dt>Busiest 24 hours</dt><dd><${Amount} value=${busiest.used} why="There was none." /> of <${Amount} value=${busiest.allowed} /></dd>
      <dt>Refused on chain</dt><dd>${data.breaches.reverts.count ?? "unknown"}</dd><dt>Refused reports</dt><dd>${data.breaches.refusals.count ?? "unknown"}</dd><dt>Violations</dt><dd>${data.breaches.violations.count ?? "unknown"}</dd></dl></section></div>`;
}

/** @param {{data: Statement | WeekTotals}} props cash at the start, what moved, cash at the end */
function Flows({ data }) {
  return html`<dl class="pairs"><dt>Cash at the start</dt><dd><${Amount} value=${data.cash.start} why="The record does not reach back that far." /></dd>
    ${FLOWS.map((name) => html`<dt>${sentenced(words(name))}</dt><dd><${Amount} value=${data.flows[name]} />${name === "unexplained" && (units(data.flows[name]) ?? 0n) !== 0n ? html` <${Badge} tone="loss">look here<//>` : null}</dd>`)}
    <dt>Cash at the end</dt><dd><${Amount} value=${data.cash.end} /></dd><dt>Result, realized</dt><dd><${Amount} value=${data.result.realized} signed /></dd><dt>Result, estimated</dt><dd><${Amount} value=${data.result.estimated} signed /></dd></dl>`;
}

/** @param {{data: AllStatements}} props */
function All({ data }) {
  if (data.mandates.length === 0)
    return html`<${Empty} title="No mandate was live in this week"><p class="quiet">Choose another week, or draft a mandate.</p><div class="row"><a class="button" href=${link("new")}>Draft a mandate</a></div><//>`;
  const amount = (
    /** @type {string} */ key,
    /** @type {string} */ label,
    /** @type {(row: Statement) => string | null} */ of,
    signed = false,
  ) => ({
    key,
    label,
    isNumber: true,
    text: of,
    sortBy: (/** @type {Statement} */ row) => units(of(row)),
    show: (/** @type {Statement} */ row) =>
      html`<${Amount} value=${of(row)} signed=${signed} unit=${false} />`,
  });
  /** @type {import("../app/table.js").Column<Statement>[]} */
  const columns = [
    {
      key: "mandate",
      label: "Mandate",
      text: (row) => row.mandate_id,
      sortBy: (row) => row.mandate_id,
      show: (row) =>
        html`<a href=${`${link("statements")}?mandate=${row.mandate_id}`}><code>${row.mandate_id}</code></a>${row.market_mode === "paper" ? " paper" : ""}`,
    },
    amount("cash_start", "Cash at start", (row) => row.cash.start),
    amount("deposits", "Deposits", (row) => row.flows.deposits),
    amount("spent", "Spent", (row) => row.flows.spent),
    amount("received", "Received", (row) => row.flows.received),
    amount("withdrawals", "Withdrawals", (row) => row.flows.withdrawals),
    amount("cash_end", "Cash at end", (row) => row.cash.end),
    amount("unexplained", "Unexplained", (row) => row.flows.unexplained),
    amount("result", "Result", (row) => row.result.estimated, true),
  ];
  return html`${Object.entries(data.totals).map(([mode, total]) => html`<section class="card" aria-label=${`Totals, ${mode}`}><h2>${mode === "paper" ? "Paper" : "Vaults"}, together</h2><${Flows} data=${total} /></section>`)}
    <${Table} name="statement" label="mandates of the week" columns=${columns} rows=${data.mandates} keyOf=${(/** @type {Statement} */ row) => row.mandate_id} />`;
}
