// A draft: read the terms, ask what they would have done, sign them.

import { get, post } from "../app/api.js";
import { Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { go, link } from "../app/router.js";
import { chosenWallet, readService, session } from "../app/session.js";
import { NeedsWallet } from "../app/sign_in.js";
import { Badge, html, Notice } from "../app/ui.js";
import { WalletError } from "../app/wallet.js";
import { useWork } from "../app/work.js";
import { Clauses } from "./clauses.js";
import { WhatIf } from "./what_if.js";
import { Worked } from "./worked.js";

/**
 * @typedef {import("../app/answers.js").Terms} Terms
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 */

/** @param {{data: WholeMandate, reload: () => Promise<void>}} props */
export function Draft({ data, reload }) {
  const { mandate } = data;
  const id = mandate.public_id;
  const { isBusy, error, run } = useWork();
  const found = useResource((stop) => get(`/mandate-wallet/mandates/${id}/terms`, {}, stop), [id], {
    again: [data],
  });
  const terms = found.data;
  const sign = () =>
    run(async () => {
      if (terms === null) return;
      const chosen = chosenWallet();
      const owner = session.value?.address;
      if (owner === undefined) throw new WalletError("unauthorized");
      const { requireTerms } = await import("../app/consistency.js");
      requireTerms(terms, { mandate, owner, service: await readService() });
      const signature = await chosen.signTypedData(terms.typed_data, { from: owner });
      await post(`/mandate-wallet/mandates/${id}/sign`, { signature }, { isRepeatable: true });
      await reload();
    });
  const discard = () =>
    run(async () => {
      await post(`/mandate-wallet/mandates/${id}/cancel`, {}, { isRepeatable: true });
      go("mandates");
    });
  return html`<section class="card stack" aria-label="Sign">
      <h2>${mandate.proposed_by_agent_id ? "An agent proposes this mandate" : "Read before you sign"}</h2>
      <p class="quiet">Your wallet shows the same values. Signing moves no money: the vault is created and funded afterwards, by you.</p>
      <p>${mandate.purpose}</p>
      ${terms?.notice ? html`<${Notice} tone="attention" title="Before you sign"><p>${terms.notice}</p><//>` : null}
      <${NeedsWallet} />
      <div class="row"><button type="button" class="primary" disabled=${isBusy || terms === null} onClick=${sign}>${isBusy ? "Waiting for your wallet …" : "Sign the terms"}</button>
        <a class="button" href=${link("new", id)}>Edit</a><button type="button" disabled=${isBusy} onClick=${discard}>Discard the draft</button></div>
      <${Refused} error=${error ?? found.error} />
    </section>
    <div class="two"><div class="stack"><${Clauses} clauses=${data.clauses} title="What you sign, in plain words" isPaper=${mandate.market_mode === "paper"} /></div>
      <div class="stack">
        <${Worked} terms=${mandate} />
        ${mandate.agent_id ? html`<${WhatIf} agentId=${mandate.agent_id} terms=${mandate} />` : html`<${Notice} tone="attention" title="No agent is named"><p>Whoever accepts it from the open board acts. <a href=${link("new", id)}>Name one.</a></p><//>`}
        ${terms ? html`<${SignedText} terms=${terms} />` : null}
      </div></div>`;
}

/** @param {{terms: Terms}} props the bytes that are signed, for those who read them */
function SignedText({ terms }) {
  return html`<section class="card stack" aria-labelledby="typed"><h2 id="typed">What your wallet signs</h2>
    <p class="quiet">A wallet that knows our ERC-7730 descriptors shows the terms in words, others the typed data below. The list of targets is signed as a hash; clause 5 has it in words.</p>
    <p class="quiet">Digest <code>${terms.digest}</code></p>
    <details><summary>Typed data (EIP-712)</summary><pre tabindex="0">${JSON.stringify(terms.typed_data, null, 2)}</pre></details>
    ${terms.version === 2 ? null : html`<${Badge}>terms of version ${terms.version}<//>`}</section>`;
}
