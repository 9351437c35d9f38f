// The week in figures that balance to the last micro-USDC, to read and to file.

import { get } from "../app/api.js";
import { Bridge } from "../app/chart.js";
import { amountText, clock, cut, signOf, units } from "../app/format.js";
import { saveFile } from "../app/long_work.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Table } from "../app/table.js";
import { Amount, Badge, Empty, html, PageHead, Unknown } from "../app/ui.js";

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
  const listed = useResource((stop) => get("/mandate-wallet/mandates", { limit: 100 }, stop), []);
  const names = new Map((listed.data?.mandates ?? []).map((one) => [one.public_id, one.purpose]));
  const name = `statement-${mandate ?? "all"}-${week || "this-week"}`;
  // bytes: an answer that is read as text loses the mark by which Excel knows UTF-8
  const save = (/** @type {"csv" | "pdf"} */ format) =>
    saveFile(`${name}.${format}`, `the statement as ${format.toUpperCase()}`, path, {
      ...{ week, format },
      bom: format === "csv" ? 1 : null,
    });
  return html`<${PageHead} title="Statements" lead=${mandate ? cut(names.get(mandate) ?? `Mandate ${mandate}`, 100) : "All your mandates"}>
      <button type="button" onClick=${() => save("csv")}>CSV</button><button type="button" onClick=${() => save("pdf")}>PDF</button><//>
    <form class="row with-fields" onSubmit=${(
      /** @type {SubmitEvent & {currentTarget: HTMLFormElement}} */ event,
    ) => {
      event.preventDefault();
      setQuery({ week: String(new FormData(event.currentTarget).get("week")).trim() });
    }}>
      <div class="field narrow"><label for="week">Week</label><input id="week" name="week" value=${week} placeholder="this week" /></div><button>Show</button>
      ${mandate ? html`<button type="button" class="plain" onClick=${() => setQuery({ mandate: null })}>All mandates</button>` : null}</form>
    <${Read} of=${found} what="the statement">${(
      /** @type {AllStatements | Statement} */ data,
    ) => html`
      <p class="quiet">${data.period.week}: ${clock(data.period.start)} to ${clock(data.period.end)}${data.period.is_complete ? "" : ", not over yet"}. As of ${clock(data.period.as_of)}.</p>
      ${mandate ? html`<${One} data=${data} />` : html`<${All} data=${data} names=${names} />`}
      ${data.disclosures.length ? html`<section class="card" aria-labelledby="notes"><h2 id="notes">Please note</h2><ul>${data.disclosures.map((one) => html`<li>${one.text}</li>`)}</ul></section>` : null}`}<//>`;
}

/** @param {{data: Statement}} props */
function One({ data }) {
  const { largest_move: move, busiest_day: busiest } = data.allowed_vs_used;
  return html`<div class="two"><section class="card" aria-labelledby="flows"><h2 id="flows">Flows</h2><${Flows} data=${data} /></section>
    <section class="card" aria-labelledby="used"><h2 id="used">Allowed and used</h2><dl class="pairs"><dt>Largest action</dt><dd><${Amount} value=${move.used} why="There was none." /> of <${Amount} value=${move.allowed} /></dd><dt>Busiest 24 hours</dt><dd><${Amount} value=${busiest.used} why="There was none." /> of <${Amount} value=${busiest.allowed} /></dd>
      <dt>Refused on chain</dt><dd>${data.breaches.reverts.count ?? html`<${Unknown} />`}</dd><dt>Refused reports</dt><dd>${data.breaches.refusals.count ?? html`<${Unknown} />`}</dd><dt>Violations</dt><dd>${data.breaches.violations.count ?? html`<${Unknown} />`}</dd></dl></section></div>`;
}

/** What moves the cash of a week, in the order of the chart, and which way. */
const MOVES = /** @type {const} */ ([
  ["deposits", "Paid in", 1],
  ["spent", "Spent", -1],
  ["received", "Received", 1],
  ["withdrawals", "Withdrawn", -1],
  ["agent_fee", "Agent's fee", -1],
  ["unexplained", "Unexplained", 1],
]);

/** What the week made, whether it was realized or is an estimate; null: one of them is unknown. @param {Statement | WeekTotals} data */
function resultOf({ result: { realized, estimated } }) {
  const [sure, perhaps] = [units(realized), units(estimated)];
  return sure === null || perhaps === null ? null : amountText(sure + perhaps);
}

