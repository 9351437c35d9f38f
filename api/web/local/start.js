// The first page where `make up` runs: *Try it*, and how one's own wallet joins.

import { Refused } from "../app/refusal.js";
import {
  connect,
  localRpc,
  network,
  signIn,
  wallet,
  walletState,
  wallets,
} from "../app/session.js";
import { html, Notice } from "../app/ui.js";
import { useWork } from "../app/work.js";
import { useState } from "../vendor/hooks.js";
import { BUILT_IN, fill, isHere, tryIt } from "./node.js";

/** In place of the list of wallets' first line: the whole story in this browser, without an extension. */
export default function Start() {
  const { isBusy, error, run } = useWork();
  const found = wallets.value.find((one) => one.id === BUILT_IN);
  const others = wallets.value.filter((one) => one.id !== BUILT_IN);
  const enter = () =>
    run(async () => {
      if (found === undefined)
        throw new Error("The built-in wallet was not loaded. Reload the page.");
      tryIt(true);
      await connect(found);
      await signIn();
      document.getElementById("main")?.focus();
    });
  return html`<div class="stack">
    <div class="row"><button type="button" class="primary" disabled=${isBusy} onClick=${enter}>${isBusy ? "Waiting for your answer …" : "Try it"}</button>
      <span class="quiet grow">The whole story on this machine's own chain, in about three minutes, with a wallet that is
      built in. You need no extension and no money.</span></div>
    <${Refused} error=${error} />
    <details><summary>Use your own wallet</summary><${OwnWallet} others=${others} /></details>
  </div>`;
}

/** @param {{others: import("../app/wallet-discovery.js").FoundWallet[]}} props */
function OwnWallet({ others }) {
  const { isBusy, error, run } = useWork();
  const [done, setDone] = useState(/** @type {string | null} */ (null));
  const mine = wallet.value !== null && wallet.value.found.id !== BUILT_IN ? wallet.value : null;
  const address = mine ? walletState.value.address : null;
  if (others.length === 0) {
    return html`<p>This browser has no wallet of yours. Install one, reload the page, and its name appears here.</p>`;
  }
  const add = () =>
    run(async () => {
      if (mine === null) return;
      await mine.add(await network());
      setDone((await isHere(mine)) ? "network" : "elsewhere");
    });
  const money = () =>
    run(async () => {
      await fill(address ?? "");
      tryIt(true);
      setDone("money");
    });
  return html`<div class="stack">
    <ol class="list">
      <li class="row"><span class="grow">1. Connect it.</span>${others.map((one) => html`<button type="button" key=${one.uuid} disabled=${isBusy} onClick=${() => run(() => connect(one))}>${mine?.found.id === one.id && address ? "Connected" : `Connect ${one.name}`}</button>`)}</li>
      <li class="row"><span class="grow">2. Add this chain's node to it: <code>${localRpc}</code></span><button type="button" disabled=${isBusy || !address} onClick=${add}>Add the network</button></li>
      <li class="row"><span class="grow">3. Get 1 test ETH and 10,000 test USDC.</span><button type="button" disabled=${isBusy || !address} onClick=${money}>Get test money</button></li>
    </ol>
    ${done === "network" ? html`<${Notice} tone="settled" title="Your wallet has the node"><p>It may still be called Base Sepolia there.</p><//>` : null}
    ${done === "elsewhere" ? html`<${Notice} tone="attention" title="Your wallet still asks its own Base Sepolia"><p>It kept the node that it had. Open its settings, Networks, Base Sepolia, and choose <code>${localRpc}</code> as the default RPC URL; then press “Add the network” again.</p><//>` : null}
    ${done === "money" ? html`<${Notice} tone="settled" title="Sent"><p>Your wallet shows it within a few seconds. Now sign in with it below.</p><//>` : null}
    <${Refused} error=${error} />
    <p class="quiet">This chain has the number of Base Sepolia, 84532, so your wallet files the node under its Base Sepolia
    and may keep that name. If it goes on using its own node, choose <code>${localRpc}</code> in the network's settings.
    To remove it again: in the wallet's settings, open Networks, then Base Sepolia, and delete this RPC URL, or choose the
    former one. If the wallet shows a wrong nonce after <code>make up</code> was started again, clear its activity data.</p>
  </div>`;
}
