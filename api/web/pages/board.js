// What is each token worth trading? Every listing with its grade, spread, depth, transfers and warnings.

import { get } from "../app/api.js";
import { integer, words } from "../app/format.js";
import { Known, share } from "../app/market.js";
import { COLUMNS_BESIDE, MEASURED_COLUMNS, pairColumn } from "../app/market_columns.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place, setQuery } from "../app/router.js";
import { Table } from "../app/table.js";
import { Empty, Figure, html, Notice, PageHead } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").BoardPage} BoardPage
 * @typedef {import("../app/answers.js").BoardRow} BoardRow
 * @typedef {import("../app/answers.js").StatsSummary} StatsSummary
 * @typedef {import("../app/answers.js").BoardWarnings} BoardWarnings
 */

const MOST_ROWS = 1_000;
const EVERY_S = 30;

export default function Board() {
  const exchange = place.value.query.get("exchange");
  const found = useResource(
    (stop) => get("/board", { exchange, limit: MOST_ROWS }, stop),
    [exchange],
    { everyS: EVERY_S },
  );
  const coverage = useResource((stop) => get("/stats/summary", undefined, stop), [], {
    everyS: EVERY_S,
  });
  const warned = useResource((stop) => get("/board/warnings", { limit: 1 }, stop), [], {
    everyS: 60,
  });
  return html`<${PageHead} title="Board" lead="Every pair that the watched exchanges list, the largest volume first. Grades rate liquidity alone; open a pair to see the figures behind its grade." />
    <${Overview} coverage=${coverage.data} warned=${warned.data} />
    <${Read} of=${found} what="the board">${(/** @type {BoardPage} */ data) => html`<${Grid} data=${data} exchange=${exchange} coverage=${coverage.data} />`}<//>`;
}

/** @param {{coverage: StatsSummary | null, warned: BoardWarnings | null}} props */
function Overview({ coverage, warned }) {
  const troubled = coverage?.exchanges.filter((one) => one.state !== "ok") ?? [];
  const rate = warned?.stats.wci_b31?.headline;
  const published = warned?.stats.published;
  return html`${coverage?.simulated ? html`<${Notice} title="Simulated market"><p>No real exchange is connected. Prices, grades and warnings come from a simulated market.</p><//>` : null}
    ${troubled.map((one) => html`<${Notice} key=${one.exchange} tone="attention" title=${`${one.exchange} is ${one.state}`}><p>${one.reason ? `${words(one.reason)}; ` : ""}its figures may be out of date.</p><//>`)}
    <section class="card figures" aria-label="Coverage">
      <${Figure} label="Listings" note="without delisted pairs"><${Known} text=${integer(coverage?.listings)} /><//>
      <${Figure} label="Tokens"><${Known} text=${integer(coverage?.assets)} /><//>
      <${Figure} label="Exchanges" note=${coverage?.exchanges.length === 0 ? "none is watched yet" : troubled.length ? `${troubled.length} in trouble` : "all respond"}><${Known} text=${integer(coverage?.exchanges.length)} /><//>
      <${Figure} label="Events foreseen, 90 days" note=${rate && published ? `${rate.hits} of ${rate.units} delistings and designations; ${published.day}, version ${published.version}` : "nothing counted yet"}><${Known} text=${share(rate?.rate)} why="No outcome was declared in the window." /><//>
      <${Figure} label="Warning precision, 90 days" note=${rate ? `${integer(rate.warnings_issued)} warnings issued` : "nothing counted yet"}><${Known} text=${share(rate?.precision)} why="No warning was issued in the window." /><//>
    </section>`;
}

/** @param {{data: BoardPage, exchange: string | null, coverage: StatsSummary | null}} props */
function Grid({ data, exchange, coverage }) {
  if (data.rows.length === 0 && exchange === null)
    return html`<${Empty} title="Nothing was scanned yet"><p class="quiet">Pairs appear within a minute of the scanner's start. If they do not, see whether it runs.</p><div class="row"><a class="button" href=${link("status")}>See the status</a></div><//>`;
  const names = coverage?.exchanges.map((one) => one.exchange) ?? (exchange ? [exchange] : []);
  return html`<${Table} name="board" label="listings" columns=${COLUMNS} rows=${data.rows} keyOf=${(/** @type {BoardRow} */ row) => row.token_id} sort="-volume">
      <label class="row">Exchange <select value=${exchange ?? ""} onChange=${(/** @type {import("../app/ui.js").InputOf} */ event) => setQuery({ exchange: event.currentTarget.value || null })}>
        <option value="">all</option>${names.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label><//>
    ${data.next_offset === null ? null : html`<p class="quiet">The first ${integer(data.rows.length)}${data.total === null ? "" : ` of ${integer(data.total)}`} pairs by volume; choose an exchange to see more of its pairs.</p>`}`;
}

const COLUMNS = [pairColumn(), ...COLUMNS_BESIDE, ...MEASURED_COLUMNS];
