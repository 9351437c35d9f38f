// Is my money safe, and what needs me?

import { get, pages } from "../app/api.js";
import { amountText, counted, cut, thousandths, units, words } from "../app/format.js";
import { useOwnerEvents } from "../app/live.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Table } from "../app/table.js";
import { changed } from "../app/transaction_card.js";
import { Amount, Badge, Empty, Figure, html, PageHead, Status, Time, Unknown } from "../app/ui.js";
import Mandate from "./mandate.js";
import { whatOf } from "./record.js";

/**
 * @typedef {import("../app/answers.js").AlertView} AlertView
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * @typedef {Map<string, WholeMandate | null>} Details
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
  const heard = useOwnerEvents();
  const found = useResource(read, [], { again: [changed.value, heard.value] });
  return html`<${PageHead} title="Mandates" lead="What your agents may do with your money, and what they did.">
      <a class="button primary" href=${link("new")}>New mandate</a><//>
    <${Read} of=${found} what="your mandates">${(/** @type {Found} */ data) => html`<${Whole} ...${data} />`}<//>`;
}

/** @param {AbortSignal} stop */
async function read(stop) {
  const [list, alerts] = await Promise.all([
    pages("/mandate-wallet/mandates", "mandates", { query: { limit: 100 }, most: 2_000, stop }),
    get("/mandate-wallet/me/alerts", { limit: 20 }, stop),
  ]);
  const live = list.rows.filter((one) => LIVE.includes(one.status));
  /** @type {Details} */
  const details = new Map();
  const waiting = live.slice(0, MOST_READ);
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const { public_id: id } = one;
      details.set(
        id,
        await get(`/mandate-wallet/mandates/${id}`, undefined, stop).catch(() => null),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { rows: list.rows, isWhole: list.isWhole, details, alerts: alerts.alerts };
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
  const working = rows.filter((row) => row.status === "working").length;
  return html`<section class="card figures" aria-label="Totals of vaults">
    <${Figure} label="Worth in vaults" note="estimate"><${Amount} value=${sum((one) => one.progress.worth_est)} why=${why} /><//>
    <${Figure} label="At work" note="in open positions"><${Amount} value=${sum((one) => one.progress.positions_est)} why=${why} /><//>
    <${Figure} label="Idle" note="USDC that the vaults hold"><${Amount} value=${sum((one) => one.progress.cash)} why=${why} /><//>
    <${Figure} label="Working" note=${`of ${counted(rows.length, "mandate")}`}>${working}<//>
  </section>`;
}

/**
 * What waits for the owner, the most pressing first.
 * @param {readonly MandateView[]} rows @param {Details} details @param {readonly AlertView[]} alerts
 */
function needsOf(rows, details, alerts) {
  const found = [];
  for (const alert of alerts.filter((one) => one.withdrawn_at === null).slice(0, 3)) {
    found.push({
      key: `alert ${alert.id}`,
      what: words(alert.kind),
      text: alert.message ?? words(alert.event),
      href: link("alerts"),
      button: "Read the alert",
    });
  }
  for (const row of rows) {
    const detail = details.get(row.public_id);
    const href = link("mandates", row.public_id);
    const { public_id: key, purpose } = row;
    if (row.status === "draft" && row.proposed_by_agent_id) {
      found.push({
        key,
        what: "proposal",
        text: `An agent proposes: ${cut(purpose, 120)}`,
        href,
        button: "Review the proposal",
      });
    } else if (row.status === "signed" && row.market_mode === "testnet") {
      found.push({
        key,
        what: "not funded",
        text: `Signed, and without a vault: ${cut(purpose, 120)}`,
        href,
        button: "Create the vault",
      });
    } else if (row.status === "stopped" && detail?.lock?.withdrawable) {
      found.push({
        key,
        what: "stopped",
        tone: "loss",
        text: `Stopped with money in its vault: ${cut(purpose, 120)}`,
        href,
        button: "Close and withdraw",
      });
    } else if (detail?.progress?.next_event?.code === "settle_grace_ends") {
      found.push({
        key,
        what: "grace ending",
        text: `The agent's fee is settled first: ${cut(purpose, 120)}`,
        href,
        button: "Open",
      });
    }
    const asks = (detail?.steps ?? []).filter(
      (step) => step.kind === "consent" && step.status === "pending",
    ).length;
    if (asks > 0)
      found.push({
        key: `${key} approvals`,
        what: "above your threshold",
        text: `${counted(asks, "action")} to look at: ${cut(purpose, 120)}`,
        href: link("mandates", key, "approvals"),
        button: "See the actions",
      });
    if (row.data_issue)
      found.push({
        key: `${key} data`,
        what: "data",
        text: row.data_issue_reason ?? "Some figures of this mandate may be wrong.",
        href,
        button: "Open",
      });
  }
  return found;
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
      label: "Worth against stop line",
      isNumber: true,
      text: (row) => of(row)?.progress?.worth_est ?? null,
      sortBy: (row) => units(of(row)?.progress?.worth_est),
      show: (row) =>
        isLive(row) ? html`<${Worth} row=${row} detail=${of(row)} why=${why} />` : dash,
    },
    {
      key: "left_today",
      label: "Left today",
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
