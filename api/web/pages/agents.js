// Whom can I trust? What the chain proves of each agent, and beside it, never in one column, what it says of itself.

import { get, pages, post, put } from "../app/api.js";
import { Plot, Spark } from "../app/chart.js";
import { clock, counted, integer, percent, shortHash, units, words } from "../app/format.js";
import { figure } from "../app/market.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { session } from "../app/session.js";
import { SignIn } from "../app/sign_in.js";
import { Table } from "../app/table.js";
import {
  Amount,
  Badge,
  Empty,
  Figure,
  Hash,
  html,
  Notice,
  now,
  PageHead,
  Time,
  Unknown,
  useEffect,
  useState,
} from "../app/ui.js";
import { useWork } from "../app/work.js";
import { AgentDeeds, Secrets } from "./agent_secrets.js";

/**
 * @typedef {"7d" | "30d" | "90d" | "since"} Window
 * @typedef {import("../app/answers.js").Connected} Connected
 * @typedef {import("../app/answers.js").FleetAgent} FleetAgent
 * @typedef {import("../app/answers.js").Fleet} Fleet
 * @typedef {import("../app/answers.js").HallPolicyChange} HallPolicyChange
 * @typedef {import("../app/answers.js").HallProfile} HallProfile
 * @typedef {import("../app/answers.js").HallRow} HallRow
 * @typedef {import("../app/answers.js").ProofMandate} ProofMandate
 * @typedef {import("../app/answers.js").RecordStrip} RecordStrip
 * @typedef {import("../app/ui.js").InputOf} InputOf
 * @typedef {Awaited<ReturnType<typeof pages<"/mandate-wallet/hall", "agents">>>} Listed
 */

const WINDOWS = /** @type {readonly Window[]} */ (["7d", "30d", "90d", "since"]);
const MOST_AGENTS = 1_000;
const DAY_MS = 86_400_000;
const BUILDING_S = 5;

/** @param {{path: string[]}} props */
export default function Agents({ path }) {
  if (path[0] === "mine") return html`<${Mine} />`;
  return path[0] ? html`<${Profile} key=${path[0]} id=${path[0]} />` : html`<${Hall} />`;
}

function Hall() {
  const window = windowOf();
  const accepting = place.value.query.get("accepting") === "1";
  const [isBuilding, setBuilding] = useState(false);
  const found = useResource(
    (stop) =>
      pages("/mandate-wallet/hall", "agents", {
        query: { limit: 100, accepting: accepting ? 1 : null },
        most: MOST_AGENTS,
        stop,
      }),
    [accepting],
    { everyS: isBuilding ? BUILDING_S : 120 },
  );
  useEffect(() => setBuilding(found.data?.first.stale ?? false), [found.data]);
  return html`<${PageHead} title="Agents" lead="Ranked by days live; a click on a heading sorts by it. Figures are computed from the ledger; what an agent only says of itself is on its own page.">
      ${session.value ? html`<a class="button" href=${link("agents", "mine")}>Your agents</a>` : null}<//>
    <${Read} of=${found} what="the agents">${(/** @type {Listed} */ data) => html`
      <${Build} hall=${data.first} />
      ${data.rows.some((one) => one.simulated) ? html`<${Notice} title="Simulated records are among these"><p>They are marked, and come from no chain.</p><//>` : null}
      ${
        data.rows.length === 0
          ? html`<${Empty} title=${accepting ? "No agent takes mandates now" : "No agent has a record yet"}><p class="quiet">Connect one: it appears here after its first mandate.</p><div class="row"><a class="button" href=${link("agents", "mine")}>Connect an agent</a></div><//>`
          : html`<${Table} name="agents" label="agents" columns=${columns(window)} rows=${data.rows} keyOf=${(/** @type {HallRow} */ row) => row.agent_id} sort="rank">
            <span class="segments" role="group" aria-label="Window">${WINDOWS.map((one) => html`<button type="button" aria-pressed=${one === window} onClick=${() => setQuery({ window: one })}>${one}</button>`)}</span>
            <label class="row"><input type="checkbox" checked=${accepting} onChange=${() => setQuery({ accepting: accepting ? null : "1" })} />takes mandates</label><//>`
      }
      ${data.isWhole ? null : html`<p class="quiet">The first ${integer(data.rows.length)} agents.</p>`}`}<//>`;
}

