// The terms' arithmetic, exactly, while they are written.

import { amountText, percent, units, usdc } from "../app/format.js";
import { html } from "../app/ui.js";

/**
 * What may be lost until the stop line, in base units: the budget less the floor, which is rounded up as the contract
 * does (docs/rules.md). Null while a figure is missing.
 * @param {{budget_usdc: string, stop_floor_bps: number | null}} terms
 */
export function lossUntilStop({ budget_usdc: budget, stop_floor_bps: bps }) {
  const whole = units(budget);
  if (whole === null || whole <= 0n || bps === null || bps < 0 || bps > 10_000) return null;
  const kept = whole * BigInt(10_000 - bps);
  const floor = kept / 10_000n + (kept % 10_000n === 0n ? 0n : 1n);
  return { floor, loss: whole - floor };
}

/**
 * @param {{terms: {budget_usdc: string, per_tx_cap_usdc: string | null, daily_cap_usdc: string | null,
 *   stop_floor_bps: number | null}}} props
 */
export function Worked({ terms }) {
  const stop = lossUntilStop(terms);
  const budget = units(terms.budget_usdc);
  const once = units(terms.per_tx_cap_usdc) ?? budget;
  const daily = units(terms.daily_cap_usdc) ?? budget;
  if (budget === null || once === null || daily === null || stop === null) {
    return html`<section class="card"><h2>Worked example</h2><p class="quiet">Fill in budget and stop line.</p></section>`;
  }
  const text = (/** @type {bigint} */ value) => usdc(amountText(value));
  const most = once < daily ? once : daily;
  return html`<section class="card stack" aria-labelledby="worked" data-worked><h2 id="worked">Worked example</h2>
    <dl class="pairs"><dt>At once</dt><dd>at most ${text(most)} USDC</dd>
      <dt>In any 24 hours</dt><dd>at most ${text(daily)} USDC may leave the vault</dd>
      <dt>Stop line</dt><dd>${text(stop.floor)} USDC or less stops it</dd>
      <dt>Worst case until then</dt><dd><strong>${text(stop.loss)} USDC</strong> (${percent(terms.stop_floor_bps)} of the budget)</dd>
      <dt>Worst case of all</dt><dd>${text(budget)} USDC, all that is in the vault, if a price jumps past the line or a target fails</dd></dl></section>`;
}
