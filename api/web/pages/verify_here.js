// Verify in this browser: the record is checked against the node of the visitor's own wallet, not ours.

import { text } from "../app/api.js";
import { integer, words } from "../app/format.js";
import { Refused } from "../app/refusal.js";
import { isLoopback, readService, session, wallet } from "../app/session.js";
import { Badge, html, Notice, useEffect, useRef, useState } from "../app/ui.js";
import { WalletError } from "../app/wallet.js";

/**
 * @typedef {import("../app/answers.js").MandateView} MandateView
 */

const VERDICTS = /** @type {Readonly<Record<string, [string, string]>>} */ ({
  sound: ["settled", "Sound: every row is proven, nothing is left out"],
  chain_sound: ["settled", "Chain rows sound, and claims beside them"],
  claims_only: ["attention", "Claims only: no chain stands behind a paper mandate"],
  different: ["loss", "It differs from the chain"],
  unchecked: ["attention", "It could not be fully checked; never read this as sound"],
});
const SHOWN = 50;

/**
 * @typedef {{isBusy: boolean, step?: string, done?: any, error?: unknown}} State
 * @param {{id: string, mandate: MandateView}} props
 */
export function VerifyHere({ id, mandate }) {
  const [state, setState] = useState(/** @type {State} */ ({ isBusy: false }));
  const stop = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const tell = (
      /** @type {string} */ part,
      /** @type {number} */ done,
      /** @type {number} */ of,
    ) => setState({ isBusy: true, step: `${part}: ${integer(done)} of ${integer(of)}` });
    setState({ isBusy: true, step: "the record is downloaded" });
    try {
      setState({ isBusy: false, done: await verify(id, mandate, tell, signal) });
    } catch (error) {
      setState({ isBusy: false, error: signal.aborted ? null : error });
    }
  };
  return html`<section class="card stack" aria-labelledby="verify" data-verify><div class="head"><h2 id="verify">Verify in this browser</h2>
      ${state.isBusy ? html`<button type="button" onClick=${() => stop.current?.abort()}>Cancel</button>` : html`<button type="button" class="primary" onClick=${start}>${state.done ? "Verify again" : "Verify"}</button>`}</div>
    <p class="quiet">Recomputes hashes, signatures and sums here, and asks the node of your wallet, not ours, for every transaction. <code>verify-record</code> checks more, with several nodes.</p>
    ${state.isBusy ? html`<p role="status">${state.step} …</p>` : null}
    <${Refused} error=${state.error} />
    ${state.done ? html`<${Verdict} done=${state.done} />` : null}</section>`;
}

/**
 * @param {string} id
 * @param {MandateView} mandate
 * @param {(part: string, done: number, of: number) => void} onProgress
 * @param {AbortSignal} signal
 */
async function verify(id, mandate, onProgress, signal) {
  const chosen = wallet.value;
  const isPaper = mandate.market_mode === "paper";
  if (chosen === null && !isPaper) throw new WalletError("no_wallet");
  if (chosen !== null && !isPaper) await chosen.requireChain(mandate.chain_id);
  const [{ verifyRecord }, record] = await Promise.all([
    import("../verify/verify.js"),
    text(`/mandate-wallet/mandates/${encodeURIComponent(id)}/record`),
  ]);
  const done = await verifyRecord(record, {
    request: async ({ method, params }) => {
      if (chosen === null) throw new WalletError("no_wallet");
      return chosen.request(method, /** @type {unknown[]} */ (params));
    },
    mandate: id,
    owner: session.value?.address,
    onProgress,
    signal,
    ...(await ownWord()),
  });
  return done;
}

/** A local chain has no published deployment: there, and only there, its contracts are this service's word. */
async function ownWord() {
  if (!isLoopback(location.hostname)) return {};
  const { contracts } = await readService();
  return {
    factories: contracts.factory ? [contracts.factory] : [],
    x402Adapters: contracts.x402_adapter ? [contracts.x402_adapter] : [],
  };
}

/** @param {{done: any}} props */
function Verdict({ done }) {
  const [tone, title] = VERDICTS[done.verdict] ?? ["loss", done.verdict];
  const { rows = 0, calls = 0 } = done.counts;
  return html`<div data-verdict=${done.verdict}><${Notice} tone=${tone} title=${title}>
    <p class="quiet">${integer(rows)} rows, ${integer(calls)} questions to your wallet's node${done.subject.asOfBlock ? `, up to block ${done.subject.asOfBlock}` : ""}.${isLoopback(location.hostname) ? " On this local chain the factory is this service's own word." : ""}</p>
    ${done.findings.length ? html`<ul>${done.findings.slice(0, SHOWN).map((/** @type {any} */ one) => html`<li><${Badge} tone="loss">${one.name}<//> ${one.seq === null ? "" : `row ${one.seq}: `}${one.text}</li>`)}</ul>` : null}
    ${done.unchecked.length ? html`<${List} title="Could not be checked" rows=${done.unchecked} isOpen />` : null}
    <${Claims} rows=${done.signedClaims} whose="signed by the author" />
    <${Claims} rows=${done.claims.filter((/** @type {number} */ seq) => !done.signedClaims.includes(seq))} whose="this service's word for what was said" />
    ${done.worth ? html`<p>The vault measures ${measured(done.worth)}${done.newestMark ? `; its newest mark, in row ${done.newestMark.row}, was ${measured(done.newestMark)}` : ""}.</p>` : null}
    ${done.remarks.length ? html`<${List} title="Remarks" rows=${done.remarks} />` : null}
    <${List} title="What only verify-record checks" rows=${done.notCheckedHere} />
    <details><summary>What the record is about</summary><dl class="pairs">${Object.entries(done.subject).map(([name, value]) => html`<dt>${words(name)}</dt><dd><code>${String(value ?? "unknown")}</code></dd>`)}</dl></details><//></div>`;
}

/** @param {{rows: readonly number[], whose: string}} props */
function Claims({ rows, whose }) {
  if (!rows.length) return null;
  return html`<p>${rows.length} ${rows.length === 1 ? "claim" : "claims"}, ${whose}: row ${rows.slice(0, SHOWN).join(", ")}${rows.length > SHOWN ? " …" : ""}</p>`;
}

/** @param {import("../verify/findings.js").Measure} measure */
const measured = ({ usdc, atCostUsdc, block }) =>
  usdc === null
    ? `nothing at block ${block}, since a venue that it asks fails: its worth is unknown`
    : `${usdc} USDC at block ${block}${atCostUsdc !== "0.000000" ? `, ${atCostUsdc} of it at cost` : ""}`;

/** @param {{title: string, rows: readonly string[], isOpen?: boolean}} props */
function List({ title, rows, isOpen = false }) {
  return html`<details open=${isOpen}><summary>${title}: ${rows.length}</summary><ul>${rows.slice(0, SHOWN).map((one) => html`<li>${one}</li>`)}</ul></details>`;
}
