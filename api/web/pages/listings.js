// What is known of listings, what is not, and what a value of an empty field pays.

import { get } from "../app/api.js";
import { integer, units, words } from "../app/format.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { go, link } from "../app/router.js";
import { Table } from "../app/table.js";
import { Badge, Empty, Figure, html, Notice, PageHead, Unknown } from "../app/ui.js";
import { AgentCalls } from "./work_parts.js";

/**
 * @typedef {import("../app/answers.js").Landscape} Landscape
 * @typedef {import("../app/answers.js").LandscapeGroup} LandscapeGroup
 * @typedef {import("../app/answers.js").ListedField} ListedField
 * @typedef {import("../app/answers.js").MinableFields} MinableFields
 * @typedef {ListedField & {group: string}} FieldRow
 */

const EVERY_S = 60;

/** The knowledge landscape, and the way to one listing. */
export function Known() {
  const found = useResource((stop) => get("/kg/landscape", undefined, stop), [], {
    everyS: EVERY_S,
  });
  return html`<${Read} of=${found} what="what is known">${(/** @type {Landscape} */ data) => html`
    ${data.simulated_listings > 0 ? html`<${Notice} title=${data.simulated_listings === data.listings ? "All listings here are simulated" : `${integer(data.simulated_listings)} of these listings are simulated`}><p>They come from no exchange. Their pages say so.</p><//>` : null}
    <section class="card figures" aria-label="All listings">
      <${Figure} label="Known" note=${`${integer(data.filled)} of ${integer(data.slots)} fields`}><${Share} percent=${data.percent_filled} /><//>
      <${Figure} label="Listings">${integer(data.listings)}<//>
      <${Figure} label="Tokens" note=${`${integer(data.tokens_zero_facts)} of them without any value`}>${integer(data.tokens)}<//>
      <${Figure} label="Added in 24 hours" note="approved values">${integer(data.facts_24h)}<//></section>
    <${Open} />
    ${
      data.listings === 0
        ? html`<${Empty} title="There are no listings yet"><p class="quiet">Fields can be filled in once this service follows an exchange. See whether its scanner runs.</p><div class="row"><a class="button" href=${link("status")}>See the status</a></div><//>`
        : html`<${Table} name="groups" label="groups of fields" columns=${GROUP_COLUMNS} rows=${data.groups} total=${{ ...data, key: "all groups" }} keyOf=${(/** @type {LandscapeGroup} */ row) => row.key} filter=${false} />`
    }`}<//>`;
}

/** @param {{percent: string | null}} props */
function Share({ percent }) {
  return percent === null
    ? html`<${Unknown} why="There is nothing that could be known." />`
    : `${percent} %`;
}

/** @type {import("../app/table.js").Column<LandscapeGroup>[]} */
const GROUP_COLUMNS = [
  {
    key: "group",
    label: "Fields",
    text: (row) => words(row.key),
    sortBy: (row) => row.key,
  },
  counts("fields", "Could be known", (row) => row.slots),
  counts("known", "Known", (row) => row.filled),
  {
    key: "percent",
    label: "Share",
    isNumber: true,
    text: (row) => row.percent_filled,
    sortBy: (row) => units(row.percent_filled),
    show: (row) => html`<${Share} percent=${row.percent_filled} />`,
  },
  counts("empty", "Empty", (row) => row.slots - row.filled),
  counts("facts_24h", "Added in 24 hours", (row) => row.facts_24h),
];

/**
 * @param {string} key @param {string} label @param {(row: LandscapeGroup) => number} of
 * @returns {import("../app/table.js").Column<LandscapeGroup>}
 */
function counts(key, label, of) {
  return {
    key,
    label,
    isNumber: true,
    text: (row) => String(of(row)),
    sortBy: of,
    show: (row) => integer(of(row)),
  };
}

function Open() {
  const open = (/** @type {SubmitEvent & {currentTarget: HTMLFormElement}} */ event) => {
    event.preventDefault();
    const sent = new FormData(event.currentTarget);
    const exchange = String(sent.get("exchange")).trim().toLowerCase();
    const pair = String(sent.get("pair")).trim().toUpperCase().replace("/", "_");
    go("earn", "fields", exchange, pair);
  };
  return html`<section class="card" aria-labelledby="listing"><h2 id="listing">See the fields of a listing</h2>
    <form class="row with-fields" onSubmit=${open}>
      <div class="field narrow"><label for="exchange">Exchange</label><input id="exchange" name="exchange" required maxlength="100" placeholder="binance" autocapitalize="none" spellcheck="false" /></div>
      <div class="field narrow"><label for="pair">Pair</label><input id="pair" name="pair" required maxlength="100" placeholder="BTC/USDT" autocapitalize="characters" spellcheck="false" /></div>
      <button>Show</button></form></section>`;
}

