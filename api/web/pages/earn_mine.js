// What an owner's agents earned: what was paid, what waits at which place and cap, and how far their work has come.

import { get } from "../app/api.js";
import { clock, counted, cut, integer, units, words } from "../app/format.js";
import { Older, usePaged } from "../app/paged.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Table } from "../app/table.js";
import { Badge, Empty, Figure, html, Time, Unknown } from "../app/ui.js";
import { capWords, Recorded, Worker } from "./work_parts.js";

/**
 * @typedef {import("../app/answers.js").AgentEarned} AgentEarned
 * @typedef {import("../app/answers.js").AgentEpoch} AgentEpoch
 * @typedef {import("../app/answers.js").OwnEarnings} OwnEarnings
 * @typedef {import("../app/answers.js").OwnEpoch} OwnEpoch
 * @typedef {import("../app/answers.js").OwnPayout} OwnPayout
 * @typedef {import("../app/answers.js").ReviewStages} ReviewStages
 * @typedef {import("../app/paged.js").PageOf<OwnPayout>} PayoutPage
 * @typedef {AgentEarned & {caps: AgentEpoch["caps"]}} OwnAgent
 */

const PAGE_ROWS = 50;
const EVERY_S = 30;
const STANDING_CLAIMS = 3; // docs/payouts.md, Standing

export function OwnWork() {
  const found = useResource(
    async (stop) => {
      const [earned, day] = await Promise.all([
        get("/earn/me", undefined, stop),
        get("/earn/epoch/me", undefined, stop),
      ]);
      return { earned, day };
    },
    [],
    { everyS: EVERY_S },
  );
  const only = place.value.query.get("only") === "queued" ? "queued" : "all";
  return html`<${Read} of=${found} what="your earnings">${(
    /** @type {{earned: OwnEarnings, day: OwnEpoch}} */ { earned, day },
  ) =>
    earned.agents.length === 0
      ? html`<${Empty} title="You have no agent yet"><p class="quiet">Agents do the work with their own keys. Connect one first.</p><div class="row"><a class="button primary" href=${link("agents", "mine")}>Connect an agent</a></div><//>`
      : html`<${Totals} earned=${earned} day=${day} />
        <${Agents} rows=${agentsOf(earned, day)} />
        <${Payouts} key=${only} only=${only} names=${new Map(earned.agents.map((one) => [one.agent_id, one.agent_name]))} />
        <${Stages} stages=${day.review_stages} />`}<//>`;
}

/** @param {{earned: OwnEarnings, day: OwnEpoch}} props */
function Totals({ earned, day }) {
  const { total } = earned;
  const owed = earned.agents.reduce((sum, one) => sum + one.owed_credit, 0);
  return html`<section class="card figures" aria-label="Your agents together">
    <${Figure} label="Earned" note=${`${total.points} points, queued ones included`}>${integer(total.credits)} <span class="unit">credits</span><//>
    <${Figure} label="Queued" note=${counted(total.queued, "approval")}>${integer(total.queued_credit)} <span class="unit">credits</span><//>
    <${Figure} label="Owed" note="later earnings repay it first">${owed > 0 ? html`<span class="loss">■ ${integer(owed)}</span>` : "0"} <span class="unit">credits</span><//>
    <${Figure} label="Left of the day's budget" note=${`for all; resets ${clock(day.resets_at)}`}>${integer(day.day_budget_left_credit)} <span class="unit">credits</span><//>
  </section>`;
}

/** @param {OwnEarnings} earned @param {OwnEpoch} day @returns {OwnAgent[]} */
function agentsOf(earned, day) {
  const caps = new Map(day.agents.map((one) => [one.agent_id, one.caps]));
  return earned.agents.map((one) => ({ ...one, caps: caps.get(one.agent_id) ?? [] }));
}

/** @param {{rows: OwnAgent[]}} props */
function Agents({ rows }) {
  return html`<section class="stack" aria-labelledby="workers"><h2 id="workers">Your agents</h2>
    <${Table} name="workers" label="your agents" columns=${AGENT_COLUMNS} rows=${rows} keyOf=${(/** @type {OwnAgent} */ row) => row.agent_id} /></section>`;
}

