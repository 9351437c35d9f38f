// What these terms would have done to the agent's own record.

import { post } from "../app/api.js";
import { counted, integer } from "../app/format.js";
import { Refused } from "../app/refusal.js";
import { Amount, html, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";

/**
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WhatIfAnswer} WhatIfAnswer
 */

/** Why the vault refuses, by the name of its error. */
export const REASONS = /** @type {Readonly<Record<string, string>>} */ ({
  OverPerTxCap: "over the cap per action",
  OverDailyCap: "over the cap of 24 hours",
  OverBudget: "over the budget",
  InsufficientIdle: "over the budget",
  TargetNotAllowed: "to a target that is not allowed",
  MandateStopped: "after the stop line",
});

/** @param {{agentId: string, terms: MandateView}} props */
export function WhatIf({ agentId, terms }) {
  const [found, setFound] = useState(/** @type {WhatIfAnswer | null} */ (null));
  const { isBusy, error, run } = useWork();
  const ask = () =>
    run(async () => {
      const { budget_usdc, per_tx_cap_usdc, daily_cap_usdc } = terms;
      const { stop_floor_bps, horizon_days, allowed_targets } = terms;
      const caps = { budget_usdc, per_tx_cap_usdc, daily_cap_usdc };
      const asked = { ...caps, stop_floor_bps, horizon_days, allowed_targets };
      setFound(await post("/mandate-wallet/terms/what-if", { agent_id: agentId, terms: asked }));
    });
  return html`<section class="card stack" aria-labelledby="whatif"><h2 id="whatif">What if they had applied before?</h2>
    <p class="quiet">Replays the agent's recorded actions under these terms.</p>
    <div class="row"><button type="button" disabled=${isBusy} onClick=${ask}>${isBusy ? "Replaying …" : found ? "Replay again" : "Replay the record"}</button></div>
    <${Refused} error=${error} />
    ${found ? html`<${Answer} found=${found} />` : null}</section>`;
}

/** @param {{found: WhatIfAnswer}} props */
function Answer({ found }) {
  if (found.actions.count === 0)
    return html`<p>The agent has no recorded action yet, so nothing can be said.</p>`;
  const refused = Object.entries(found.refused).filter(([, count]) => count > 0);
  const caps = found.smallest_caps;
  return html`<dl class="pairs"><dt>Actions</dt><dd>${integer(found.actions.count)} in ${counted(found.actions.mandates, "mandate")}${found.simulated ? ", simulated" : ""}</dd>
    <dt>Allowed</dt><dd>${integer(found.allowed)}</dd>
    <dt>Refused</dt><dd>${refused.length === 0 ? "none" : refused.map(([reason, count]) => html`<div>${integer(count)} ${REASONS[reason] ?? reason}</div>`)}</dd>
    <dt>Worst drawdown</dt><dd><${Amount} exact value=${found.worst_drawdown_usdc} why="No worth is recorded." /> of <${Amount} exact value=${found.stop_line.accepted_loss_usdc} /> that you accept</dd>
    <dt>Smallest caps that refuse nothing</dt><dd><${Amount} exact value=${caps.per_tx_cap_usdc} why="No caps would." /> at once, <${Amount} exact value=${caps.daily_cap_usdc} why="No caps would." /> in 24 hours</dd></dl>
    <details><summary>What this assumes</summary><ul>${found.assumes.map((/** @type {string} */ one) => html`<li>${one}</li>`)}</ul></details>`;
}
