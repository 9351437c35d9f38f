// The terms of a mandate, one sentence each, with who enforces it.

import { Badge, html } from "../app/ui.js";

/** @typedef {import("../app/answers.js").Clause} Clause */

/** @param {{clauses: readonly Clause[], title: string, isPaper: boolean}} props on paper no contract enforces anything */
export function Clauses({ clauses, title, isPaper }) {
  return html`<section class="card" aria-labelledby="clauses"><h2 id="clauses">${title}</h2>${isPaper ? html`<p class="quiet">On paper there is no contract: nothing enforces these; what the agent reports is checked against them.</p>` : null}<ol class="clauses">${clauses.map(
    (
      clause,
    ) => html`<li key=${clause.n} data-clause=${clause.key}><span class="n">${clause.n}</span><div><p>${clause.text_en}</p>
      <p class="quiet">${isPaper ? null : clause.status === "stored_pending" ? html`<${Badge} tone="attention">stored, not enforced<//>` : `enforced by the ${clause.enforced_by === "Contract" ? "contract" : clause.enforced_by.replace("Torii guard", "relay guard").toLowerCase()}`}</p></div></li>`,
  )}</ol></section>`;
}
