// Is my money safe, and what needs me?

import { get, pages } from "../app/api.js";
import { isAway } from "../app/away.js";
import { amountText, counted, cut, shortened, thousandths, units, words } from "../app/format.js";
import { useOwnerEvents } from "../app/live.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Table } from "../app/table.js";
import { changed } from "../app/transaction_card.js";
import {
  Amount,
  Badge,
  Empty,
  Figure,
  html,
  PageHead,
  Status,
  Time,
  Unknown,
  useRef,
} from "../app/ui.js";
import Mandate from "./mandate.js";
import { whatOf } from "./record.js";

/**
 * @typedef {import("../app/answers.js").AlertView} AlertView
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * @typedef {Map<string, WholeMandate | null>} Details
 * @typedef {{key: string, what: string, text: string, href: string, button: string, tone?: string}} Need
 * @typedef {{rows: MandateView[], isWhole: boolean, details: Details, alerts: AlertView[]}} Found
 */

const LIVE = ["signed", "working", "stopped"];
const MOST_READ = 24; // mandates whose figures the list reads one by one
const AT_ONCE = 6;

/** @param {{path: string[]}} props */
export default function Mandates({ path }) {
  return path[0]
    ? html`<${Mandate} key=${path[0]} id=${path[0]} part=${path[1] ?? ""} />`
    : html`<${List} />`;
}

function List() {
  const news = useOwnerEvents();
  const read = useReader(news);
  const found = useResource(read, [], { again: [changed.value, news.value] });
  return html`<${PageHead} title="Mandates" lead="What your agents may do with your money, and what they did.">
      <a class="button primary" href=${link("new")}>New mandate</a><//>
    <${Read} of=${found} what="your mandates">${(/** @type {Found} */ data) => html`<${Whole} ...${data} />`}<//>`;
}

/**
 * Reads all at first; after news the mandates that they are of alone, since an owner may have thousands.
 * @param {import("../vendor/signals.js").Signal<import("../app/live.js").News>} news
 * @returns {(stop: AbortSignal) => Promise<Found>}
 */
function useReader(news) {
  const held = useRef(/** @type {Found | null} */ (null));
  const heard = useRef(news.value);
  const unread = useRef(/** @type {Set<string>} */ (new Set()));
  return async (stop) => {
    if (heard.current !== news.value) for (const id of news.value.ids) unread.current.add(id);
    heard.current = news.value;
    const ids = [...unread.current];
    const known = new Set(held.current?.rows.map((row) => row.public_id));
    const isPart = ids.length > 0 && ids.length <= MOST_READ && ids.every((id) => known.has(id));
    held.current =
      held.current && isPart ? await readAgain(held.current, ids, stop) : await readAll(stop);
    for (const id of ids) unread.current.delete(id);
    return held.current;
  };
}

/** @param {Found} before @param {readonly string[]} ids @param {AbortSignal} stop @returns {Promise<Found>} */
async function readAgain(before, ids, stop) {
  const [read, alerts] = await Promise.all([detailsOf(ids, stop), newestAlerts(stop)]);
  const details = new Map([...before.details, ...read]);
  const rows = before.rows.map((row) => read.get(row.public_id)?.mandate ?? row);
  return { ...before, rows, details, alerts };
}

/** @param {AbortSignal} stop @returns {Promise<Found>} */
async function readAll(stop) {
  const [{ rows, isWhole }, alerts] = await Promise.all([
    pages("/mandate-wallet/mandates", "mandates", { query: { limit: 100 }, most: 2_000, stop }),
    newestAlerts(stop),
  ]);
  const live = rows.filter((one) => LIVE.includes(one.status)).slice(0, MOST_READ);
  const ids = live.map((one) => one.public_id);
  return { rows, isWhole, alerts, details: await detailsOf(ids, stop) };
}

/** @param {AbortSignal} stop */
async function newestAlerts(stop) {
  return (await get("/mandate-wallet/me/alerts", { limit: 20 }, stop)).alerts;
}

