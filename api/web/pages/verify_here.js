// Verify in this browser: the record is checked against the node of the visitor's own wallet, not ours.

import { text } from "../app/api.js";
import { Refused } from "../app/refusal.js";
import { wallet } from "../app/session.js";
import { Badge, html, Notice, useRef, useState } from "../app/ui.js";
import { WalletError } from "../app/wallet.js";

/** @param {{id: string, mandate: any}} props */
export function VerifyHere({ id, mandate }) {
  const [state, setState] = useState(
    /** @type {{is: "idle" | "busy", done?: any, step?: string, error?: unknown}} */ ({
      is: "idle",
    }),
  );
  const stop = useRef(/** @type {AbortController | null} */ (null));
  const verify = async () => {
    stop.current = new AbortController();
    setState({ is: "busy", step: "Downloading the record" });
    try {
      const chosen = wallet.value;
      if (chosen === null && mandate.market_mode !== "paper") throw new WalletError("no_wallet");
      const [{ verifyRecord }, record] = await Promise.all([
        import("../verify/verify.js"),
        text(`/mandate-wallet/mandates/${id}/record`),
      ]);
      const done = await verifyRecord(record, {
        request: (/** @type {{method: string, params?: unknown[]}} */ { method, params }) =>
          /** @type {any} */ (chosen).request(method, params),
        onProgress: (/** @type {any} */ progress) =>
          setState({ is: "busy", step: progress.text ?? String(progress) }),
        signal: stop.current.signal,
      });
      setState({ is: "idle", done });
    } catch (error) {
      setState({ is: "idle", error });
    }
  };
  return html`<section class="card stack" aria-labelledby="verify" data-verify><div class="head"><h2 id="verify">Verify in this browser</h2>
      ${state.is === "busy" ? html`<button type="button" onClick=${() => stop.current?.abort()}>Cancel</button>` : html`<button type="button" class="primary" onClick=${verify}>Verify</button>`}</div>
    <p class="quiet">Recomputes hashes, signature and sums here, and asks the node of your wallet, not ours, for every transaction. The command <code>verify-record</code> checks more.</p>
    ${state.is === "busy" ? html`<p role="status">${state.step} …</p>` : null}
    <${Refused} error=${state.error} />
    ${state.done ? html`<${Verdict} done=${state.done} />` : null}</section>`;
}

/** @param {{done: any}} props */
function Verdict({ done }) {
  const tone =
    done.verdict === "differs" ? "loss" : done.verdict === "unchecked" ? "attention" : "settled";
  return html`<${Notice} tone=${tone} title=${done.text}>
    ${done.findings.length ? html`<ul>${done.findings.slice(0, 50).map((/** @type {any} */ one) => html`<li><${Badge} tone="loss">${one.name}<//> ${one.text}</li>`)}</ul>` : null}
    ${done.unchecked.length ? html`<details><summary>Not checked here: ${done.unchecked.length}</summary><ul>${done.unchecked.map((/** @type {any} */ one) => html`<li>${one.text ?? one}</li>`)}</ul></details>` : null}
    ${done.claims.length ? html`<details><summary>${done.claims.length} claims: only their author vouches for them</summary><ul>${done.claims.slice(0, 200).map((/** @type {any} */ one) => html`<li>${one.text ?? one}</li>`)}</ul></details>` : null}<//>`;
}