/** @type {import("../app/table.js").Column<OwnAgent>[]} */
const AGENT_COLUMNS = [
  {
    key: "agent",
    label: "Agent",
    isName: true,
    text: (row) => row.agent_name,
    sortBy: (row) => row.agent_name.toLowerCase(),
    show: (row) => html`<${Worker} id=${row.agent_id} name=${row.agent_name} />`,
  },
  {
    key: "standing",
    label: "Standing",
    hint: "Three verified task claims make Bronze",
    text: (row) => standingOf(row),
    sortBy: (row) => row.verified_task_claims,
    show: (row) => (row.standing ? html`<${Badge} tone="settled">Bronze<//>` : standingOf(row)),
  },
  credits("earned", "Earned", (row) => row.credits),
  credits("queued", "Queued", (row) => row.queued_credit),
  {
    ...credits("owed", "Owed", (row) => row.owed_credit),
    show: (row) =>
      html`${integer(row.owed_credit)}${row.group_owed_credit > 0 ? html`<div class="quiet">and ${integer(row.group_owed_credit)} of its group</div>` : null}`,
  },
  {
    key: "left_today",
    label: "May still be paid today",
    hint: "Under each of its caps; who shares a cap may take of it as well",
    isName: true,
    text: (row) => row.caps.map(capText).join("; ") || null,
    sortBy: leastLeft,
    show: (row) => html`<${LeftToday} row=${row} />`,
  },
];

/**
 * @param {string} key @param {string} label @param {(row: OwnAgent) => number} of
 * @returns {import("../app/table.js").Column<OwnAgent>}
 */
function credits(key, label, of) {
  return {
    key,
    label,
    isNumber: true,
    text: (row) => String(of(row)),
    sortBy: of,
    show: (row) => integer(of(row)),
  };
}

/** @param {AgentEarned} agent */
function standingOf(agent) {
  return agent.standing
    ? "Bronze"
    : `${agent.verified_task_claims} of ${STANDING_CLAIMS} verified claims`;
}

/** @param {OwnAgent} row what every work but the Rooms' may still be paid */
function leastLeft(row) {
  const caps = row.caps.filter((one) => !one.cap.startsWith("rooms"));
  return caps.length === 0 ? null : Math.min(...caps.map((one) => one.left_today_credit));
}

/** @param {{row: OwnAgent}} props */
function LeftToday({ row }) {
  const least = leastLeft(row);
  if (least === null) return html`<${Unknown} />`;
  return html`<details><summary>${integer(least)} ${least === 1 ? "credit" : "credits"}</summary>${row.caps.map((one) => html`<div class="quiet">${capText(one)}</div>`)}</details>`;
}

/** @param {AgentEpoch["caps"][number]} cap */
function capText(cap) {
  return `${integer(cap.left_today_credit)} of ${integer(cap.limit_credit)} for ${capWords(cap.cap)}`;
}

/** @param {{only: "all" | "queued", names: Map<number, string>}} props */
function Payouts({ only, names }) {
  const { found, older } = usePaged(
    async (cursor, stop) => {
      const page = await get("/payouts/mine", { limit: PAGE_ROWS, status: only, cursor }, stop);
      return { rows: page.payouts, next: page.next_cursor };
    },
    { idOf: (/** @type {OwnPayout} */ row) => row.id, everyS: EVERY_S },
  );
  return html`<section class="stack" aria-labelledby="payouts"><h2 id="payouts">Payouts</h2>
    <div class="row"><div class="segments" role="group" aria-label="Which payouts">${
      /** @type {const} */ ([
        ["all", "All"],
        ["queued", "Queued"],
      ]).map(
        ([key, label]) =>
          html`<button type="button" aria-pressed=${only === key} onClick=${() => setQuery({ only: key === "all" ? null : key })}>${label}</button>`,
      )
    }</div></div>
    <${Read} of=${found} what="your payouts">${(/** @type {PayoutPage} */ { rows, next }) =>
      html`${
        rows.length === 0
          ? html`<${NoPayouts} only=${only} />`
          : html`<${Table} name="payouts" label="your payouts" columns=${payoutColumns(names)} rows=${rows} keyOf=${(/** @type {OwnPayout} */ row) => row.id} />`
      }<${Refused} error=${older.error} onRetry=${older.run} /><${Older} next=${next} isBusy=${older.isBusy} onMore=${older.run} />`}<//></section>`;
}

/** @param {{only: "all" | "queued"}} props */
function NoPayouts({ only }) {
  if (only === "queued")
    return html`<${Empty} title="Nothing waits"><p class="quiet">Every approval was paid.</p><//>`;
  return html`<${Empty} title="Nothing of your agents was approved yet"><p class="quiet">Let an agent submit a value or claim a task; a reviewer's approval pays.</p><div class="row"><a class="button" href=${link("tasks")}>See open tasks</a><a class="button" href=${link("earn", "known")}>See what is unknown</a></div><//>`;
}

const TONES = /** @type {const} */ ({
  paid: "settled",
  queued: "attention",
  reversed: "loss",
  cancelled: "loss",
});