/** @param {readonly string[]} ids @param {AbortSignal} stop @returns {Promise<Details>} null: not read now */
async function detailsOf(ids, stop) {
  /** @type {Details} */
  const found = new Map();
  const waiting = [...ids];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      found.set(id, await get(`/mandate-wallet/mandates/${id}`, {}, stop).catch(() => null));
      stop.throwIfAborted();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** @param {Found} props */
function Whole({ rows, isWhole, details, alerts }) {
  if (rows.length === 0) {
    return html`<${Empty} title="You have no mandate yet">
      <p class="quiet">A mandate gives an agent a budget instead of a key. Choose an agent by its record, write the terms, sign them in your wallet.</p>
      <div class="row"><a class="button primary" href=${link("agents")}>Find an agent</a><a class="button" href=${link("new")}>Draft a mandate</a></div><//>`;
  }
  const needs = needsOf(rows, details, alerts);
  return html`<${Totals} rows=${rows} details=${details} />
    ${
      needs.length > 0
        ? html`<section class="card" aria-labelledby="needs"><h2 id="needs">Needs you</h2><ul class="list">${needs.map(
            (one) =>
              html`<li class="row" key=${one.key}><${Badge} tone=${one.tone ?? "attention"}>${one.what}<//><span class="grow">${one.text}</span><a class="button" href=${one.href}>${one.button}</a></li>`,
          )}</ul></section>`
        : html`<p class="quiet">● Nothing needs you now.</p>`
    }
    <${Table} name="mandates" label="your mandates" columns=${columns(details)} rows=${rows} keyOf=${(/** @type {MandateView} */ row) => row.public_id} sort="-created" />
    ${isWhole ? null : html`<p class="quiet">These are the newest ${rows.length}; older ones are not listed here.</p>`}`;
}

/** @param {{rows: MandateView[], details: Details}} props */
function Totals({ rows, details }) {
  const live = rows.filter(
    (row) => row.market_mode === "testnet" && ["working", "stopped"].includes(row.status),
  );
  const sum = (/** @type {(detail: WholeMandate) => string | null} */ of) => {
    let total = 0n;
    for (const row of live) {
      const detail = details.get(row.public_id);
      const value = detail ? units(of(detail)) : null;
      if (value === null) return null;
      total += value;
    }
    return amountText(total);
  };
  const why = "It is not known for every mandate now; open them one by one.";
  const atCost = sum((one) => one.progress.at_cost);
  const working = rows.filter((row) => row.status === "working").length;
  return html`<section class="card figures" aria-label="Totals of vaults">
    <${Figure} label="Worth in vaults" note="estimate"><${Amount} value=${sum((one) => one.progress.worth_est)} why=${why} /><//>
    <${Figure} label="At work" note=${(units(atCost) ?? 0n) > 0n ? html`in open positions, <${Amount} value=${atCost} unit=${false} /> of it at cost` : "in open positions"}><${Amount} value=${sum((one) => one.progress.positions_est)} why=${why} /><//>
    <${Figure} label="Idle" note="USDC that the vaults hold"><${Amount} value=${sum((one) => one.progress.cash)} why=${why} /><//>
    <${Figure} label="Working" note=${`of ${counted(rows.length, "mandate")}`}>${working}<//>
  </section>`;
}

/**
 * What waits for the owner: alerts first, then mandate by mandate.
 * @param {readonly MandateView[]} rows @param {Details} details @param {readonly AlertView[]} alerts
 */
function needsOf(rows, details, alerts) {
  const news = alerts.filter((one) => one.withdrawn_at === null && !isAway(one.id));
  const [first] = news;
  /** @type {Need[]} */
  const read = first
    ? [
        {
          key: "alerts",
          what: counted(news.length, "alert"),
          text: cut(shortened(first.message ?? words(first.event)), 120),
          href: link("alerts"),
          button: news.length === 1 ? "Read it" : "Read them",
        },
      ]
    : [];
  const asked = rows.flatMap((row) => {
    const detail = details.get(row.public_id) ?? null;
    return [stepOf(row, detail), approvalsOf(row, detail), doubtOf(row)];
  });
  return [...read, ...asked.filter((one) => one !== null)];
}

/**
 * The owner's next step of a mandate, if it waits for one.
 * @param {MandateView} row @param {WholeMandate | null} detail @returns {Need | null}
 */
function stepOf(row, detail) {
  const name = cut(row.purpose, 120);
  const found = { key: row.public_id, href: link("mandates", row.public_id) };
  if (row.status === "draft" && row.proposed_by_agent_id) {
    const text = `An agent proposes: ${name}`;
    return { ...found, what: "proposal", text, button: "Review the proposal" };
  }
  if (row.status === "signed" && row.market_mode === "testnet") {
    const text = `Signed, and without a vault: ${name}`;
    return { ...found, what: "not funded", text, button: "Create the vault" };
  }
  if (row.status === "stopped" && detail?.lock.withdrawable) {
    const text = `Stopped with money in its vault: ${name}`;
    return { ...found, what: "stopped", tone: "loss", text, button: "Close and withdraw" };
  }
  if (detail?.progress.next_event?.code === "settle_grace_ends") {
    const text = `The agent's fee is settled first: ${name}`;
    return { ...found, what: "grace ending", text, button: "Open" };
  }
  return null;
}

/** @param {MandateView} row @param {WholeMandate | null} detail @returns {Need | null} */
function approvalsOf({ public_id: id, purpose }, detail) {
  const isAsked = (/** @type {WholeMandate["steps"][number]} */ step) =>
    step.kind === "consent" && step.status === "pending";
  const count = detail?.steps.filter(isAsked).length ?? 0;
  if (count === 0) return null;
  const what = "above your threshold";
  const text = `${counted(count, "action")} to look at: ${cut(purpose, 120)}`;
  const href = link("mandates", id, "approvals");
  return { key: `${id} approvals`, what, text, href, button: "See the actions" };
}

/** @param {MandateView} row @returns {Need | null} */
function doubtOf({ public_id: id, data_issue: isDoubted, data_issue_reason: reason }) {
  if (!isDoubted) return null;
  const text = reason ?? "Some figures of this mandate may be wrong.";
  return { key: `${id} data`, what: "data", text, href: link("mandates", id), button: "Open" };
}

/** @param {Details} details @returns {import("../app/table.js").Column<MandateView>[]} */
function columns(details) {
  const of = (/** @type {MandateView} */ row) => details.get(row.public_id);
  const isLive = (/** @type {MandateView} */ row) => LIVE.includes(row.status);
  const why = "This list reads the figures of the newest mandates; open this one.";
  const dash = html`<span class="quiet" title="A mandate that is not live has none.">–</span>`;
  return [
    {
      key: "purpose",
      label: "Mandate",
      isName: true,
      text: (row) => row.purpose,
      sortBy: (row) => row.purpose,
      show: (row) =>
        html`<a href=${link("mandates", row.public_id)}>${cut(row.purpose, 80)}</a><div class="quiet">${row.market_mode === "paper" ? "paper" : row.public_id}</div>`,
    },
    {
      key: "status",
      label: "Status",
      text: (row) => row.status,
      sortBy: (row) => row.status,
      show: (row) => html`<${Status} status=${row.status} paused=${row.paused} />`,
    },
    {
      key: "worth",
      label: "Worth against stop line, USDC",
      isNumber: true,
      text: (row) => of(row)?.progress?.worth_est ?? null,
      sortBy: (row) => units(of(row)?.progress?.worth_est),
      show: (row) =>
        isLive(row) ? html`<${Worth} row=${row} detail=${of(row)} why=${why} />` : dash,
    },
    {
      key: "left_today",
      label: "Left in 24 h, USDC",
      isNumber: true,
      text: (row) => of(row)?.limits.used.left_today.value ?? null,
      sortBy: (row) => units(of(row)?.limits.used.left_today.value),
      show: (row) =>
        isLive(row)
          ? html`<${Amount} value=${of(row)?.limits.used.left_today.value} why=${words(of(row)?.limits.used.left_today.basis) || why} unit=${false} />`
          : dash,
    },
    {
      key: "last_step",
      label: "Last step",
      text: (row) => of(row)?.steps[0]?.at ?? null,
      sortBy: (row) => of(row)?.steps[0]?.at ?? null,
      show: (row) => {
        const step = of(row)?.steps[0];
        return step
          ? html`${whatOf(step)}<div class="quiet"><${Time} at=${step.at} /></div>`
          : dash;
      },
    },
    {
      key: "created",
      label: "Created",
      text: (row) => row.created_at,
      sortBy: (row) => row.created_at,
      show: (row) => html`<${Time} at=${row.created_at} />`,
    },
  ];
}

/** @param {{row: MandateView, detail: WholeMandate | null | undefined, why: string}} props */
function Worth({ row, detail, why }) {
  const worth = detail?.progress?.worth_est;
  if (!worth) return html`<${Unknown} why=${why} />`;
  const most = (units(worth) ?? 0n) > (units(row.budget_usdc) ?? 0n) ? worth : row.budget_usdc;
  return html`<${Amount} value=${worth} unit=${false} />
    <div class="meter in-table" role="img" aria-label=${`worth ${worth}, stop line ${row.stop_floor_usdc}`}>
      <i style=${`width:${thousandths(worth, most) / 10}%`}></i><b style=${`left:${thousandths(row.stop_floor_usdc, most) / 10}%`}></b></div>`;
}
