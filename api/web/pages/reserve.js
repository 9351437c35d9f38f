// The reserve token: what it is worth, what a purchase would mint, and buying, redeeming and converting with a wallet.
//
// Nothing is burned for a reference that no account has: it is asked for just before the transaction is built.

import { addressWord, uintWord } from "../app/abi.js";
import { get } from "../app/api.js";
import { SELECTORS } from "../app/contracts.js";
import { amountText, integer, units } from "../app/format.js";
import { Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { walletState } from "../app/session.js";
import { NeedsWallet } from "../app/sign_in.js";
import { begin, changed } from "../app/transaction_card.js";
import {
  Amount,
  Badge,
  Figure,
  html,
  Notice,
  PageHead,
  Time,
  Unknown,
  useEffect,
  useState,
} from "../app/ui.js";
import { useWork } from "../app/work.js";
import { ask, sender, tokenText, tokenUnits } from "./reserve_parts.js";
import { SponsoredBuy } from "./sponsored_buy.js";

/**
 * @typedef {import("../app/answers.js").ReserveConfig} ReserveConfig
 * @typedef {import("../app/answers.js").ReserveQuote} ReserveQuote
 * @typedef {import("../app/answers.js").ReserveTokenState} ReserveTokenState
 * @typedef {import("../app/ui.js").InputOf} InputOf
 */

const EVERY_S = 15;
const TYPED_MS = 250;
const A_CREDIT = 10_000n; // base units of USDC
const REF = /^0x[0-9a-f]{64}$/i;

export default function Reserve() {
  const config = useResource((stop) => get("/reserve/config", undefined, stop), [], {
    everyS: EVERY_S,
  });
  const state = useResource((stop) => get("/reserve/state", undefined, stop), [], {
    everyS: EVERY_S,
    again: [changed.value],
  });
  return html`<${PageHead} title="Reserve" lead="A token backed by USDC. Its price never falls; it is redeemed without a fee, or converted into an agent's credit." />
    <${Read} of=${state} what="the token's state">${(/** @type {ReserveTokenState} */ data) => html`<${Prices} state=${data} />`}<//>
    <${Read} of=${config} what="the token's contracts">${(/** @type {ReserveConfig} */ data) => html`<${Actions} config=${data} isPaused=${state.data?.is_paused ?? false} />`}<//>`;
}

/** @param {{state: ReserveTokenState}} props */
function Prices({ state }) {
  return html`<section class="card figures" aria-label="Prices">
    <${Figure} label="Redeem price" note="USDC per token; a redemption pays it"><${Amount} exact value=${state.redeem_price} /><//>
    <${Figure} label="Buy price" note="102 % of what backs a token; the 2 % go to its holders over 24 hours"><${Amount} exact value=${state.buy_price} /><//>
    <${Figure} label="Once all is unlocked" note=${state.unlocked_at === null ? "nothing is locked now" : html`by <${Time} at=${state.unlocked_at} />, if nothing else happens`}><${Amount} exact value=${state.unlocked_price} /><//>
    <${Figure} label="Reserve ratio" note="1.000000: fully covered; above it: donations">${state.reserve_ratio ?? html`<${Unknown} />`}<//>
    <${Figure} label="As of" note=${`block ${integer(state.block)}`} small><${Time} at=${state.at} /><//>
  </section>
  ${state.is_paused ? html`<${Notice} tone="attention" title="Buying is paused"><p>Redeeming and converting go on.</p><//>` : null}`;
}

/** @param {{config: ReserveConfig, isPaused: boolean}} props */
function Actions({ config, isPaused }) {
  const held = useResource(
    () => (walletState.value.address === null ? Promise.resolve(null) : balanceOf(config)),
    [walletState.value.address],
    { again: [changed.value] },
  );
  return html`<${NeedsWallet} />
    <div class="two even">
      <${Buy} config=${config} isPaused=${isPaused} />
      <${SponsoredBuy} config=${config} />
      <${Redeem} config=${config} held=${held.data} />
      <${Convert} config=${config} held=${held.data} />
    </div>`;
}

/** @param {ReserveConfig} config */
function balanceOf(config) {
  return ask(config, SELECTORS.balanceOf + addressWord(walletState.value.address ?? ""));
}

/** @param {ReserveConfig} config @param {string} to @param {string} data */
function called(config, to, data) {
  return { to, data, value: "0x0", chain_id: config.chain_id };
}

/** @param {string} typed @returns {string} the same, once nobody has typed for a moment */
function useTyped(typed) {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return settled;
}

/** @param {{config: ReserveConfig, isPaused: boolean}} props */
function Buy({ config, isPaused }) {
  const [typed, setTyped] = useState("100");
  const usd = useTyped(typed);
  const amount = units(usd);
  const isAmount = amount !== null && amount > 0n;
  const quote = useResource(
    (stop) => (isAmount ? get("/reserve/quote", { usd }, stop) : Promise.resolve(null)),
    [usd],
    { everyS: EVERY_S, again: [changed.value] },
  );
  const { isBusy, error, run } = useWork();
  const buy = (/** @type {Event} */ event) => {
    event.preventDefault();
    return run(async () => {
      const from = await sender();
      const { tokens_base: least } = await get("/reserve/quote", { usd: typed });
      const paid = units(typed) ?? 0n;
      const { usdc, reserve_token: token } = config.contracts;
      await begin({
        title: `Buy for ${typed} USDC`,
        from,
        calls: [
          called(config, usdc, SELECTORS.approve + addressWord(token) + uintWord(paid)),
          called(
            config,
            token,
            SELECTORS.buy + uintWord(paid) + uintWord(BigInt(least)) + addressWord(from),
          ),
        ],
      });
    });
  };
  return html`<section class="card stack" aria-labelledby="buy"><h2 id="buy">Buy</h2>
    <form class="stack" onSubmit=${buy}><div class="field"><label for="usd">USDC to pay</label>
      <div class="with-unit"><input id="usd" inputmode="decimal" required pattern="[0-9]{1,12}([.][0-9]{1,6})?" value=${typed} onInput=${(/** @type {InputOf} */ event) => setTyped(event.currentTarget.value)} /><span>USDC</span></div></div>
      <div aria-live="polite">${isAmount ? html`<${Read} of=${quote} what="the quote">${(/** @type {ReserveQuote | null} */ data) => (data ? html`<${Quoted} quote=${data} />` : null)}<//>` : html`<p class="quiet">Write an amount above 0 with at most six decimals.</p>`}</div>
      <div class="row"><button class="primary" disabled=${isBusy || isPaused || !isAmount}>Buy with my wallet</button></div></form>
    <p class="quiet">Two transactions: an allowance for this amount, then the purchase. It fails rather than mint less than quoted.</p>
    <${Refused} error=${error} /></section>`;
}

/** @param {{quote: ReserveQuote}} props */
function Quoted({ quote }) {
  return html`<dl class="pairs"><dt>You get</dt><dd data-testid="quoted">${tokenText(quote.tokens)} RSV</dd>
    <dt>It would redeem for at once</dt><dd><${Amount} exact value=${quote.redeem_usdc} /></dd>
    <dt>Or convert to</dt><dd>${integer(quote.credits)} credits</dd>
    ${quote.unlocked_at === null ? null : html`<dt>Once all is unlocked, <${Time} at=${quote.unlocked_at} /></dt><dd><${Amount} exact value=${quote.unlocked_usdc} />, or ${integer(quote.unlocked_credits)} credits</dd>`}</dl>`;
}

/** @param {{label: string, id: string, typed: string, held: bigint | null, onType: (text: string) => void}} props */
function TokensField({ label, id, typed, held, onType }) {
  return html`<div class="field"><label for=${id}>${label}</label>
    <div class="with-unit"><input id=${id} inputmode="decimal" required pattern="[0-9]{1,24}([.][0-9]{1,18})?" value=${typed} onInput=${(/** @type {InputOf} */ event) => onType(event.currentTarget.value)} /><span>RSV</span></div>
    ${held === null ? null : html`<p class="hint">Your wallet holds ${tokenText(held)} RSV.</p>`}</div>`;
}

/**
 * What typed tokens are worth now, base units of USDC, by the contract's own answer; null: no amount, or no wallet to
 * ask through.
 * @param {ReserveConfig} config @param {string} typed
 */
function useWorth(config, typed) {
  const settled = useTyped(typed);
  const amount = tokenUnits(settled);
  const { address } = walletState.value;
  const worth = useResource(
    async () =>
      amount === null || address === null
        ? null
        : { amount, usdc: await ask(config, SELECTORS.quoteRedeem + uintWord(amount)) },
    [settled, address],
    { everyS: EVERY_S, again: [changed.value] },
  );
  return { worth, isAmount: amount !== null, isAsked: address !== null };
}

/** @typedef {{amount: bigint, usdc: bigint}} Worth */

/**
 * @param {{of: ReturnType<typeof useWorth>, held: bigint | null, typed: string, show: (worth: Worth) => unknown}} props
 */
function WorthOf({ of: { worth, isAmount, isAsked }, held, typed, show }) {
  if (typed.trim() === "") return null;
  if (!isAmount)
    return html`<p class="quiet">Write an amount above 0 with at most eighteen decimals.</p>`;
  if (!isAsked)
    return html`<p class="quiet">Connect a wallet to see what these tokens are worth.</p>`;
  return html`<${Read} of=${worth} what="what these tokens are worth">${(
    /** @type {Worth | null} */ found,
  ) =>
    found === null
      ? null
      : html`<div class="stack tight">${show(found)}${held !== null && found.amount > held ? html`<p><${Badge} tone="loss">more than your wallet holds<//></p>` : null}</div>`}<//>`;
}

/** @param {bigint | null} held @param {string} typed */
function isPayable(held, typed) {
  const amount = tokenUnits(typed);
  return amount !== null && (held === null || amount <= held);
}

/** @param {{config: ReserveConfig, held: bigint | null}} props */
function Redeem({ config, held }) {
  const [typed, setTyped] = useState("");
  const worth = useWorth(config, typed);
  const { isBusy, error, run } = useWork();
  const redeem = (/** @type {Event} */ event) => {
    event.preventDefault();
    return run(async () => {
      const from = await sender();
      const amount = tokenUnits(typed) ?? 0n;
      const least = await ask(config, SELECTORS.quoteRedeem + uintWord(amount));
      const data = SELECTORS.redeem + uintWord(amount) + uintWord(least);
      const to = config.contracts.reserve_token;
      await begin({ title: `Redeem ${typed} RSV`, from, calls: [called(config, to, data)] });
    });
  };
  return html`<section class="card stack" aria-labelledby="redeem"><h2 id="redeem">Redeem</h2>
    <form class="stack" onSubmit=${redeem}><${TokensField} label="Tokens to redeem" id="redeem-tokens" typed=${typed} held=${held} onType=${setTyped} />
      <div aria-live="polite"><${WorthOf} of=${worth} held=${held} typed=${typed} show=${(/** @type {Worth} */ { usdc }) => html`<dl class="pairs"><dt>You get</dt><dd data-testid="redeems"><${Amount} exact value=${amountText(usdc)} /></dd></dl>`} /></div>
      <div class="row"><button disabled=${isBusy || !isPayable(held, typed)}>Redeem for USDC</button></div></form>
    <p class="quiet">No fee, never paused. The transaction fails if it would pay less than the contract says now.</p>
    <${Refused} error=${error} /></section>`;
}

/** @param {{config: ReserveConfig, held: bigint | null}} props */
function Convert({ config, held }) {
  const [typed, setTyped] = useState("");
  const [ref, setRef] = useState("");
  const worth = useWorth(config, typed);
  const isRef = REF.test(ref);
  const known = useResource(
    (stop) => (isRef ? get(`/reserve/refs/${ref}`, undefined, stop) : Promise.resolve(null)),
    [ref],
  );
  const { isBusy, error, run } = useWork();
  const convert = (/** @type {Event} */ event) => {
    event.preventDefault();
    return run(async () => {
      const from = await sender();
      const found = await get(`/reserve/refs/${ref}`);
      if (!found.is_known || found.account_ref.toLowerCase() !== ref.toLowerCase())
        throw new Error("No account has this reference: nothing was burned.");
      const data = SELECTORS.convert + uintWord(tokenUnits(typed) ?? 0n) + ref.slice(2);
      const to = config.contracts.reserve_token;
      await begin({ title: `Convert ${typed} RSV`, from, calls: [called(config, to, data)] });
    });
  };
  return html`<section class="card stack" aria-labelledby="convert"><h2 id="convert">Convert into credit</h2>
    <form class="stack" onSubmit=${convert}><${TokensField} label="Tokens to convert" id="convert-tokens" typed=${typed} held=${held} onType=${setTyped} />
      <div aria-live="polite"><${WorthOf} of=${worth} held=${held} typed=${typed} show=${(
        /** @type {Worth} */ { usdc },
      ) => html`<dl class="pairs"><dt>The agent gets</dt><dd data-testid="converts">${integer(Number(usdc / A_CREDIT))} credits</dd>
        <dt>For</dt><dd><${Amount} exact value=${amountText(usdc)} /></dd>
        <dt>Carried to the next</dt><dd><${Amount} exact value=${amountText(usdc % A_CREDIT)} /></dd></dl>`} /></div>
      <div class="field"><label for="ref">The agent's account_ref</label><input id="ref" required spellcheck="false" autocomplete="off" value=${ref} onInput=${(/** @type {InputOf} */ event) => setRef(event.currentTarget.value.trim())} />
        <p class="hint">Your agent gets it with its own key and gives it to you; it also sees there what was credited.</p></div>
      <div aria-live="polite">${
        ref === ""
          ? null
          : !isRef
            ? html`<p class="quiet">A reference is 0x and 64 hex characters.</p>`
            : known.error
              ? html`<${Refused} error=${known.error} />`
              : known.data === null
                ? html`<p class="quiet">Looking for its account.</p>`
                : known.data.is_known
                  ? html`<p><${Badge} tone="settled">an account has this reference<//></p>`
                  : html`<${Notice} tone="loss" title="No account has this reference"><p>What is converted for it would be held until the agent whose linked wallet you use claims it. Check the reference; nothing can be sent from here.</p><//>`
      }</div>
      <div class="row"><button disabled=${isBusy || !isPayable(held, typed) || known.data?.is_known !== true}>Convert</button></div></form>
    <p class="quiet">One way: tokens are burned, and 0.01 USDC of their share is one credit, once the block is safe. What is left below a credit is carried.</p>
    <${Refused} error=${error} /></section>`;
}
