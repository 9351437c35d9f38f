// A purchase of reserve tokens by two signatures: the service sends one transaction and pays its gas, for a fee in USDC.
// An agent gets the quote and hands the signatures in, with its own key, which no page asks for; here a wallet signs.
//
// Before the wallet is asked, both documents are held against what is shown, against GET /reserve/config, and against
// what token and batch contract say themselves; once more just before they are signed.

import { uintWord } from "../app/abi.js";
import { SELECTORS } from "../app/contracts.js";
import { units } from "../app/format.js";
import { keccak256 } from "../app/keccak.js";
import { Refused } from "../app/refusal.js";
import { chosenWallet } from "../app/session.js";
import { Amount, download, html, Notice, Time, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";
import { ask, sender, tokenText } from "./reserve_parts.js";

/**
 * @typedef {import("../app/answers.js").PreparedBuy} PreparedBuy
 * @typedef {import("../app/answers.js").ReserveConfig} ReserveConfig
 * @typedef {Event & {currentTarget: HTMLTextAreaElement}} TextInput
 * `buyer` signs `offer`.
 * @typedef {{offer: PreparedBuy, buyer: string}} Prepared
 */

const [TREASURY, QUOTE_BUY, RESERVE] = ["treasury()", "quoteBuy(uint256)", "RESERVE()"].map(
  (signature) => keccak256(signature).slice(0, 10),
);

/**
 * Errors: WalletError where something differs; nothing is signed then.
 * @param {ReserveConfig} config @param {Prepared} prepared
 */
async function requireSame(config, { offer, buyer }) {
  const { requirePurchase } = await import("../app/consistency.js");
  const batch = config.contracts.sponsored_buy;
  if (batch === null) throw new Error("The service has no contract for sponsored buys.");
  const amount = units(offer.amount_usdc) ?? 0n;
  const facts = {
    treasury: await ask(config, `${TREASURY}`),
    usdc: await ask(config, SELECTORS.usdc),
    tokens: await ask(config, QUOTE_BUY + uintWord(amount)),
    reserve: await ask(config, `${RESERVE}`, batch),
  };
  requirePurchase(offer, { buyer, config, amount, facts, now: Date.now() / 1000 });
}

/** @param {string} text @returns {PreparedBuy} */
function offerOf(text) {
  try {
    const found = JSON.parse(text);
    if (typeof found?.id === "string" && found.purchase && found.fee) return found;
  } catch {
    // said below
  }
  throw new Error("This is not a quote. Paste the whole answer that your agent got, from { to }.");
}

/** @param {{config: ReserveConfig}} props */
export function SponsoredBuy({ config }) {
  const [typed, setTyped] = useState("");
  const [prepared, setPrepared] = useState(/** @type {Prepared | null} */ (null));
  const [signed, setSigned] = useState(/** @type {{id: string, text: string} | null} */ (null));
  const { isBusy, error, run } = useWork();
  const check = (/** @type {Event} */ event) => {
    event.preventDefault();
    return run(async () => {
      setPrepared(null);
      setSigned(null);
      const found = { offer: offerOf(typed), buyer: await sender() };
      await requireSame(config, found);
      setPrepared(found);
    });
  };
  const sign = (/** @type {Prepared} */ shown) =>
    run(async () => {
      const { offer, buyer } = shown;
      await requireSame(config, shown);
      const wallet = chosenWallet();
      const purchase_signature = await wallet.signTypedData(offer.purchase, { from: buyer });
      const fee_signature = await wallet.signTypedData(offer.fee, { from: buyer });
      const body = { id: offer.id, purchase_signature, fee_signature };
      setSigned({ id: offer.id, text: JSON.stringify(body, null, 2) });
      setPrepared(null);
    });
  return html`<section class="card stack" aria-labelledby="sponsored"><h2 id="sponsored">Buy without ETH</h2>
    ${config.sponsor_enabled ? null : html`<${Notice} tone="attention" title="Not on offer now"><p>${config.sponsor_reason ?? "The service does not say why."}</p><//>`}
    ${config.sponsor_enabled && config.sponsor_new_wallets_reason !== null ? html`<${Notice} tone="attention" title="Not for new wallets now"><p>A wallet that bought this way before still can. Otherwise: ${config.sponsor_new_wallets_reason}.</p><//>` : null}
    <p class="quiet">Your agent gets a quote for your wallet's address, with its own key, and gives it to you. Your wallet signs twice and sends nothing; the service makes both transfers at once, or neither.</p>
    <form class="stack" onSubmit=${check}><div class="field"><label for="sponsored-offer">The quote that your agent got</label>
      <textarea id="sponsored-offer" class="mono" rows="3" required spellcheck="false" value=${typed} onInput=${(/** @type {TextInput} */ event) => setTyped(event.currentTarget.value)}></textarea></div>
      <div class="row"><button disabled=${isBusy || !config.sponsor_enabled || typed.trim() === ""}>Check it</button></div></form>
    ${prepared === null ? null : html`<${Offered} offer=${prepared.offer} isBusy=${isBusy} onSign=${() => sign(prepared)} />`}
    ${signed === null ? null : html`<${Signed} ...${signed} />`}
    <${Refused} error=${error} /></section>`;
}

/** @param {{offer: PreparedBuy, isBusy: boolean, onSign: () => void}} props */
function Offered({ offer, isBusy, onSign }) {
  return html`<dl class="pairs" aria-label="The quote"><dt>You get at least</dt><dd data-testid="sponsored-least">${tokenText(offer.min_tokens)} RSV</dd>
    <dt>For</dt><dd><${Amount} exact value=${offer.amount_usdc} /></dd>
    <dt>Fee for gas</dt><dd><${Amount} exact value=${offer.fee_usdc} /></dd>
    ${units(offer.credit_usdc) === 0n ? null : html`<dt>Less, as owed to you</dt><dd><${Amount} exact value=${offer.credit_usdc} /></dd>`}
    <dt>In all</dt><dd><${Amount} exact value=${offer.total_usdc} /></dd>
    <dt>Good until</dt><dd><${Time} at=${offer.expires_at} /></dd></dl>
    <div class="row"><button type="button" class="primary" disabled=${isBusy} onClick=${onSign}>${isBusy ? "Waiting for your wallet …" : "Sign both"}</button></div>`;
}

/** @param {{id: string, text: string}} props */
function Signed({ id, text }) {
  return html`<${Notice} tone="settled" title="Signed: give this to your agent"><p>It hands both signatures in. They buy what is shown above and nothing else, and end by themselves.</p>
    <pre tabindex="0" data-testid="sponsored-signed">${text}</pre>
    <div class="row"><button type="button" onClick=${() => download(`${id}.json`, text, "application/json")}>Save as a file</button></div><//>`;
}