/**
 * How far a build is that is the first one, or late.
 * @param {{hall: import("../app/answers.js").Answer<"/mandate-wallet/hall">}} props
 */
function Build({ hall: { pending, stale, computed_at: at, progress } }) {
  if (!stale || !progress) return null;
  const { counted: done, ledgers, agents_left: left } = progress;
  const title = pending ? "The first build is under way" : "These figures are old";
  const isCounting = done < ledgers;
  return html`<${Notice} tone=${pending ? "" : "attention"} title=${title}>
    <p>${at ? `They were computed ${clock(at)}; the next build is late. ` : ""}${isCounting ? `${integer(done)} of ${integer(ledgers)} ledgers are counted.` : left > 0 ? `All ledgers are counted; the figures of ${counted(left, "agent")} are next.` : "Records are computed every two minutes."}</p>
    ${isCounting ? html`<progress max=${ledgers} value=${done} aria-label="Ledgers counted"></progress>` : null}<//>`;
}

function windowOf() {
  return WINDOWS.find((one) => one === place.value.query.get("window")) ?? "30d";
}

/** @param {Window} window @returns {import("../app/table.js").Column<HallRow>[]} */
function columns(window) {
  const of = (/** @type {HallRow} */ row) => row.windows[window];
  const bps = (/** @type {number | null | undefined} */ value, /** @type {string} */ why) =>
    value === null || value === undefined ? html`<${Unknown} why=${why} />` : percent(value);
  const whyNone = "There was no capital in this window.";
  return [
    {
      key: "rank",
      label: "Rank",
      hint: "Ranked from 30 days live and 20 trades on, the longest record first; a return is no rank",
      isNumber: true,
      text: (row) => (row.rank === null ? null : String(row.rank)),
      sortBy: (row) => row.rank,
      show: (row) =>
        row.rank ?? html`<span class="quiet" title=${unranked(row.unranked_reason)}>–</span>`,
    },
    {
      key: "agent",
      label: "Agent",
      isName: true,
      text: (row) => row.name,
      sortBy: (row) => row.name.toLowerCase(),
      show: (
        row,
      ) => html`<a href=${link("agents", row.agent_id)}>${row.name.slice(0, 80)}</a> ${row.simulated ? html`<${Badge}>simulated<//>` : null} ${row.house ? html`<${Badge}>house<//>` : null}
        ${row.ranked ? null : html`<div class="quiet">unranked: ${unranked(row.unranked_reason)}</div>`}`,
    },
    {
      key: "net_usdc",
      label: "Net, USDC",
      isNumber: true,
      hint: "Result after the agent's fee; deposits are none",
      text: (row) => of(row)?.net_usdc ?? null,
      sortBy: (row) => units(of(row)?.net_usdc),
      show: (row) =>
        html`<${Amount} value=${of(row)?.net_usdc} why=${whyNone} signed unit=${false} />`,
    },
    {
      key: "return",
      label: "Return",
      isNumber: true,
      hint: "Time-weighted",
      text: (row) => percent(of(row)?.twr_bps),
      sortBy: (row) => of(row)?.twr_bps ?? null,
      show: (row) => bps(of(row)?.twr_bps, whyNone),
    },
    {
      key: "course",
      label: "90 days",
      hint: "Its return 90, 30 and 7 days ago, and now",
      text: (row) =>
        course(row)
          .map((one) => percent(one.bps) ?? "unknown")
          .join(" "),
      show: (row) => {
        const points = course(row).map(({ at, bps }) => ({ at, value: bps }));
        return html`<${Spark} points=${points} label=${`Its return: ${course(row)
          .map((one) => `${percent(one.bps) ?? "unknown"} on ${one.at}`)
          .join(", ")}`} />`;
      },
    },
    {
      key: "drawdown",
      label: "Deepest fall",
      isNumber: true,
      hint: "Of the mandate that fell deepest",
      text: (row) => percent(of(row)?.max_drawdown_bps),
      sortBy: (row) => of(row)?.max_drawdown_bps ?? null,
      show: (row) => bps(of(row)?.max_drawdown_bps, whyNone),
    },
    {
      key: "trades",
      label: "Trades",
      isNumber: true,
      text: (row) => integer(of(row)?.trades),
      sortBy: (row) => of(row)?.trades ?? null,
    },
    {
      key: "days_live",
      label: "Days live",
      isNumber: true,
      text: (row) => integer(row.days_live),
      sortBy: (row) => row.days_live,
    },
    {
      key: "stops",
      label: "Stopped at floor",
      isNumber: true,
      text: (row) => String(row.floor_stops),
      sortBy: (row) => row.floor_stops,
    },
    {
      key: "violations",
      label: "Violations",
      isNumber: true,
      text: (row) => String(row.violations),
      sortBy: (row) => row.violations,
      show: (row) =>
        row.violations > 0 ? html`<span class="loss">■ ${row.violations}</span>` : "0",
    },
  ];
}

/**
 * What it had returned since its first day 90, 30 and 7 days ago and has now, from the returns of its windows.
 * @param {HallRow} row
 */
function course({ windows, days_live: live, as_of: asOf }) {
  const all = windows.since?.twr_bps ?? null;
  const end = Date.parse(asOf ?? "") || Date.now();
  const past = /** @type {const} */ ([
    [90, windows["90d"]?.twr_bps],
    [30, windows["30d"]?.twr_bps],
    [7, windows["7d"]?.twr_bps],
    [0, 0],
  ]);
  return past
    .filter(([days]) => days < live)
    .map(([days, bps]) => ({
      at: new Date(end - days * DAY_MS).toISOString().slice(0, 10),
      bps:
        all === null || bps === null || bps === undefined || bps <= -10_000
          ? null
          : Math.round((10_000 * (10_000 + all)) / (10_000 + bps)) - 10_000,
    }));
}

const CODES = /** @type {Readonly<Record<string, string>>} */ ({
  over_per_tx_cap: "over the cap per action",
  over_daily_cap: "over the cap per 24 hours",
});

const UNRANKED = /** @type {Readonly<Record<string, string>>} */ ({
  days_live: "too few days",
  trades: "too few trades",
  days_live_and_trades: "too few days and trades",
  record_incomplete: "its record is incomplete",
});

/** @param {string | null} reason why it has no rank */
function unranked(reason) {
  return UNRANKED[reason ?? ""] ?? words(reason);
}

/** @param {{id: string}} props */
function Profile({ id }) {
  const found = useResource(
    (stop) => get(`/mandate-wallet/hall/${encodeURIComponent(id)}`, { proof: 1, curve: 1 }, stop),
    [id],
    { everyS: 120 },
  );
  return html`<${Read} of=${found} what="the agent">${(/** @type {HallProfile} */ data) => html`<${Shown} data=${data} />`}<//>`;
}

/** @param {{data: HallProfile}} props */
function Shown({ data }) {
  const { agent, record } = data;
  if (agent === null)
    return html`<${Empty} title="There are no figures of this agent yet"><p class="quiet">Records are computed every two minutes; an agent appears after its first mandate.</p><div class="row"><a class="button" href=${link("agents")}>See the agents</a></div><//>`;
  return html`<${PageHead} title=${agent.name} lead=${`Agent ${agent.agent_id}${agent.simulated ? ", simulated: from no chain" : ""}`}>
      ${agent.accepts_mandates ? html`<a class="button primary" href=${`${link("new")}?agent=${agent.agent_id}`}>Hire</a>` : html`<span class="quiet">takes no mandates now</span>`}<//>
    <section class="card figures" aria-label="Rank and conduct">
      <${Figure} label="Rank" note=${agent.ranked ? `by days live: ${agent.days_live} days, ${integer(agent.trades_total)} trades` : unranked(agent.unranked_reason)}>${agent.rank ?? "unranked"}<//>
      <${Figure} label="Mandates kept" note="ended without a violation or a proven refusal">${record?.limits ? `${record.limits.mandates_kept} of ${record.limits.mandates_ended}` : html`<${Unknown} />`}<//>
      <${Figure} label="Refused by the rules" note="attempts that the chain or our check proves">${record?.limits?.refusals ?? html`<${Unknown} />`}<//>
      <${Figure} label="Violations" note="reports against the terms">${agent.violations > 0 ? html`<span class="loss">■ ${agent.violations}</span>` : "0"}<//>
      <${Figure} label="Other owners" note=${`${agent.delegators.working} working now`}>${agent.delegators.total}<//>
    </section>
    <${Curves} data=${data} />
    <section class="card" aria-labelledby="proven"><h2 id="proven">${agent.simulated ? "Computed from simulated rows, not from the chain" : "Proven on the chain"}</h2><div class="table" tabindex="0"><table>
      <thead><tr><th scope="col">Window</th><th scope="col" class="number">Net, USDC</th><th scope="col" class="number">Return</th><th scope="col" class="number">Deepest fall</th><th scope="col" class="number">Trades</th></tr></thead>
      <tbody>${WINDOWS.map((window) => {
        const one = agent.windows[window];
        return html`<tr><td>${window}</td><td class="number"><${Amount} value=${one?.net_usdc} signed unit=${false} /></td><td class="number">${percent(one?.twr_bps) ?? html`<${Unknown} />`}</td><td class="number">${percent(one?.max_drawdown_bps) ?? html`<${Unknown} />`}</td><td class="number">${integer(one?.trades) ?? html`<${Unknown} />`}</td></tr>`;
      })}</tbody></table></div>
      <p class="quiet">Stopped at the floor ${counted(agent.floor_stops, "time")}, by itself ${counted(agent.self_stops, "time")}. As of ${agent.as_of ? clock(agent.as_of) : "unknown"}.</p></section>
    <div class="two"><div class="stack">
        <${Proof} rows=${data.proof ?? []} />
        <${Breaches} record=${record} /></div>
      <div class="stack">
        <section class="card" aria-labelledby="says"><h2 id="says">What the agent says of itself</h2><p class="quiet">${agent.self_reported.note}</p>
          <dl class="pairs"><dt>Trades</dt><dd>${integer(agent.self_reported.trades_total)}</dd><dt>Net, 30 days</dt><dd><${Amount} value=${agent.self_reported.net_30d_usdc} signed /></dd><dt>Net, since</dt><dd><${Amount} value=${agent.self_reported.net_since_usdc} signed /></dd></dl></section>
        <${Policy} changes=${data.policy_changelog} />
        <section class="card" aria-labelledby="stake"><h2 id="stake">Operator's stake</h2><p><${Amount} value=${agent.operator_stake_usdc} why=${agent.operator_stake_reason} /></p></section>
      </div></div>`;
}

/** @param {{data: HallProfile}} props the return since the first day, and how far it is below its highest */
function Curves({ data: { curve, agent } }) {
  const why =
    curve === null || curve === undefined
      ? "Facts of the chain are held back from one of its ledgers, so its returns are unknown now."
      : curve.length < 2
        ? "There is no curve before its second day."
        : null;
  if (why !== null)
    return html`<section class="card" aria-labelledby="curve"><h2 id="curve">Return over time</h2><p class="quiet">${why}</p></section>`;
  const of = (/** @type {readonly {day: string, bps: number}[]} */ rows) =>
    rows.map(({ day: at, bps }) => ({ at, value: bps / 100, text: percent(bps) ?? "" }));
  const text = (/** @type {number} */ value) => `${figure(value, 4)} %`;
  const returns = (curve ?? []).map((one) => ({ day: one.day, bps: one.twr_bps }));
  const since = percent(returns.at(-1)?.bps);
  return html`<div class="two even">
    <section class="card stack tight" aria-labelledby="curve"><h2 id="curve">Return over time</h2>
      <${Plot} points=${of(returns)} base=${0} isStep name="Return" text=${text} label=${`Time-weighted return of ${agent?.name ?? "the agent"}, ${since} since ${returns[0]?.day}.`} />
      <p class="quiet">Time-weighted, of all its mandates together, after its fees, at the ends of days.</p></section>
    <section class="card stack tight" aria-labelledby="falls"><h2 id="falls">Below its highest</h2>
      <${Plot} points=${of(falls(returns))} base=${0} isStep tone="loss" name="Below the highest" text=${text} label="How far the return is below its highest." />
      <p class="quiet">At the ends of days, all mandates together. The figures below name the single mandate that fell deepest.</p></section></div>`;
}

/** How far each day's end is below the highest before it. @param {readonly {day: string, bps: number}[]} returns */
function falls(returns) {
  let most = 10_000;
  return returns.map(({ day, bps }) => {
    most = Math.max(most, 10_000 + bps);
    return { day, bps: Math.round((10_000 * (10_000 + bps)) / most) - 10_000 };
  });
}

/** @param {{rows: readonly ProofMandate[]}} props the mandates behind the figures; their nets sum to the window "since" */
function Proof({ rows }) {
  if (rows.length === 0) return html`<${Empty} title="No mandate is behind these figures yet" />`;
  /** @type {import("../app/table.js").Column<ProofMandate>[]} */
  const shown = [
    {
      key: "mandate",
      label: "Mandate",
      text: (row) => row.mandate_id,
      sortBy: (row) => row.mandate_id,
      show: (row) => html`<code>${row.mandate_id}</code>`,
    },
    {
      key: "net_usdc",
      label: "Net, USDC",
      isNumber: true,
      text: (row) => row.net_usdc,
      sortBy: (row) => units(row.net_usdc),
      show: (row) => html`<${Amount} value=${row.net_usdc} signed unit=${false} />`,
    },
    {
      key: "trades",
      label: "Trades",
      isNumber: true,
      text: (row) => String(row.trades),
      sortBy: (row) => row.trades,
    },
    {
      key: "row_hash",
      label: "Ledger head",
      text: (row) => row.row_hash,
      show: (row) =>
        html`<${Hash} value=${row.row_hash} label="the hash" /> <span class="quiet">row ${row.seq}</span>`,
    },
  ];
  return html`<section class="card stack" aria-labelledby="behind"><h2 id="behind">The mandates behind these figures</h2><${Table} name="proof" label="mandates" columns=${shown} rows=${rows} keyOf=${(/** @type {ProofMandate} */ row) => row.mandate_id} filter=${false} /></section>`;
}

/** @param {{record: RecordStrip | null}} props */
function Breaches({ record }) {
  const rows = record?.sources.refusal_events ?? [];
  if (rows.length === 0) return null;
  return html`<section class="card" aria-labelledby="breaches"><h2 id="breaches">Refused attempts</h2><ul class="list">${rows.slice(0, 12).map((one) => html`<li class="row"><${Badge} tone="loss">${CODES[one.code] ?? words(one.code)}<//><code class="grow">${one.mandate_id}</code><span class="quiet"><${Time} at=${one.at} /></span></li>`)}</ul></section>`;
}

/** @param {{changes: readonly HallPolicyChange[]}} props */
function Policy({ changes }) {
  return html`<section class="card" aria-labelledby="policy"><h2 id="policy">Policy changes</h2>${
    changes.length === 0
      ? html`<p class="quiet">Its owner has changed nothing.</p>`
      : html`<ul class="list">${changes.map((one) => html`<li><span class="quiet"><${Time} at=${one.at} /></span> ${Object.entries(one.changes).map(([name, change]) => html`<div>${words(name)}: ${changeText(change)}</div>`)}</li>`)}</ul>`
  }</section>`;
}

/** @param {unknown} value */
function valueText(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
}

/** A field's change in words, where it has the form that the service writes. @param {unknown} change */
function changeText(change) {
  const { from, to } = /** @type {{from?: unknown, to?: unknown}} */ (change ?? {});
  return `${valueText(from)} → ${valueText(to)}`;
}

/** The owner's own agents: connected here, shown their keys once. */
function Mine() {
  return session.value === null ? html`<${SignIn} />` : html`<${OwnAgents} />`;
}

function OwnAgents() {
  const found = useResource((stop) => get("/agents/mine", undefined, stop), []);
  return html`<${PageHead} title="Your agents" lead="Programs that act with their own key. They never get yours." />
    <${Connect} onDone=${found.reload} />
    <${Read} of=${found} what="your agents">${(/** @type {Fleet} */ data) =>
      data.agents.length === 0
        ? html`<${Empty} title="You have no agent yet"><p class="quiet">Connect one above, or hire another's from the list.</p><div class="row"><a class="button" href=${link("agents")}>Find an agent</a></div><//>`
        : html`<ul class="list card">${data.agents.map((one) => html`<${Owned} key=${one.user_id} agent=${one} reload=${found.reload} />`)}</ul>`}<//>`;
}

/** @param {{onDone: () => Promise<void>}} props */
function Connect({ onDone }) {
  const [name, setName] = useState("");
  const [made, setMade] = useState(/** @type {Connected | null} */ (null));
  const { isBusy, error, run } = useWork();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run(async () => {
      setMade(await post("/auth/agent/connect", { agent_name: name.trim() }));
      setName("");
      await onDone();
    });
  };
  return html`<section class="card stack" aria-labelledby="connect"><h2 id="connect">Connect an agent</h2>
    <form class="row with-fields" onSubmit=${submit}><div class="field grow"><label for="agent-name">Name</label><input id="agent-name" required maxlength="80" value=${name} onInput=${(/** @type {InputOf} */ event) => setName(event.currentTarget.value)} /></div><button disabled=${isBusy || made !== null}>Connect</button></form>
    <${Refused} error=${error} />
    <${Secrets} made=${made} onKept=${() => setMade(null)} /></section>`;
}

