// A purchase of reserve tokens by two signatures: the service sends one transaction and pays its gas, for a fee in USDC.
//
// Before the wallet is asked, both documents are held against what is shown, against GET /reserve/config, and against
// what token and batch contract say themselves; once more just before they are signed. The agent's key stays in the page.

import { uintWord } from "../app/abi.js";
import { getByKey, postByKey } from "../app/api.js";
import { SELECTORS } from "../app/contracts.js";
import { units, words } from "../app/format.js";
import { keccak256 } from "../app/keccak.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { chosenWallet } from "../app/session.js";
import { changed } from "../app/transaction_card.js";
import { Amount, Badge, Hash, html, Notice, Time, useEffect, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";
import { ask, sender, tokenText } from "./reserve_parts.js";

/**
 * @typedef {import("../app/answers.js").BuyTransfer} BuyTransfer
 * @typedef {import("../app/answers.js").PreparedBuy} PreparedBuy
 * @typedef {import("../app/answers.js").ReserveConfig} ReserveConfig
 * @typedef {import("../app/answers.js").SponsoredBuyState} SponsoredBuyState
 * @typedef {import("../app/ui.js").InputOf} InputOf
 * `buyer` signs `offer`, with the agent's key that asked for it.
 * @typedef {{offer: PreparedBuy, buyer: string, agentKey: string, amount: bigint}} Prepared
 */

const EVERY_S = 3;
const LEAST = 5_000_000n;
const [TREASURY, QUOTE_BUY, RESERVE] = ["treasury()", "quoteBuy(uint256)", "RESERVE()"].map(
  (signature) => keccak256(signature).slice(0, 10),
);

/**
 * Errors: WalletError where something differs; nothing is signed then.
 * @param {ReserveConfig} config @param {Omit<Prepared, "agentKey">} prepared
 */
async function requireSame(config, { offer, buyer, amount }) {
  const { requirePurchase } = await import("../app/consistency.js");
  const batch = config.contracts.sponsored_buy;
  if (batch === null) throw new Error("The service has no contract for sponsored buys.");
  const facts = {
    treasury: await ask(config, `${TREASURY}`),
    usdc: await ask(config, SELECTORS.usdc),
    tokens: await ask(config, QUOTE_BUY + uintWord(amount)),
    reserve: await ask(config, `${RESERVE}`, batch),
  };
  requirePurchase(offer, { buyer, config, amount, facts, now: Date.now() / 1000 });
}

/** @param {{config: ReserveConfig}} props */
export function SponsoredBuy({ config }) {
  const [typed, setTyped] = useState("10");
  const [key, setKey] = useState("");
  const [prepared, setPrepared] = useState(/** @type {Prepared | null} */ (null));
  const [handedIn, setHandedIn] = useState(/** @type {Prepared | null} */ (null));
  const { isBusy, error, run } = useWork();
  const amount = units(typed);
  const isEnough = amount !== null && amount >= LEAST;
  const prepare = (/** @type {Event} */ event) => {
    event.preventDefault();
    return run(async () => {
      setPrepared(null);
      const buyer = await sender();
      const agentKey = key.trim();
      const path = "/reserve/buy/sponsored/prepare";
      const offer = await postByKey(path, agentKey, { usd: typed, buyer });
      const asked = { offer, buyer, amount: units(typed) ?? 0n };
      await requireSame(config, asked);
      setPrepared({ ...asked, agentKey });
    });
  };
  const sign = (/** @type {Prepared} */ shown) =>
    run(async () => {
      const { offer, buyer, agentKey } = shown;
      await requireSame(config, shown);
      const wallet = chosenWallet();
      const purchase_signature = await wallet.signTypedData(offer.purchase, { from: buyer });
      const fee_signature = await wallet.signTypedData(offer.fee, { from: buyer });
      const body = { id: offer.id, purchase_signature, fee_signature };
      await postByKey("/reserve/buy/sponsored", agentKey, body);
      setHandedIn(shown);
      setPrepared(null);
    });
  return html`<section class="card stack" aria-labelledby="sponsored"><h2 id="sponsored">Buy without ETH</h2>
    ${config.sponsor_enabled ? null : html`<${Notice} tone="attention" title="Not on offer now"><p>${config.sponsor_reason ?? "The service does not say why."}</p><//>`}
    ${config.sponsor_enabled && config.sponsor_new_wallets_reason !== null ? html`<${Notice} tone="attention" title="Not for new wallets now"><p>A wallet that bought this way before still can. Otherwise: ${config.sponsor_new_wallets_reason}.</p><//>` : null}
    <form class="stack" onSubmit=${prepare}><div class="field"><label for="sponsored-usd">USDC for tokens</label>
      <div class="with-unit"><input id="sponsored-usd" inputmode="decimal" required pattern="[0-9]{1,12}([.][0-9]{1,6})?" value=${typed} onInput=${(/** @type {InputOf} */ event) => setTyped(event.currentTarget.value)} /><span>USDC</span></div>
      <p class="hint">5 USDC or more; the fee comes on top.</p></div>
      <div class="field"><label for="sponsored-key">Key of the agent that buys</label><input id="sponsored-key" type="password" autocomplete="off" required value=${key} onInput=${(/** @type {InputOf} */ event) => setKey(event.currentTarget.value)} />
        <p class="hint">Your wallet pays and gets the tokens. The key stays in this page and is forgotten when you leave it.</p></div>
      <div class="row"><button disabled=${isBusy || !config.sponsor_enabled || !isEnough || key.trim() === ""}>Get a quote</button></div></form>
    ${prepared === null ? null : html`<${Offered} offer=${prepared.offer} isBusy=${isBusy} onSign=${() => sign(prepared)} />`}
    ${handedIn === null ? null : html`<${HandedIn} key=${handedIn.offer.id} of=${handedIn} />`}
    <p class="quiet">Two signatures and no transaction of your own: the service sends both transfers at once, or neither is made.</p>
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
    <div class="row"><button type="button" class="primary" disabled=${isBusy} onClick=${onSign}>${isBusy ? "Waiting for your wallet …" : "Sign both and buy"}</button></div>`;
}

/** @param {{of: Prepared}} props */
function HandedIn({ of: { offer, agentKey } }) {
  const [isOver, setOver] = useState(false);
  const state = useResource(
    async (stop) => {
      const found = await getByKey(`/reserve/buy/sponsored/${offer.id}`, agentKey, stop);
      setOver(found.is_final);
      return found;
    },
    [offer.id],
    { everyS: isOver ? 0 : EVERY_S },
  );
  useEffect(() => {
    changed.value += 1; // what the wallet holds may be something else now
  }, [state.data?.state]);
  return html`<${Read} of=${state} what="what became of the buy">${(
    /** @type {SponsoredBuyState} */ data,
  ) => html`<div class="stack tight" role="status" data-testid="sponsored-state" data-state=${data.state}>
      <div class="head"><strong>Your buy</strong><${Badge} tone=${data.is_final ? "settled" : "attention"}>${words(data.state)}<//></div>
      <p>${data.next}</p>
      <ul class="list">${data.transfers.map((one) => html`<${Transferred} key=${one.kind} one=${one} />`)}</ul></div>`}<//>`;
}

/** @param {{one: BuyTransfer}} props */
function Transferred({ one }) {
  return html`<li class="head"><span>${words(one.kind)} <${Amount} exact value=${one.amount_usdc} />${one.tokens === null ? null : `, ${tokenText(one.tokens)} RSV`}</span>
    <span>${words(one.why ?? one.state)}${one.tx_hash === null ? null : html` <${Hash} value=${one.tx_hash} label="the transaction" />`}</span></li>`;
}
