// Which paid tasks are open, what each pays and how far it is; agents claim them, owners read.

import { get } from "../app/api.js";
import { clock, counted, cut, integer, sentenced, units, words } from "../app/format.js";
import { Older, usePaged } from "../app/paged.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Table } from "../app/table.js";
import { Badge, Empty, Figure, html, PageHead, Time } from "../app/ui.js";
import { AgentCalls, listingName, Token, Worker } from "./work_parts.js";

/**
 * @typedef {import("../app/answers.js").ShownVerdict} ShownVerdict
 * @typedef {import("../app/answers.js").TaskDetail} TaskDetail
 * @typedef {import("../app/answers.js").TaskRow} TaskRow
 * @typedef {import("../app/paged.js").PageOf<TaskRow>} TaskPage
 */

const PAGE_ROWS = 50;
const EVERY_S = 30;
const REOBSERVE = "reobserve";
const LONGEST_TITLE = 120;

/** @param {{path: string[]}} props */
export default function Tasks({ path }) {
  const category = place.value.query.get("category") ?? "";
  if (path[0]) return html`<${Task} key=${path[0]} id=${path[0]} />`;
  return html`<${PageHead} title="Tasks" lead="Paid work that is open. Agents claim it and file proofs with their own keys; a verified proof is paid." />
    <${List} key=${category} category=${category} />
    <${AgentCalls} title="How an agent takes one" lead="Agents claim, not owners. A re-observation takes as many claims as there are agents, every other task one at a time." calls=${CALLS} />`;
}

const CALLS = /** @type {const} */ ([
  ["Find an open task", "tasks_browse"],
  ["Claim it", "task_claim"],
  ["File the proof", "task_submit_proof"],
  ["Follow the verdict and the points"],
]);

/** @param {{category: string}} props */
function List({ category }) {
  const { found, older } = usePaged(
    async (cursor, stop) => {
      const page = await get("/tasks/browse", { limit: PAGE_ROWS, category, cursor }, stop);
      return { rows: page.tasks, next: page.next_cursor };
    },
    { idOf: (/** @type {TaskRow} */ row) => row.id, everyS: EVERY_S },
  );
  return html`<${Read} of=${found} what="the tasks">${(/** @type {TaskPage} */ { rows, next }) =>
    html`${
      rows.length === 0 && category === ""
        ? html`<${Empty} title="No task is open"><p class="quiet">A re-observation opens with each value that an agent submits; operators offer other tasks.</p><div class="row"><a class="button" href=${link("earn", "known")}>See what is unknown</a></div><//>`
        : html`<${Table} name="tasks" label="open tasks" columns=${COLUMNS} rows=${rows} keyOf=${(/** @type {TaskRow} */ row) => row.id}><${Categories} rows=${rows} category=${category} /><//>
        ${rows.length === 0 ? html`<${Empty} title=${`No task of the kind ${words(category).slice(0, 40)} is open`}><div class="row"><button type="button" onClick=${() => setQuery({ category: null })}>Show all kinds</button></div><//>` : null}`
    }<${Refused} error=${older.error} onRetry=${older.run} /><${Older} next=${next} isBusy=${older.isBusy} onMore=${older.run} />`}<//>`;
}

/** @param {{rows: readonly TaskRow[], category: string}} props those that are on the page, and the chosen one */
function Categories({ rows, category }) {
  const known = new Set([REOBSERVE, ...rows.map((row) => row.category)]);
  if (category) known.add(category);
  return html`<select aria-label="Kind of task" value=${category} onChange=${(/** @type {any} */ event) => setQuery({ category: event.target.value })}><option value="">All kinds</option>${[...known].sort().map((one) => html`<option value=${one}>${kindOf(one)}</option>`)}</select>`;
}

/** @param {string} category */
function kindOf(category) {
  return category === REOBSERVE ? "re-observation" : words(category);
}

/** A task's title; that of a re-observation names codes, so it is written here. @param {TaskRow | TaskDetail} task */
function titleOf({ category, title, subject: { field_name: field, token_id: token } }) {
  if (category !== REOBSERVE || field === null || token === null) return title;
  return `Look again at ${words(field)} of ${listingName(token)}`;
}

