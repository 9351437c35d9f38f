// Choosing a wallet, signing in, signing out.

import { get } from "./api.js";
import { integer, shortHash } from "./format.js";
import { Refused } from "./refusal.js";
import { useResource } from "./resource.js";
import { link } from "./router.js";
import {
  connect,
  ended,
  FAUCET,
  localRpc,
  session,
  signIn,
  signOut,
  wallet,
  walletState,
  wallets,
} from "./session.js";
import { Amount, Figure, html, Notice, Title, useEffect, useRef, useState } from "./ui.js";
import { useWork } from "./work.js";

/** @typedef {import("./wallet-discovery.js").FoundWallet} FoundWallet */

// there before the page is drawn, so that nothing moves
const start =
  localRpc === null
    ? null
    : await import("../local/start.js").then(
        (module) => module.default,
        () => null,
      );

/** The page in place of one that needs a session. */
export function SignIn() {
  const { isBusy, error, run } = useWork();
  const address = walletState.value.address;
  const overview = useResource((stop) => get("/overview", undefined, stop), []);
  const enter = async () => {
    await signIn();
    document.getElementById("main")?.focus(); // the button that had the focus is gone
  };
  const choose = (/** @type {FoundWallet} */ found) =>
    run(async () => {
      await connect(found);
      await enter();
    });
  return html`<div class="card sign-in"><div class="stack">
    <${Title}>Give an agent a budget, not your keys<//>
    <p>You sign a mandate: a USDC budget, caps per action and per day, a stop line and an end date. A vault contract
    enforces it. The agent acts inside it with its own key and can never withdraw; you can stop it at any time.</p>
    <${Overview} data=${overview.data} />
    <p class="quiet">Without signing in you can look at <a href=${link("agents")}>the agents</a> and their
    records, <a href=${link("rules")}>what a mandate enforces</a>${overview.data?.sample_mandate_id ? html`, <a href=${link("sample")}>a mandate at work</a> (simulated)` : null} and <a href=${link("board")}>the market</a>.</p>
    <${Begin} />
    <h2>Sign in with your wallet</h2>
    ${ended.value === "expired" ? html`<${Notice} tone="attention" title="Your session has ended"><p>Nothing was lost. Sign in again to go on where you were.</p><//>` : null}
    <p class="quiet">Your wallet signs one message. It moves no money and gives no allowance. The session lasts 24 hours, in this tab alone.</p>
    ${
      address === null
        ? html`<${WalletList} isBusy=${isBusy} onChoose=${choose} />`
        : html`<div class="stack tight">
          <button type="button" class="primary" disabled=${isBusy} onClick=${() => run(enter)}>${isBusy ? "Waiting for your wallet …" : `Sign in as ${shortHash(address)}`}</button>
          <details><summary>Use another wallet</summary><${WalletList} isBusy=${isBusy} onChoose=${choose} /></details>
        </div>`
    }
    <${Refused} error=${error} />
  </div></div>`;
}

/** How to begin without money: the chain of `make up` has all that it takes, and a test network a faucet. */
function Begin() {
  if (start !== null) return html`<${start} />`;
  return html`<p class="quiet">To try it on Base Sepolia you need test USDC, from <a href=${FAUCET} rel="noreferrer">Circle's faucet</a>, and some test ETH.</p>`;
}

/**
 * Three numbers of this service, in places that are there before they are known.
 * @param {{data: import("./answers.js").Answer<"/overview"> | null}} props
 */
function Overview({ data }) {
  const known = (/** @type {unknown} */ shown) =>
    data === null ? html`<span class="quiet">unknown</span>` : shown;
  return html`<div class="figures">
    <${Figure} label="Mandates at work" small>${known(integer(data?.mandates_at_work))}<//>
    <${Figure} label="Held by vaults" small>${known(html`<${Amount} value=${data?.usdc_held} />`)}<//>
    <${Figure} label="Refused attempts" small>${known(integer(data?.refused_attempts))}<//></div>`;
}

/** Where something is to be signed, and the session outlived the wallet's connection. */
export function NeedsWallet() {
  const { isBusy, error, run } = useWork();
  if (wallet.value !== null && walletState.value.address !== null) return null;
  return html`<${Notice} tone="attention" title="Your wallet is not connected in this tab"><p>You can read everything. To sign or send, connect it:</p>
    <${WalletList} isBusy=${isBusy} onChoose=${(/** @type {FoundWallet} */ found) => run(() => connect(found))} />
    <${Refused} error=${error} /><//>`;
}

/** @param {{isBusy: boolean, onChoose: (found: FoundWallet) => void}} props */
function WalletList({ isBusy, onChoose }) {
  const found = wallets.value;
  if (found.length === 0) {
    return html`<${Notice} tone="attention" title="This browser has no wallet">
      <p>Install a wallet extension, or open this page in your wallet's own browser, then reload. Any wallet that follows EIP-6963 or EIP-1193 works.</p>
      <div class="row"><button type="button" onClick=${() => location.reload()}>Reload</button></div><//>`;
  }
  return html`<div class="stack tight">${found.map(
    (
      one,
    ) => html`<button type="button" class="wallet-choice" key=${one.uuid} disabled=${isBusy} onClick=${() => onChoose(one)}>
      ${one.icon ? html`<img src=${one.icon} alt="" />` : null}<span>${one.name}</span></button>`,
  )}</div>`;
}

/** In the bar: who is signed in, and the way out. */
export function WalletButton() {
  const dialog = useRef(/** @type {any} */ (null));
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  const found = session.value;
  if (found === null) return html`<a class="button" href=${link("mandates")}>Sign in</a>`;
  const leave = async () => {
    dialog.current?.close();
    await signOut();
  };
  return html`<button type="button" onClick=${() => setOpen(true)} aria-haspopup="dialog">${shortHash(found.address)}</button>
    ${
      isOpen
        ? html`<dialog ref=${dialog} onClose=${() => setOpen(false)} aria-labelledby="account"><div class="stack">
          <h2 id="account">Account</h2>
          <dl class="pairs"><dt>Signed in as</dt><dd><code>${found.address}</code></dd>
            <dt>Wallet</dt><dd>${wallet.value?.found.name ?? "not connected in this tab"}</dd>
            <dt>Network</dt><dd>${walletState.value.chainId ?? "unknown"}</dd></dl>
          <form method="dialog" class="row"><button type="button" onClick=${leave}>Sign out</button><button>Close</button></form>
        </div></dialog>`
        : null
    }`;
}