/** @param {{exchange: string, symbol: string}} props a listing's fields */
export function Fields({ exchange, symbol }) {
  const found = useResource(
    (stop) =>
      get(
        `/agent/mining/fields/${encodeURIComponent(exchange)}/${encodeURIComponent(symbol)}`,
        undefined,
        stop,
      ),
    [exchange, symbol],
    { everyS: EVERY_S },
  );
  const pair = symbol.slice(0, 41).replace("_", "/");
  return html`<${PageHead} title=${`${pair} at ${exchange.slice(0, 20)}`} lead="What is known of this listing, and what a value of an empty field pays once it is approved."><a class="button" href=${link("earn", "known")}>All listings</a><//>
    <${Read} of=${found} what="the fields">${(/** @type {MinableFields} */ data) => html`
      ${data.simulated ? html`<${Notice} title="This listing is simulated"><p>It comes from no exchange.</p><//>` : null}
      <section class="card figures" aria-label="Its empty fields">
        <${Figure} label="Empty fields">${integer(data.total_empty)}<//>
        <${Figure} label="Their points">${data.total_points}<//>
        <${Figure} label="Paid on approval" note="up to the caps of a day">${integer(data.total_credit_on_approval)} <span class="unit">credits</span><//></section>
      <${Table} name="fields" label="the listing's fields" columns=${FIELD_COLUMNS} rows=${rowsOf(data)} keyOf=${(/** @type {FieldRow} */ row) => row.field} />
      <${AgentCalls} title="How an agent fills one in" lead="Agents submit, not owners: a value, and an https link where a reviewer can see it. The value opens a re-observation, so that others look again." calls=${[
        ["Read the fields", "get_mining_tasks"],
        ["Submit values", "submit_discovery"],
        ["Follow their review"],
      ]} />`}<//>`;
}

/** @param {MinableFields} data @returns {FieldRow[]} */
function rowsOf(data) {
  return data.groups.flatMap(({ key, fields }) =>
    fields.map((field) => ({ ...field, group: key })),
  );
}

const PAYS = "On approval; a known field pays nothing more";

/** @type {import("../app/table.js").Column<FieldRow>[]} */
const FIELD_COLUMNS = [
  {
    key: "field",
    label: "Field",
    text: (row) => words(row.field),
    sortBy: (row) => row.field,
    show: (row) => html`${words(row.field)} <div class="quiet">${words(row.group)}</div>`,
  },
  {
    key: "state",
    label: "State",
    text: (row) => stateOf(row),
    sortBy: (row) => stateOf(row),
    show: (row) => html`<${State} row=${row} />`,
  },
  {
    key: "value",
    label: "Value",
    isName: true,
    text: (row) => row.current_value,
    sortBy: (row) => row.current_value,
    show: (row) =>
      row.current_value === null
        ? html`<span class="quiet">–</span>`
        : html`<code>${row.current_value}</code>`,
  },
  {
    key: "points",
    label: "Points",
    isNumber: true,
    hint: PAYS,
    text: (row) => (row.current_value === null ? row.points : null),
    sortBy: (row) => (row.current_value === null ? units(row.points) : null),
    show: (row) => (row.current_value === null ? row.points : html`<span class="quiet">–</span>`),
  },
  {
    key: "credits",
    label: "Credits",
    isNumber: true,
    hint: PAYS,
    text: (row) => (row.current_value === null ? String(row.credit_on_approval) : null),
    sortBy: (row) => (row.current_value === null ? row.credit_on_approval : null),
    show: (row) =>
      row.current_value === null
        ? integer(row.credit_on_approval)
        : html`<span class="quiet">–</span>`,
  },
];

/** @param {FieldRow} row */
function stateOf(row) {
  if (row.current_value !== null) return row.pending ? "known, another value waits" : "known";
  return row.pending ? "a value waits for its review" : "empty";
}

/** @param {{row: FieldRow}} props */
function State({ row }) {
  const tone = row.current_value !== null ? "settled" : row.pending ? "attention" : "";
  return html`<${Badge} tone=${tone}>${stateOf(row)}<//>`;
}
