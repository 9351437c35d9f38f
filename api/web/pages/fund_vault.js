// One fund vault: what it may trade, what it signalled, and how its paper follower did.

import { get } from "../app/api.js";
import { Plot, Spark } from "../app/chart.js";
import { cut, day, integer, units, usdc } from "../app/format.js";
import { figure, Known, Letter, wholeDollars } from "../app/market.js";
import { Older, usePaged } from "../app/paged.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link } from "../app/router.js";
import { Table } from "../app/table.js";
import { Amount, Empty, Figure, Hash, html, Notice, PageHead, Time } from "../app/ui.js";
import { Kind, Market, SessionBadge } from "./fund_parts.js";

/**
 * @typedef {import("../app/answers.js").FundVaultRead} FundVaultRead
 * @typedef {import("../app/answers.js").MarketLiquidityRow} MarketLiquidityRow
 * @typedef {import("../app/answers.js").SignalShown} SignalShown
 * @typedef {import("../app/answers.js").VaultLiquidity} VaultLiquidity
 * @typedef {import("../app/paged.js").PageOf<SignalShown>} SignalPageOf
 */

const EVERY_S = 30;
const PAGE_ROWS = 50;
const NAME_CHARACTERS = 80;
const MOST_MARKETS = 12;
const DAY_MS = 86_400_000;

/** @param {{id: string}} props */
export function Vault({ id }) {
  const found = useResource(
    (stop) => get(`/fund/vaults/${encodeURIComponent(id)}`, { curve: 1 }, stop),
    [id],
    { everyS: EVERY_S },
  );
  return html`<${Read} of=${found} what="the vault">${(/** @type {FundVaultRead} */ vault) => html`<${Whole} vault=${vault} />`}<//>`;
}

/** @param {{vault: FundVaultRead}} props */
function Whole({ vault }) {
  return html`<${PageHead} title=${cut(vault.name, NAME_CHARACTERS)} lead=${html`<span class="row"><${Kind} one=${vault} /></span>`}><a class="button" href=${link("fund")}>All vaults</a><//>
    ${vault.mirroring_paused ? html`<${Notice} tone="attention" title="Mirroring is paused"><p>Signals are shown; every plan is refused, and costs nothing, until operators resume.</p><//>` : null}
    <section class="card figures" aria-label="The vault in figures">
      <${Figure} label="Signals" note="live ones included">${integer(vault.signals_count)}<//>
      <${Figure} label="Latest signal" small>${vault.latest_signal_at === null ? "none yet" : html`<${Time} at=${vault.latest_signal_at} />`}<//>
      <${Figure} label="Consents" note="in force, to the current rules">${integer(vault.mirrors_count)}<//>
      <${Figure} label="Fills reported" note="by followers; nothing proves them">${integer(vault.fills_count)}<//>
    </section>
    <div class="two"><div class="stack"><${Live} /><${Paper} paper=${vault.paper} /></div><${Rules} vault=${vault} /></div>
    <${Markets} id=${vault.id} />
    <${Past} id=${vault.id} />`;
}

function Live() {
  return html`<section class="card stack" aria-labelledby="live"><h2 id="live">Live signals</h2>
    <p>Agents follow this fund. One consents to the frozen rules, reads a signal and plans it for its own account, with its own key; nothing is placed here.</p>
    <p class="quiet">A live signal costs an agent 10 credits, once. When it is 24 hours old it is free for everybody, and listed below.</p>
    <div class="row"><a class="button" href=${link("agents", "mine")}>Connect an agent</a></div></section>`;
}

/** @param {{vault: FundVaultRead}} props */
function Rules({ vault }) {
  return html`<section class="card stack" aria-labelledby="rules"><h2 id="rules">Frozen rules</h2>
    <p class="as-written">${cut(vault.mandate, 2_000)}</p>
    <dl class="pairs"><dt>Version</dt><dd>${String(vault.frozen_rules.version)}</dd>
      <dt>Most leverage</dt><dd>${String(vault.frozen_rules.max_leverage)}</dd>
      <dt>Frozen</dt><dd><${Time} at=${vault.frozen_at} /></dd>
      <dt>Hash</dt><dd><${Hash} value=${vault.rules_hash} label="the hash of the rules" /></dd></dl>
    <p class="quiet">A consent holds for this hash alone: new rules end it.</p>
    <details><summary>The document that is hashed</summary><pre>${JSON.stringify(vault.frozen_rules, null, 2)}</pre></details></section>`;
}

/** @param {{paper: FundVaultRead["paper"]}} props */
function Paper({ paper }) {
  return html`<section class="card stack" aria-labelledby="paper"><h2 id="paper">The paper follower</h2>
    <p class="quiet">It began with 10,000 USDC on paper and mirrors every signal by the same plans, net of impact and fees.</p>
    ${
      paper === null
        ? html`<p>Not shown yet. <span class="quiet">It has no mark from before the oldest live signal, and newer figures would reveal live ones.</span></p>`
        : html`<div class="figures"><${Figure} label="Worth" note=${`${signed(paper.return_bps)} bps since ${day(paper.since)}`} small><${Amount} value=${paper.nav_usd} /><//>
          <${Figure} label="Drawdown" note=${`${paper.max_drawdown_bps} bps at most`} small>${paper.drawdown_bps} <span class="unit">bps</span><//></div>
        <${Plot} points=${(paper.curve ?? []).map((one) => ({ at: one.at, value: Number(one.nav_usd), text: `${usdc(one.nav_usd)} USDC` }))} base=${10_000} name="Worth, USDC"
          text=${(/** @type {number} */ value) => figure(value, 6) ?? ""} label=${`What the paper follower was worth since ${day(paper.since)}; now ${usdc(paper.nav_usd)} USDC.`} />
        <dl class="pairs"><dt>Trades</dt><dd>${integer(paper.trades)}</dd><dt>Impact</dt><dd><${Amount} value=${paper.impact_usd} /></dd>
          <dt>Fees</dt><dd><${Amount} value=${paper.fees_usd} /></dd><dt>Fund's fees</dt><dd><${Amount} value=${paper.fund_fees_usd} /></dd>
          <dt>As of</dt><dd><${Time} at=${paper.at} /></dd></dl>
        <p class="quiet">Before the oldest live signal: newer figures would tell it.</p>`
    }</section>`;
}

/** @param {string} bps */
function signed(bps) {
  return bps.startsWith("-") ? `−${bps.slice(1)}` : `+${bps}`;
}

/** @param {{id: number}} props */
function Markets({ id }) {
  const found = useResource(
    (stop) => get(`/fund/vaults/${String(id)}/liquidity`, undefined, stop),
    [id],
    {
      everyS: EVERY_S,
    },
  );
  return html`<section class="stack" aria-labelledby="markets"><h2 id="markets">Markets that it may signal</h2>
    <${Read} of=${found} what="the markets">${(/** @type {VaultLiquidity} */ data) => html`<${Table} name="markets" label="the vault's markets" columns=${MARKETS} rows=${data.markets} keyOf=${(/** @type {MarketLiquidityRow} */ row) => row.market} />`}<//></section>`;
}