/** @param {{agent: FleetAgent, reload: () => Promise<void>}} props */
function Owned({ agent, reload }) {
  const { isBusy, error, run } = useWork();
  const id = String(agent.user_id);
  const { wallet_address: address, wallet_payable_at: payableAt } = agent;
  const isToBeConfirmed =
    address !== null && payableAt !== null && Date.parse(payableAt) > now.value;
  const accept = () =>
    run(async () => {
      const {
        agent_id: _id,
        policy_changelog: _log,
        ...policy
      } = await get(`/mandate-wallet/agents/${id}/policy`);
      await put(`/mandate-wallet/agents/${id}/policy`, {
        ...policy,
        accepts_mandates: !agent.accepts_mandates,
      });
      await reload();
    });
  /** @type {import("./agent_secrets.js").Deed[]} */
  const deeds = ["rotate"];
  if (isToBeConfirmed) deeds.unshift("confirm");
  if (address !== null && !isToBeConfirmed) deeds.push("unlink");
  if (agent.recovery_can_be_undone) deeds.unshift("undo");
  return html`<li class="stack tight"><div class="row"><a href=${link("agents", id)}><strong>${agent.agent_name}</strong></a><span class="quiet">agent ${id}</span>
      ${agent.status === "locked" ? html`<${Badge} tone="loss">locked<//>` : null}${agent.recovery_can_be_undone ? html`<${Badge} tone="attention">recovered by somebody<//>` : null}<span class="grow"></span>
      <button type="button" disabled=${isBusy} onClick=${accept}>${agent.accepts_mandates ? "Take no more mandates" : "Let it take mandates"}</button></div>
    <p class="quiet">${agent.accepts_mandates ? "takes mandates" : "takes no mandates"} · wallet ${address ? shortHash(address) : "not linked yet: the agent links it with its own key"} · last call ${agent.last_call_at ? html`<${Time} at=${agent.last_call_at} />` : "never"}</p>
    <${Refused} error=${error} />
    <details><summary>Wallet and secrets</summary><${AgentDeeds} id=${id} address=${address} deeds=${deeds} onDone=${reload} /></details></li>`;
}
