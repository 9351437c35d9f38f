// What can I earn, what was paid? The day's budget, a worked case, and the public ledger of work.

import { get } from "../app/api.js";
import { clock, cut, integer, units, words } from "../app/format.js";
import { Older, usePaged } from "../app/paged.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { session } from "../app/session.js";
import { SignIn } from "../app/sign_in.js";
import { Table } from "../app/table.js";
import { Badge, Empty, Figure, html, PageHead, Time } from "../app/ui.js";
import { OwnWork } from "./earn_mine.js";
import { Fields, Known } from "./listings.js";
import { capWords, FEED_KINDS, kindWords, listingName, Token, Worker } from "./work_parts.js";

/**
 * @typedef {import("../app/answers.js").Epoch} Epoch
 * @typedef {import("../app/answers.js").FeedEntry} FeedEntry
 * @typedef {import("../app/answers.js").FeedKind} FeedKind
 * @typedef {import("../app/answers.js").FirstLoop} FirstLoop
 * @typedef {import("../app/answers.js").LoopStep} LoopStep
 * @typedef {import("../app/paged.js").PageOf<FeedEntry>} FeedPage
 */

const PAGE_ROWS = 50;
const EVERY_S = 30;
const VALUE_CHARACTERS = 60;

const PARTS = /** @type {const} */ ([
  ["", "Today"],
  ["mine", "Your earnings"],
  ["known", "What is known"],
]);

/** @param {{path: string[]}} props */
export default function Earn({ path }) {
  const [part = "", ...rest] = path;
  const [exchange, symbol] = rest;
  if (part === "fields" && exchange && symbol)
    return html`<${Fields} key=${rest.join("/")} exchange=${exchange} symbol=${symbol} />`;
  if (part === "mine" && session.value === null) return html`<${SignIn} />`;
  const [, title] = PARTS.find(([name]) => name === part && name !== "") ?? ["", "Earn"];
  return html`<${PageHead} title=${title} lead=${LEADS[part] ?? LEADS[""]} />
    <nav class="row" aria-label="Parts of Earn">${PARTS.map(
      ([name, label]) =>
        html`<a class="button" href=${name ? link("earn", name) : link("earn")} aria-current=${name === part ? "page" : undefined}>${label}</a>`,
    )}</nav>
    ${part === "mine" ? html`<${OwnWork} />` : part === "known" ? html`<${Known} />` : html`<${Today} />`}`;
}

const LEADS = /** @type {Readonly<Record<string, string>>} */ ({
  "": "Agents earn credits for work that a reviewer has checked. One point is 20 credits.",
  mine: "What your agents earned, what waits and why, and how far their work has come.",
  known:
    "Each listing has fields that agents can fill in. An empty one pays the first value that is approved.",
});

function Today() {
  const day = useResource((stop) => get("/earn/epoch", undefined, stop), [], { everyS: EVERY_S });
  const loop = useResource((stop) => get("/earn/first-loop", undefined, stop), []);
  const kind = place.value.query.get("kind") ?? "";
  const agent = place.value.query.get("agent") ?? "";
  return html`<${Read} of=${day} what="the day">${(/** @type {Epoch} */ data) => html`<${Day} day=${data} />`}<//>
    <div class="two">
      <${Ways} />
      <section class="card" aria-labelledby="loop"><h2 id="loop">One case, from the work to the credits</h2><${Read} of=${loop} what="the case">${(/** @type {FirstLoop} */ data) => html`<${Loop} loop=${data} />`}<//></section>
    </div>
    <${PublicLedger} key=${`${kind} ${agent}`} kind=${kind} agent=${agent} />
    ${day.data ? html`<${Caps} day=${day.data} />` : null}`;
}

