// Check this record: what this browser can see by itself, and the command that proves the rest.

import { text } from "../app/api.js";
import { counted, integer } from "../app/format.js";
import { Refused } from "../app/refusal.js";
import { readService, wallet } from "../app/session.js";
import { Badge, html, Notice, useEffect, useRef, useState } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/record.js").Checked} Checked
 * @typedef {{step?: string, done?: Checked, error?: unknown}} State
 */

const MOST_SHOWN = 50;

/** @param {{id: string, mandate: MandateView}} props */
export function CheckRecord({ id, mandate }) {
  const [state, setState] = useState(/** @type {State} */ ({}));
  const stop = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    /** @type {Promise<never>} what is asked of service and wallet may never be answered */
    const cancelled = new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason)),
    );
    setState({ step: "downloading the record" });
    try {
      const onProgress = (
        /** @type {string} */ part,
        /** @type {number} */ done,
        /** @type {number} */ of,
      ) => signal.aborted || setState({ step: `${part}: ${integer(done)} of ${integer(of)}` });
      const checked = check(id, mandate, onProgress, signal);
      setState({ done: await Promise.race([checked, cancelled]) });
    } catch (error) {
      setState({ error: signal.aborted ? null : error });
    }
  };
  return html`<section class="card stack" aria-labelledby="check" data-check><div class="head"><h2 id="check">Check this record</h2>
      ${state.step ? html`<button type="button" onClick=${() => stop.current?.abort()}>Cancel</button>` : html`<button type="button" class="primary" onClick=${start}>${state.done ? "Check again" : "Check"}</button>`}</div>
    <p class="quiet">Computes the hash chain again, and looks each transaction and the newest anchor up at your wallet's node, not ours.</p>
    ${state.step ? html`<p role="status">${state.step} …</p>` : null}
    <${Refused} error=${state.error} />
    ${state.done ? html`<${Result} found=${state.done} />` : null}
    <${Command} id=${id} /></section>`;
}

/**
 * @param {string} id
 * @param {MandateView} mandate
 * @param {(part: string, done: number, of: number) => void} onProgress
 * @param {AbortSignal} signal
 */
async function check(id, mandate, onProgress, signal) {
  const chosen = wallet.value;
  if (chosen !== null) await chosen.requireChain(mandate.chain_id);
  const [{ checkRecord }, { contracts }, record] = await Promise.all([
    import("../app/record.js"),
    readService(),
    text(`/mandate-wallet/mandates/${encodeURIComponent(id)}/record`),
  ]);
  return checkRecord(record, {
    mandate: id,
    request: chosen && ((method, params) => chosen.request(method, params)),
    anchor: contracts.record_anchor ?? null,
    onProgress,
    signal,
  });
}

/** @param {{found: Checked}} props */
function Result({ found }) {
  const { rows, transactions, claims, anchor, problems, unknown } = found;
  const [verdict, tone, title] = problems.length
    ? ["different", "loss", "It differs: do not trust this record"]
    : unknown.length
      ? ["unchecked", "attention", "Nothing contradicts it, but not everything could be checked"]
      : ["agrees", "settled", "The rows are chained, and the chain has their transactions"];
  const sentences = [
    `${counted(rows, "row")}, ${counted(transactions, "transaction")} looked up.`,
    claims ? `${counted(claims, "row")} without a block: somebody's word.` : "",
    anchor === null
      ? "No hour of this record has been anchored yet."
      : `The newest anchor holds row ${anchor.seq}${anchor.isOnChain ? ", and the chain has it" : ""}.`,
  ];
  return html`<div data-verdict=${verdict}><${Notice} tone=${tone} title=${title}>
    <p>${sentences.filter(Boolean).join(" ")}</p>
    ${problems.length ? html`<ul>${problems.slice(0, MOST_SHOWN).map(({ seq, text: what }) => html`<li>${seq === null ? null : html`<${Badge} tone="loss">row ${seq}<//> `}${what}</li>`)}</ul>` : null}
    ${unknown.length ? html`<ul>${unknown.slice(0, MOST_SHOWN).map((what) => html`<li>${what}</li>`)}</ul>` : null}<//></div>`;
}

/** @param {{id: string}} props */
function Command({ id }) {
  return html`<p class="quiet">Signatures, sums and rows that were left out are proven by <code>verify-record</code>, which you install yourself. Save the record file below, then:</p>
    <pre><code>verify-record ${id}.ndjson --rpc https://your.node --factory 0xTheFactoryThatYouTrust</code></pre>`;
}