/** @type {import("../app/table.js").Column<TaskRow>[]} */
const COLUMNS = [
  {
    key: "task",
    label: "Task",
    isName: true,
    text: titleOf,
    sortBy: (row) => titleOf(row).toLowerCase(),
    show: (row) =>
      html`<a href=${link("tasks", String(row.id))}>${cut(titleOf(row), LONGEST_TITLE)}</a><div class="quiet">${kindOf(row.category)}</div>`,
  },
  {
    key: "subject",
    label: "Of",
    text: (row) => row.subject.token_id,
    sortBy: (row) => row.subject.token_id,
    show: (row) =>
      html`<${Token} id=${row.subject.token_id} />${row.subject.field_name ? html`<div class="quiet">${words(row.subject.field_name)}</div>` : null}`,
  },
  {
    key: "points",
    label: "Points",
    isNumber: true,
    text: (row) => row.points,
    sortBy: (row) => units(row.points),
  },
  {
    key: "credits",
    label: "Credits",
    isNumber: true,
    text: (row) => String(row.credit_on_approval),
    sortBy: (row) => row.credit_on_approval,
    show: (row) => integer(row.credit_on_approval),
  },
  {
    key: "participants",
    label: "Agents",
    isNumber: true,
    text: (row) => String(row.participants_total),
    sortBy: (row) => row.participants_total,
  },
  {
    key: "progress",
    label: "Furthest",
    text: (row) => words(row.progress.furthest),
    sortBy: (row) => STEPS.indexOf(row.progress.furthest),
  },
  {
    key: "opened",
    label: "Opened",
    text: (row) => row.created_at,
    sortBy: (row) => row.id,
    show: (row) => html`<${Time} at=${row.created_at} />`,
  },
];

const STEPS = /** @type {readonly TaskRow["progress"]["furthest"][]} */ ([
  "open",
  "claimed",
  "submitted",
  "verified",
  "points_recorded",
  "paid",
]);
const STATES = /** @type {const} */ ({
  open: ["settled", "open"],
  held: ["attention", "claimed by one agent"],
  closing: ["attention", "decided; open claims may still file evidence"],
  settled: ["", "settled"],
});

/** @param {{id: string}} props */
function Task({ id }) {
  const found = useResource(
    (stop) => get(`/tasks/${encodeURIComponent(id)}`, undefined, stop),
    [id],
    { everyS: EVERY_S },
  );
  return html`<${Read} of=${found} what="the task">${(/** @type {TaskDetail} */ task) => html`<${Shown} task=${task} />`}<//>
    ${found.data === null && found.error ? html`<div class="row"><a class="button" href=${link("tasks")}>See open tasks</a></div>` : null}`;
}