/**
 * @param {string} key @param {string} label @param {string} hint @param {(row: MarketLiquidityRow) => string | null} of
 * @returns {import("../app/table.js").Column<MarketLiquidityRow>}
 */
function dollarsOf(key, label, hint, of) {
  return {
    key,
    label,
    hint,
    isNumber: true,
    text: of,
    sortBy: (row) => units(of(row)),
    show: (row) => {
      const value = of(row);
      return html`<${Known} text=${value === null ? null : wholeDollars(Number(value))} why="Not measured now." />`;
    },
  };
}

/** @type {import("../app/table.js").Column<MarketLiquidityRow>[]} */
const MARKETS = [
  {
    key: "market",
    label: "Market",
    text: (row) => row.market,
    sortBy: (row) => row.market,
    show: (row) => html`<${Market} market=${row.market} />`,
  },
  {
    key: "grade",
    label: "Grade",
    hint: "An order that increases needs D or better",
    text: (row) => row.grade,
    sortBy: (row) => row.grade,
    show: (row) => html`<${Letter} letter=${row.grade} provisional=${row.provisional} />`,
  },
  {
    key: "session",
    label: "Session",
    text: (row) => row.session.state,
    sortBy: (row) => row.session.state,
    show: (row) => html`<${SessionBadge} session=${row.session} />`,
  },
  dollarsOf(
    "cap_usd",
    "Cap, USD",
    "The most that one order that increases may take",
    (row) => row.cap_usd,
  ),
  dollarsOf(
    "min_order_usd",
    "Least order, USD",
    "Smaller ones are skipped",
    (row) => row.min_order_usd,
  ),
  dollarsOf("depth_usd", "Depth, USD", "Within 2 %, of the smaller side", (row) => row.depth_usd),
  dollarsOf("volume_24h_usd", "Volume 24 h, USD", "Of one day", (row) => row.volume_24h_usd),
  {
    key: "daily_volatility_bps",
    label: "Volatility, bps",
    hint: "Of a day",
    isNumber: true,
    text: (row) => row.daily_volatility_bps,
    sortBy: (row) => units(row.daily_volatility_bps),
    show: (row) => html`<${Known} text=${row.daily_volatility_bps} why="Not measured now." />`,
  },
];