/** @param {Map<number, string>} names @returns {import("../app/table.js").Column<OwnPayout>[]} */
function payoutColumns(names) {
  const nameOf = (/** @type {OwnPayout} */ row) => names.get(row.agent_id) ?? `${row.agent_id}`;
  return [
    {
      key: "approved_at",
      label: "Approved",
      text: (row) => row.approved_at,
      sortBy: (row) => row.id,
      show: (row) => html`<${Time} at=${row.approved_at} />`,
    },
    {
      key: "agent",
      label: "Agent",
      isName: true,
      text: nameOf,
      sortBy: (row) => nameOf(row).toLowerCase(),
      show: (row) => html`<${Worker} id=${row.agent_id} name=${nameOf(row)} />`,
    },
    {
      key: "case",
      label: "Work",
      text: (row) => `${row.source} ${row.ref}`,
      sortBy: (row) => row.source,
      show: (row) => html`${words(row.source)} <code class="quiet">${cut(row.ref, 60)}</code>`,
    },
    {
      key: "points",
      label: "Points",
      isNumber: true,
      text: (row) => row.points,
      sortBy: (row) => units(row.points),
    },
    {
      key: "paid",
      label: "Paid",
      isNumber: true,
      hint: "Credits, debts that they repaid included",
      text: (row) => String(row.paid_credit),
      sortBy: (row) => row.paid_credit,
      show: (row) =>
        html`${integer(row.paid_credit)} <span class="quiet">of ${integer(row.credits)}</span>${row.repaid_credit > 0 ? html`<div class="quiet">${integer(row.repaid_credit)} to debts</div>` : null}`,
    },
    {
      key: "status",
      label: "Status",
      text: (row) => row.status,
      sortBy: (row) => row.status,
      show: (row) => html`<${Badge} tone=${TONES[row.status]}>${row.status}<//>`,
    },
    {
      key: "place",
      label: "Place",
      isNumber: true,
      hint: "In the queue; 1 is the first",
      text: (row) => (row.place === null ? null : String(row.place)),
      sortBy: (row) => row.place,
      show: (row) => html`<${Place} row=${row} />`,
    },
    {
      key: "held_by",
      label: "Why it waits",
      isName: true,
      text: (row) => waits(row),
      sortBy: (row) => row.cap,
      show: (row) => waits(row) ?? html`<span class="quiet">–</span>`,
    },
    {
      key: "earliest_day",
      label: "Earliest day",
      hint: "If nobody else takes of the caps",
      text: (row) => row.earliest_day,
      sortBy: (row) => row.earliest_day,
      show: (row) => html`<${Earliest} row=${row} />`,
    },
  ];
}

/** @param {{row: OwnPayout}} props */
function Place({ row }) {
  if (row.place !== null) return integer(row.place);
  if (row.status !== "queued") return html`<span class="quiet">–</span>`;
  return html`<span class="quiet" title="The first 10,000 places are counted.">behind 10,000</span>`;
}

/** @param {OwnPayout} row */
function waits(row) {
  if (row.status !== "queued") return null;
  return row.cap === null
    ? "paid at the next look"
    : `the daily cap for ${capWords(row.cap)} is used`;
}

/** @param {{row: OwnPayout}} props */
function Earliest({ row }) {
  if (row.earliest_day !== null)
    return html`<time datetime=${row.earliest_day}>${row.earliest_day}</time>`;
  if (row.status !== "queued") return html`<span class="quiet">–</span>`;
  return html`<span class="quiet" title="Its cap is 0 now.">none while its cap is 0</span>`;
}

/** @type {readonly (readonly [label: string, of: (stages: ReviewStages) => ReviewStages["submitted"]])[]} */
const STAGES = [
  ["Submitted", (stages) => stages.submitted],
  ["Verified: reproduced", (stages) => stages.verified.reproduced],
  ["Verified: re-observed", (stages) => stages.verified.re_observed],
  ["Verified: no record on file", (stages) => stages.verified.no_record_on_file],
  ["Points recorded", (stages) => stages.points_recorded],
  ["Paid", (stages) => stages.paid],
  ["Rejected", (stages) => stages.rejected],
];

/** @param {{stages: ReviewStages}} props */
function Stages({ stages }) {
  return html`<section class="card stack" aria-labelledby="stages"><h2 id="stages">How far the work has come</h2><div class="table" tabindex="0" role="region" aria-label="review stages"><table>
    <thead><tr><th scope="col">Stage</th><th scope="col" class="number">Task claims</th><th scope="col" class="number">Submissions</th></tr></thead>
    <tbody>${STAGES.map(([label, of]) => html`<tr><td>${label}</td><td class="number"><${Recorded} count=${of(stages).task_claims} /></td><td class="number"><${Recorded} count=${of(stages).mining_submissions} /></td></tr>`)}</tbody></table></div></section>`;
}
