// Is it healthy? The parts of the service, how far behind each is, and what the slow jobs did last.

import { get, readyOf } from "../app/api.js";
import { counted, words } from "../app/format.js";
import { Read } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { Badge, html, Notice, PageHead, Time } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").HealthPart} HealthPart
 * @typedef {import("../app/answers.js").Ready} Ready
 * @typedef {import("../app/answers.js").SlowJob} SlowJob
 */

const TONES = /** @type {Readonly<Record<string, string>>} */ ({
  ok: "settled",
  degraded: "attention",
  down: "loss",
});
const WHAT = /** @type {Readonly<Record<string, string>>} */ ({
  database: "holds the record",
  migrations: "the tables are this version's",
  indexer: "turns the chain's events into rows",
  keeper: "marks vaults and stops them at the line",
  scanner: "reads what the exchanges list",
  chain: "the node answers",
});

export default function Status() {
  const found = useResource((stop) => get("/health/ready", undefined, stop).catch(readyOf), [], {
    everyS: 10,
  });
  return html`<${PageHead} title="Status" lead="Your vault does not depend on any of this: stop and withdraw work with your wallet alone." ><a class="button" href="/exit.html">Exit without the service</a><//>
    <${Read} of=${found} what="the state">${(/** @type {Ready} */ data) => html`
      ${data.status === "ok" ? html`<${Notice} tone="settled" title="Everything works" />` : html`<${Notice} tone=${data.status === "down" ? "loss" : "attention"} title=${data.status === "down" ? "A part is down" : "A part is behind"}><p>What is shown may be old. Limits in the contract hold as always.</p><//>`}
      <section class="card"><ul class="list">${Object.entries(data.parts).map(([name, part]) => html`<${Part} key=${name} name=${name} part=${part} />`)}</ul></section>
      <${Jobs} jobs=${data.parts.keeper?.jobs ?? []} />`}<//>`;
}

/** @param {{name: string, part: HealthPart}} props */
function Part({ name, part }) {
  const lag =
    part.lag_blocks !== null && part.lag_blocks > 0
      ? `${counted(part.lag_blocks, "block")} behind`
      : part.lag_s === null
        ? ""
        : part.lag_s < 5
          ? "up to date"
          : `${part.lag_s} s behind`;
  return html`<li class="row"><${Badge} tone=${TONES[part.status] ?? ""}>${part.status}<//><strong>${name}</strong><span class="quiet grow">${WHAT[name] ?? ""}${part.note ? `: ${part.note}` : ""}</span><span>${lag}</span></li>`;
}

/** @param {{jobs: readonly SlowJob[]}} props */
function Jobs({ jobs }) {
  if (jobs.length === 0) return null;
  return html`<section class="card" aria-labelledby="jobs"><h2 id="jobs">Slow jobs</h2><div class="table" tabindex="0"><table><thead><tr><th scope="col">Job</th><th scope="col">Last run</th><th scope="col">Outcome</th><th scope="col">Next</th></tr></thead>
    <tbody>${jobs.map((one) => html`<tr><td>${words(one.name)}</td><td>${one.last_start ? html`<${Time} at=${one.last_start} />` : "never"}</td><td>${one.outcome ?? "–"}${one.note ? html`<div class="quiet">${one.note}</div>` : null}</td><td>${one.next_due ? html`<${Time} at=${one.next_due} />` : "–"}</td></tr>`)}</tbody></table></div></section>`;
}
