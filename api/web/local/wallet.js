// A wallet of the chain of `make up`, for a browser without one. It is announced as any other (EIP-6963), and
// nothing else of the console knows of it. It holds no key: anvil signs for its own accounts, whose keys everybody
// has, and only after a click in the dialog here. The service gives this file only beside such a node.

import { html } from "../app/ui.js";
import { useEffect, useRef } from "../vendor/hooks.js";
import { render } from "../vendor/preact.js";
import { effect } from "../vendor/signals.js";
import { ask, BUILT_IN, isTrying, VISITOR } from "./node.js";

/** @typedef {{method: string, params?: any}} Request EIP-1193 */

const NAME = "Built-in wallet (local chain only)";
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>" +
  "<rect width='32' height='32' rx='8' fill='%23b45309'/><path d='M7 11h18v13H7zM7 11l3-4h12l3 4M19 16h6v4h-6z' " +
  "fill='none' stroke='white' stroke-width='2'/></svg>";
const READS =
  /^(?:eth_(?:call|chainId|blockNumber|estimateGas|gasPrice|get\w+)|net_version|web3_clientVersion)$/;

/** What is asked for, in a word, by the methods that need a click. @type {Readonly<Record<string, string>>} */
const ASKED = {
  personal_sign: "Sign a message",
  eth_signTypedData_v4: "Sign typed data",
  eth_sendTransaction: "Send a transaction",
};

/** One request at a time is shown; the others wait for their turn. */
let turn = Promise.resolve();

/** @param {Request} request */
async function request({ method, params = [] }) {
  if (method === "eth_requestAccounts" || method === "eth_accounts") return [await account()];
  if (method === "wallet_switchEthereumChain") {
    if (params[0]?.chainId === (await ask("eth_chainId"))) return null;
    throw refusal(4902, "The built-in wallet knows the local chain only.");
  }
  if (Object.hasOwn(ASKED, method)) {
    const mine = turn.then(() => confirmed(method, params));
    turn = mine.then(
      () => undefined,
      () => undefined,
    );
    if (!(await mine)) throw refusal(4001, "User rejected the request.");
    return ask(method, ...(method === "eth_signTypedData_v4" ? typed(params) : params));
  }
  if (READS.test(method)) return ask(method, ...params);
  throw refusal(4200, `The built-in wallet does not know ${method}.`);
}

async function account() {
  return (await ask("eth_accounts"))[VISITOR];
}

/** anvil takes the data as an object. @param {any[]} params */
function typed([from, data]) {
  return [from, typeof data === "string" ? JSON.parse(data) : data];
}

/** @param {number} code @param {string} message */
function refusal(code, message) {
  return Object.assign(new Error(message), { code });
}

/**
 * Whether the person in front of the page agrees.
 * @param {string} method @param {any[]} params
 * @returns {Promise<boolean>}
 */
function confirmed(method, params) {
  const box = document.createElement("div");
  document.body.append(box);
  return new Promise((resolve) => {
    const answer = (/** @type {boolean} */ agrees) => {
      render(null, box);
      box.remove();
      resolve(agrees);
    };
    render(html`<${Question} method=${method} params=${params} onAnswer=${answer} />`, box);
  });
}

/** @param {{method: string, params: any[], onAnswer: (agrees: boolean) => void}} props */
function Question({ method, params, onAnswer }) {
  const dialog = useRef(/** @type {any} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} class="local-wallet" aria-labelledby="local-wallet" onCancel=${() => onAnswer(false)}><div class="stack">
    <p class="quiet">${NAME}</p>
    <h2 id="local-wallet">${ASKED[method]}</h2>
    ${
      method === "eth_sendTransaction"
        ? html`<${Transaction} ...${params[0]} />`
        : html`<pre tabindex="0">${method === "personal_sign" ? textOf(params[0]) : written(typed(params)[1])}</pre>`
    }
    <p class="quiet">Its key is public and its money is worth nothing. Your own wallet asks you in the same way.</p>
    <div class="row"><button type="button" class="primary" onClick=${() => onAnswer(true)}>Confirm</button>
      <button type="button" onClick=${() => onAnswer(false)}>Decline</button></div>
  </div></dialog>`;
}

/** @param {{to?: string, value?: string, data?: string}} props */
function Transaction({ to, value, data }) {
  return html`<dl class="pairs"><dt>To</dt><dd><code>${to}</code></dd>
    <dt>ETH</dt><dd>${value && BigInt(value) > 0n ? `${BigInt(value)} wei` : "none"}</dd>
    <dt>Gas</dt><dd>paid in test ETH</dd></dl>
    <details><summary>Data (${Math.max(0, ((data ?? "0x").length - 2) / 2)} bytes)</summary><pre tabindex="0">${data}</pre></details>`;
}

/** The text of 0x hex. @param {string} hex */
function textOf(hex) {
  const bytes = hex.slice(2).match(/../g) ?? [];
  return new TextDecoder().decode(Uint8Array.from(bytes, (one) => Number.parseInt(one, 16)));
}

/** The message of typed data, one value a line. @param {any} data */
function written({ primaryType, domain, message }) {
  return `${primaryType}\n${JSON.stringify({ domain, message }, null, 2)}`;
}

const detail = Object.freeze({
  info: { uuid: crypto.randomUUID(), name: NAME, icon: ICON, rdns: BUILT_IN },
  provider: { request, on() {}, removeListener() {} },
});
const announce = () =>
  window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
window.addEventListener("eip6963:requestProvider", announce);
announce();

effect(() => {
  if (isTrying.value) void import("./guide.js");
});
