// Check this record: what this browser can see by itself, and the command that proves the rest.

import { blob } from "../app/api.js";
import { counted, integer } from "../app/format.js";
import { begin, longTask } from "../app/long_work.js";
import { Refused } from "../app/refusal.js";
import { readService, wallet } from "../app/session.js";
import { Badge, html, Notice } from "../app/ui.js";

/**
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/record.js").Checked} Checked
 */

const MOST_SHOWN = 50;

/** @param {{id: string, mandate: MandateView}} props */
export function CheckRecord({ id, mandate }) {
  const key = `check ${id}`;
  const task = longTask(key);
  const start = () =>
    begin(key, "the check of this record", async (step, stop) => {
      step("downloading the record");
      const found = await check(
        id,
        mandate,
        (part, done, of) => step(`${part}: ${integer(done)} of ${integer(of)}`),
        stop,
      );
      return { words: verdictOf(found).title, done: found };
    });
  return html`<section class="card stack" aria-labelledby="check" data-check><div class="head"><h2 id="check">Check this record</h2>
      ${task?.isRunning ? html`<button type="button" onClick=${() => task.stop.abort()}>Cancel</button>` : html`<button type="button" class="primary" onClick=${start}>${task?.done ? "Check again" : "Check"}</button>`}</div>
    <p class="quiet">Computes the hash chain again, and looks each transaction and the newest anchor up at your wallet's node, not ours.</p>
    ${task?.isRunning ? html`<p role="status">${task.step} … You can leave this page.</p>` : null}
    <${Refused} error=${task?.error} />
    ${task?.done ? html`<${Result} found=${task.done} />` : null}
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
    blob(`/mandate-wallet/mandates/${encodeURIComponent(id)}/record`, { stop: signal }).then(
      (content) => content.text(),
    ),
  ]);
  return checkRecord(record, {
    mandate: id,
    request: chosen && ((method, params) => chosen.request(method, params)),
    anchor: contracts.record_anchor ?? null,
    onProgress,
    signal,
  });
}

/** @param {Checked} found */
function verdictOf({ problems, unknown }) {
  const [verdict, tone, title] = problems.length
    ? ["different", "loss", "It differs: do not trust this record"]
    : unknown.length
      ? ["unchecked", "attention", "Nothing contradicts it, but not everything could be checked"]
      : ["agrees", "settled", "The rows are chained, and the chain has their transactions"];
  return { verdict, tone, title };
}

/** @param {{found: Checked}} props */
function Result({ found }) {
  const { rows, transactions, claims, anchor, problems, unknown } = found;
  const { verdict, tone, title } = verdictOf(found);
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