/** @param {{id: number}} props */
function Past({ id }) {
  const { found, older } = usePaged(
    async (cursor, stop) => {
      const page = await get(
        `/fund/vaults/${String(id)}/signals`,
        { limit: PAGE_ROWS, cursor },
        stop,
      );
      return { rows: page.signals, next: page.next_cursor };
    },
    { idOf: (/** @type {SignalShown} */ row) => row.signal_id },
  );
  return html`<section class="stack" aria-labelledby="past"><h2 id="past">Signals of more than 24 hours ago</h2>
    <${Read} of=${found} what="the signals">${(/** @type {SignalPageOf} */ { rows, next }) =>
      rows.length === 0
        ? html`<${Empty} title="No signal is a day old yet"><p class="quiet">A signal is free once it is 24 hours old. Live ones are shown to agents that paid for them.</p><//>`
        : html`<${Course} rows=${rows} />
          <${Table} name="past" label="past signals" columns=${SIGNALS} rows=${rows} keyOf=${(/** @type {SignalShown} */ row) => row.signal_id} />
          <${Refused} error=${older.error} onRetry=${older.run} /><${Older} next=${next} isBusy=${older.isBusy} onMore=${older.run} />`}<//></section>`;
}

/** @param {{rows: readonly SignalShown[]}} props the weight of each market over time, the newest signal first */
function Course({ rows }) {
  const first = rows.at(-1)?.at ?? "";
  // what is younger is live, and not shown here
  const last = new Date(Date.now() - DAY_MS).toISOString();
  const markets = [...new Set(rows.map((one) => one.market))].slice(0, MOST_MARKETS);
  return html`<div class="card stack tight"><h3>Weights over time</h3>
    <table class="bridge" aria-label="The weight of each market over time"><tbody>${markets.map(
      (market) => {
        const of = rows.filter((one) => one.market === market).reverse();
        const now = of.at(-1)?.target_weight ?? "";
        // a weight holds until the next signal; before the first one of these nothing is known
        const points = [
          { at: first, value: null },
          ...of.map((one) => ({ at: one.at, value: Number(one.target_weight) })),
          { at: last, value: Number(now) },
        ];
        return html`<tr key=${market}><th scope="row"><${Market} market=${market} /></th><td class="course"><${Spark} points=${points} isStep isWide label=${`Weight of ${market}: ${of.map((one) => `${one.target_weight} from ${day(one.at)}`).join(", ")}`} /></td><td class="number">${now}</td></tr>`;
      },
    )}</tbody></table>
    <p class="quiet">${day(first)} to ${day(last)}, of the signals listed below. A weight is a share of the fund's worth, before leverage.</p></div>`;
}

/** @type {import("../app/table.js").Column<SignalShown>[]} */
const SIGNALS = [
  {
    key: "signal_id",
    label: "Signal",
    isNumber: true,
    text: (row) => String(row.signal_id),
    sortBy: (row) => row.signal_id,
  },
  {
    key: "at",
    label: "When",
    text: (row) => row.at,
    sortBy: (row) => row.signal_id,
    show: (row) => html`<${Time} at=${row.at} />`,
  },
  {
    key: "market",
    label: "Market",
    text: (row) => row.market,
    sortBy: (row) => row.market,
    show: (row) => html`<${Market} market=${row.market} />`,
  },
  {
    key: "target_weight",
    label: "Weight",
    hint: "A share of the NAV, before leverage",
    isNumber: true,
    text: (row) => row.target_weight,
    sortBy: (row) => units(row.target_weight),
  },
  {
    key: "target_leverage",
    label: "Leverage",
    isNumber: true,
    text: (row) => row.target_leverage,
    sortBy: (row) => units(row.target_leverage),
  },
  {
    key: "superseded",
    label: "Superseded",
    hint: "By a later signal of this market",
    text: (row) => (row.superseded ? "yes" : "no"),
  },
  {
    key: "row_hash",
    label: "Row",
    hint: "Its hash in the ledger of signals",
    text: (row) => row.row_hash,
    show: (row) => html`<${Hash} value=${row.row_hash} label="the row's hash" />`,
  },
];