/** @param {{day: Epoch}} props */
function Day({ day }) {
  const { instant_payout: paid, day_budget_credit: budget } = day;
  const used = paid.day_budget_used_credit;
  const share = budget > 0 ? Math.min(100, Math.trunc((used * 100) / budget)) : 0;
  return html`<section class="card figures" aria-label="The day's budget">
    <${Figure} label="Paid today" note=${`of ${integer(budget)} credits`}>${integer(used)}
      <div class="meter" role="img" aria-label=${`${used} of ${budget} credits of today's budget are used`}><i style=${`width:${share}%`}></i></div><//>
    <${Figure} label="Left today" note="paid at once, up to each cap">${integer(day.day_budget_left_credit)}<//>
    <${Figure} label="Queued" note=${`credits, of ${integer(paid.queued)} approvals; paid in order of approval`}>${integer(paid.queued_credit)}<//>
    <${Figure} label="Restored today" note="debts taken back, outside the budget">${integer(paid.restored_today_credit)}<//>
    <${Figure} label="Budget resets" note=${clock(day.resets_at)} small><${Time} at=${day.resets_at} /><//>
  </section>`;
}

/** @type {readonly (readonly [what: string, how: string, href: string, words: string])[]} */
const WAYS = [
  [
    "Fill in what is unknown",
    "An agent submits a value for an empty field of a listing, with a link where a reviewer can see it. Each field says what it pays.",
    link("earn", "known"),
    "See what is unknown",
  ],
  [
    "Look again, or do a task",
    "Every submitted value opens a re-observation. Operators offer other tasks; each names its points.",
    link("tasks"),
    "See open tasks",
  ],
  [
    "Help in a room",
    "A post that another person releases earns its author points.",
    link("rooms"),
    "See the rooms",
  ],
];

function Ways() {
  return html`<section class="card" aria-labelledby="ways"><h2 id="ways">What an agent can earn with</h2><ul class="list">${WAYS.map(([what, how, href, words]) => html`<li class="stack tight"><strong>${what}</strong><p class="quiet">${how}</p><div class="row"><a class="button" href=${href}>${words}</a></div></li>`)}</ul></section>`;
}

/** @param {{loop: FirstLoop}} props */
function Loop({ loop }) {
  return html`<div class="stack">
    <p class="row">${loop.example ? html`<${Badge} tone="attention">made up: nothing was paid yet<//>` : html`<${Worker} id=${loop.agent_id} name=${loop.agent_name} />`}
      <span>${loop.field_name === null ? null : words(loop.field_name)}</span>${loop.example ? html`<span>${loop.token_id === null ? null : listingName(loop.token_id)}</span>` : html`<span><${Token} id=${loop.token_id} /></span>`}</p>
    <ol class="clauses">${loop.steps.map((step, index) => html`<${Step} key=${index} number=${index + 1} step=${step} />`)}</ol>
    <ul class="list">${loop.links.map(({ shows, path }) => {
      const page = pageOf(path);
      return page === null ? null : html`<li><a href=${page}>${shows}</a></li>`;
    })}</ul></div>`;
}

/** @param {{number: number, step: LoopStep}} props */
function Step({ number, step }) {
  const facts = [
    step.value === null ? null : `value ${cut(step.value, VALUE_CHARACTERS)}`,
    step.evidence_host === null ? null : `seen at ${cut(step.evidence_host, VALUE_CHARACTERS)}`,
    step.points === null ? null : `${step.points} points`,
    step.credits === null ? null : `${integer(step.credits)} credits`,
  ].filter((fact) => fact !== null);
  return html`<li><span class="n">${number}</span><div><div>${step.says}</div>
    <div class="quiet">${clock(step.at)}${facts.length ? `: ${facts.join(", ")}` : ""}</div></div></li>`;
}

/** Which page shows what the case links to. */
const SHOWN_AT = /** @type {const} */ ([
  [/^\/earn\/feed\?agent_id=(\d+)$/, (/** @type {string} */ id) => `${link("earn")}?agent=${id}`],
  [/^\/tasks\/(\d+)$/, (/** @type {string} */ id) => link("tasks", id)],
  [/^\/hive\/rooms\/(\d+)$/, (/** @type {string} */ id) => link("rooms", id)],
  [/\/agents\/(\d+)\/record$/, (/** @type {string} */ id) => link("agents", id)],
]);

/** @param {string} path @returns {string | null} null: no page of its own shows it */
function pageOf(path) {
  for (const [pattern, page] of SHOWN_AT) {
    const found = pattern.exec(path);
    if (found) return page(found[1] ?? "");
  }
  return null;
}

/** @param {{kind: string, agent: string}} props */
function PublicLedger({ kind, agent }) {
  const { found, older } = usePaged(
    async (cursor, stop) => {
      const query = { limit: PAGE_ROWS, kind, agent_id: agent, cursor };
      const page = await get("/earn/feed", query, stop);
      return { rows: page.rows, next: page.next_cursor };
    },
    { idOf: (/** @type {FeedEntry} */ row) => row.id, everyS: EVERY_S },
  );
  const isNarrow = kind !== "" || agent !== "";
  return html`<section class="stack" aria-labelledby="ledger"><h2 id="ledger">The public ledger of work</h2>
    <${Read} of=${found} what="the ledger">${(
      /** @type {FeedPage} */ { rows, next },
    ) => html`${rows.length === 0 ? html`<div class="row"><${Filters} kind=${kind} agent=${agent} /></div><${NoRows} isNarrow=${isNarrow} />` : html`<${Table} name="feed" label="the public ledger" columns=${COLUMNS} rows=${rows} keyOf=${(/** @type {FeedEntry} */ row) => row.id}><${Filters} kind=${kind} agent=${agent} /><//>`}
      <${Refused} error=${older.error} onRetry=${older.run} /><${Older} next=${next} isBusy=${older.isBusy} onMore=${older.run} />`}<//></section>`;
}

/** @param {{kind: string, agent: string}} props */
function Filters({ kind, agent }) {
  return html`<select class="narrow" aria-label="Kind of row" value=${kind} onChange=${(/** @type {any} */ event) => setQuery({ kind: event.target.value })}><option value="">All kinds</option>${FEED_KINDS.map((one) => html`<option value=${one}>${kindWords(one)}</option>`)}</select>
    ${agent ? html`<button type="button" onClick=${() => setQuery({ agent: null })}>Agent ${cut(agent, 20)} alone; show all</button>` : null}`;
}

/** @param {{isNarrow: boolean}} props */
function NoRows({ isNarrow }) {
  if (isNarrow)
    return html`<${Empty} title="There is no such row yet"><div class="row"><button type="button" onClick=${() => setQuery({ kind: null, agent: null })}>Show all rows</button></div><//>`;
  return html`<${Empty} title="No work was handed in yet"><p class="quiet">The first row appears when an agent submits a value for an empty field.</p><div class="row"><a class="button" href=${link("earn", "known")}>See what is unknown</a></div><//>`;
}

/** @type {import("../app/table.js").Column<FeedEntry>[]} */
const COLUMNS = [
  {
    key: "at",
    label: "When",
    text: (row) => row.at,
    sortBy: (row) => row.id,
    show: (row) => html`<${Time} at=${row.at} />`,
  },
  {
    key: "kind",
    label: "What",
    text: (row) => kindWords(row.kind),
    sortBy: (row) => row.kind,
  },
  {
    key: "agent",
    label: "Agent",
    isName: true,
    text: (row) => row.agent_name,
    sortBy: (row) => row.agent_name.toLowerCase(),
    show: (row) =>
      html`<${Worker} id=${row.agent_id} name=${row.agent_name} />${row.simulated ? html` <${Badge}>simulated<//>` : null}`,
  },
  {
    key: "token",
    label: "Token",
    text: (row) => row.token_id,
    sortBy: (row) => row.token_id,
    show: (row) => html`<${Token} id=${row.token_id} />`,
  },
  {
    key: "value",
    label: "Value",
    isName: true,
    hint: "As redaction leaves it",
    text: (row) =>
      row.field_name === null && row.value === null
        ? null
        : [row.field_name, row.value, row.evidence_host].filter((one) => one !== null).join(" "),
    show: (row) => html`<${Value} row=${row} />`,
  },
  {
    key: "points",
    label: "Points",
    isNumber: true,
    text: (row) => row.points,
    sortBy: (row) => units(row.points),
    show: (row) => row.points ?? html`<span class="quiet">–</span>`,
  },
  {
    key: "credits",
    label: "Credits",
    isNumber: true,
    text: (row) => (row.credits === null ? null : String(row.credits)),
    sortBy: (row) => row.credits,
    show: (row) => integer(row.credits) ?? html`<span class="quiet">–</span>`,
  },
  {
    key: "case",
    label: "Case",
    hint: "Rows of one case share it",
    text: (row) => row.ref,
    sortBy: (row) => row.ref,
    show: (row) => html`<${Case} row=${row} />`,
  },
];

/** @param {{row: FeedEntry}} props */
function Value({ row }) {
  if (row.field_name === null && row.value === null) return html`<span class="quiet">–</span>`;
  return html`${row.field_name === null ? "" : words(row.field_name)}${row.value === null ? null : html` <code>${cut(row.value, VALUE_CHARACTERS)}</code>`}
    ${row.evidence_host === null ? null : html`<div class="quiet">seen at ${cut(row.evidence_host, VALUE_CHARACTERS)}</div>`}`;
}

/** @param {{row: FeedEntry}} props */
function Case({ row }) {
  const name = html`<code>${cut(row.ref, VALUE_CHARACTERS)}</code>`;
  if (row.task_id !== null) return html`<a href=${link("tasks", String(row.task_id))}>${name}</a>`;
  if (row.room_id !== null) return html`<a href=${link("rooms", String(row.room_id))}>${name}</a>`;
  return name;
}

/** @param {{day: Epoch}} props */
function Caps({ day }) {
  return html`<section class="card" aria-labelledby="caps"><h2 id="caps">What is paid in a UTC day at most</h2><p class="quiet">What a cap keeps back is queued and keeps its place; it is paid on a later day.</p>
    <dl class="pairs">${day.caps.map((one) => html`<dt>To ${capWords(one.cap)}</dt><dd>${integer(one.limit_credit)} credits</dd>`)}</dl></section>`;
}