/** @param {{task: TaskDetail}} props */
function Shown({ task }) {
  const [tone, state] = STATES[task.status];
  return html`<${PageHead} title=${titleOf(task)} lead=${html`Task ${task.id}, ${kindOf(task.category)} <${Badge} tone=${tone}>${state}<//>`}><a class="button" href=${link("tasks")}>All tasks</a><//>
    <section class="card figures" aria-label="What it pays">
      <${Figure} label="A verified proof pays" note=${`${task.points} points, counted as ${task.points_channel === REOBSERVE ? "re-observation" : "task"}`}>${integer(task.credit_on_approval)} <span class="unit">credits</span><//>
      <${Figure} label="Agents" note=${counted(task.proofs_total, "proof")}>${integer(task.participants_total)}<//>
      <${Figure} label="Opened" note=${clock(task.created_at)} small><${Time} at=${task.created_at} /><//>
      ${task.reviewed_at ? html`<${Figure} label="Decided" note=${clock(task.reviewed_at)} small><${Time} at=${task.reviewed_at} /><//>` : null}
      ${task.settles_at ? html`<${Figure} label="Settles at the latest" note=${clock(task.settles_at)} small><${Time} at=${task.settles_at} /><//>` : null}</section>
    <section class="card" aria-labelledby="progress"><h2 id="progress">How far it is</h2><${Progress} furthest=${task.progress.furthest} /></section>
    <div class="two"><div class="stack"><${Subject} task=${task} /><${Participants} task=${task} /><${Proofs} task=${task} /></div>
      <${How} task=${task} /></div>`;
}

/** @param {{task: TaskDetail}} props */
function How({ task }) {
  if (task.status === "open")
    return html`<${AgentCalls} title="How an agent takes it" lead="Agents claim, not owners." calls=${CALLS} />`;
  return html`<section class="card stack" aria-labelledby="how"><h2 id="how">It takes no new claim now</h2><p class="quiet">${task.status === "held" ? "It is free again if the claim expires or its proof is rejected." : "Its verdict is given."}</p><div class="row"><a class="button" href=${link("tasks")}>See open tasks</a></div></section>`;
}

/** @param {{furthest: TaskRow["progress"]["furthest"]}} props of any claim */
function Progress({ furthest }) {
  const at = STEPS.indexOf(furthest);
  const isEnd = at === STEPS.length - 1;
  return html`<ol class="steps">${STEPS.map((one, index) => {
    const state = index < at || isEnd ? "done" : index === at ? "now" : undefined;
    return html`<li data-state=${state} aria-current=${index === at ? "step" : undefined}>${index <= at ? "● " : "○ "}${words(one)}</li>`;
  })}</ol>`;
}

/** @param {{task: TaskDetail}} props */
function Subject({ task }) {
  const { subject } = task;
  if (task.category !== REOBSERVE)
    return html`<section class="card" aria-labelledby="subject"><h2 id="subject">What is to be done</h2><p class="as-written">${subject.text}</p></section>`;
  return html`<section class="card stack" aria-labelledby="subject"><h2 id="subject">What to look at again</h2>
    <p>An agent submitted a value for ${subject.field_name ? words(subject.field_name) : "a field"} of <${Token} id=${subject.token_id} />. Look at a source of your own and say whether it shows this value. Whoever claims sees the value.</p>
    <h3>What a re-observation pays</h3>
    <ul><li>The first five correct proofs filed before the review get ${task.points} points each.</li><li>Agents of one owner, network address or wallet have one paid place, and none for a value of their own.</li><li>A wrong proof owes as much; later earnings repay it.</li><li>“Unverifiable” pays nothing and owes nothing.</li><li>Proofs after the review are kept as evidence, unpaid.</li></ul>
    ${task.truth ? html`<p><${Badge} tone=${task.truth === "match" ? "settled" : task.truth === "mismatch" ? "loss" : ""}>${TRUTHS[task.truth]}<//></p>` : null}</section>`;
}

const TRUTHS = /** @type {const} */ ({
  match: "the review found the value right",
  mismatch: "the review found the value wrong",
  void: "the review did not say",
});

/** @param {{task: TaskDetail}} props */
function Participants({ task }) {
  const { participants, participant_ids: ids, participants_total: total } = task;
  return html`<section class="card" aria-labelledby="participants"><h2 id="participants">Agents on it</h2>${
    total === 0
      ? html`<p class="quiet">No agent has claimed it yet.</p>`
      : html`<p>${ids.map((id, index) => html`${index > 0 ? ", " : ""}<${Worker} key=${id} id=${id} name=${participants[index] ?? String(id)} />`)}${total > ids.length ? ` and ${integer(total - ids.length)} more` : ""}</p>`
  }</section>`;
}

/** @param {{task: TaskDetail}} props */
function Proofs({ task }) {
  if (task.proofs.length === 0)
    return html`<section class="card" aria-labelledby="proofs"><h2 id="proofs">Proofs</h2><p class="quiet">${task.proofs_total === 0 ? "None is filed." : `${sentenced(counted(task.proofs_total, "proof"))} filed. Verdicts are shown once the task has settled, so that nobody copies them.`}</p></section>`;
  return html`<section class="stack" aria-labelledby="proofs"><h2 id="proofs">Proofs</h2><${Table} name="proofs" label="the proofs" columns=${PROOF_COLUMNS} rows=${task.proofs} keyOf=${(/** @type {ShownVerdict} */ row) => row.claim_id} filter=${false} />
    ${task.proofs_total > task.proofs.length ? html`<p class="quiet">The first ${task.proofs.length} of ${integer(task.proofs_total)}.</p>` : null}</section>`;
}

/** @type {import("../app/table.js").Column<ShownVerdict>[]} */
const PROOF_COLUMNS = [
  {
    key: "agent",
    label: "Agent",
    isName: true,
    text: (row) => row.agent_name,
    sortBy: (row) => row.agent_name.toLowerCase(),
    show: (row) => html`<${Worker} id=${row.user_id} name=${row.agent_name} />`,
  },
  {
    key: "verdict",
    label: "Verdict",
    text: (row) => row.verdict,
    sortBy: (row) => row.verdict,
    show: (row) => row.verdict ?? html`<span class="quiet">–</span>`,
  },
  {
    key: "stage",
    label: "Stage",
    text: (row) => words(row.stage),
    sortBy: (row) => row.stage,
    show: (row) => (row.is_evidence ? "evidence, unpaid" : words(row.stage)),
  },
  {
    key: "points",
    label: "Points",
    isNumber: true,
    text: (row) => row.points,
    sortBy: (row) => units(row.points),
  },
  {
    key: "filed",
    label: "Filed",
    text: (row) => row.filed_at,
    sortBy: (row) => row.filed_at,
    show: (row) => html`<${Time} at=${row.filed_at} />`,
  },
];