/** @param {{data: Statement | WeekTotals}} props the week in a sentence, and cash from its start to its end */
function Flows({ data }) {
  const total = resultOf(data);
  return html`<div class="stack"><p class="headline">${
    total === null
      ? html`What the week made is <${Unknown} why=${data.data_issue_reason ?? "The worth of the vaults was not known at both of its ends."} />.`
      : signOf(total) === 0
        ? "The week made neither gain nor loss."
        : html`The week ${signOf(total) > 0 ? "made" : "lost"} <strong><${Amount} value=${total} signed /></strong>.`
  } <span class="quiet">Realized <${Amount} value=${data.result.realized} signed />; the rest, <${Amount} value=${data.result.estimated} signed />, is an estimate of what is still out.</span></p>
    <p>Worth went from <${Amount} value=${data.worth.start} why="The record does not reach back that far." /> to <${Amount} value=${data.worth.end} />.</p>
    <${Cash} data=${data} /></div>`;
}

/** @param {{data: Statement | WeekTotals}} props */
function Cash({ data: { cash, flows } }) {
  const start = units(cash.start);
  let sum = start ?? 0n;
  const moved = MOVES.flatMap(([key, name, sign]) => {
    const value = units(flows[key]);
    if (value === 0n) return [];
    const from = sum;
    sum += value === null ? 0n : value * BigInt(sign);
    const signed = value === null ? null : amountText(sum - from);
    const doubt = key === "unexplained" ? html` <${Badge} tone="loss">look here<//>` : null;
    return [
      {
        name,
        from: drawn(from),
        to: drawn(sum),
        text: html`<${Amount} value=${signed} moved unit=${false} />${doubt}`,
      },
    ];
  });
  const end = (/** @type {string | null} */ value, /** @type {string} */ why) => ({
    from: 0,
    to: drawn(units(value) ?? 0n),
    text: html`<${Amount} value=${value} why=${why} unit=${false} />`,
  });
  return html`<${Bridge} label="Cash of the vaults over the week, in USDC" rows=${[
    { name: "Cash at the start", ...end(cash.start, "The record does not reach back that far.") },
    ...moved,
    { name: "Cash at the end", ...end(cash.end, "Facts of the chain are missing.") },
  ]} /><p class="quiet">In USDC. Spent is what went into positions, tools and fees; received is what came back. ${units(flows.unexplained) === 0n ? "Nothing is unexplained: start, moves and end balance to the last micro-USDC." : ""}</p>`;
}

/** @param {bigint} value for drawing alone */
function drawn(value) {
  return Number(value) / 1e6;
}

/** @param {{data: AllStatements, names: ReadonlyMap<string, string>}} props `names`: of the newest mandates */
function All({ data, names }) {
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
      isName: true,
      text: (row) => row.mandate_id,
      sortBy: (row) => names.get(row.mandate_id) ?? row.mandate_id,
      show: (row) =>
        html`<a href=${`${link("statements")}?mandate=${row.mandate_id}`}>${cut(names.get(row.mandate_id) ?? row.mandate_id, 80)}</a>${row.market_mode === "paper" ? html`<div class="quiet">paper</div>` : null}`,
    },
    {
      key: "purpose",
      label: "Purpose",
      isBeside: true,
      text: (row) => names.get(row.mandate_id) ?? null,
    },
    amount("cash_start", "Cash at start", (row) => row.cash.start),
    amount("deposits", "Deposits", (row) => row.flows.deposits),
    amount("spent", "Spent", (row) => row.flows.spent),
    amount("received", "Received", (row) => row.flows.received),
    amount("withdrawals", "Withdrawals", (row) => row.flows.withdrawals),
    amount("cash_end", "Cash at end", (row) => row.cash.end),
    amount("unexplained", "Unexplained", (row) => row.flows.unexplained),
    amount("result", "Result", resultOf, true),
  ];
  return html`${Object.entries(data.totals).map(([mode, total]) => html`<section class="card" aria-label=${`Totals, ${mode}`}><h2>${mode === "paper" ? "Paper" : "Vaults"}, together</h2><${Flows} data=${total} /></section>`)}
    <${Table} name="statement" label="mandates of the week, in USDC" columns=${columns} rows=${data.mandates} keyOf=${(/** @type {Statement} */ row) => row.mandate_id} />`;
}
