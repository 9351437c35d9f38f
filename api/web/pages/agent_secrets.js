// What an owner does about an agent's secrets and wallet, wherever it is asked for: the list of own agents, an alert.

import { post } from "../app/api.js";
import { Refused } from "../app/refusal.js";
import { chosenWallet, session } from "../app/session.js";
import { requireSignIn } from "../app/sign-in-text.js";
import { download, html, Notice, useState } from "../app/ui.js";
import { useWork } from "../app/work.js";

/**
 * @typedef {{user_id: string | number, api_key: string, recovery_code: string, bearer_token: string}} Made
 * @typedef {"confirm" | "rotate" | "unlink" | "undo"} Deed
 */

const DEEDS = /** @type {const} */ ({
  confirm: ["Confirm its wallet", "The wallet is the agent's: it is paid from now on."],
  rotate: [
    "Replace its secrets",
    "Its key, recovery code and token end at once; a wallet that waits is unlinked.",
  ],
  unlink: ["Unlink its wallet", "Your wallet signs it. The agent's secrets are replaced too."],
  undo: [
    "Undo the recovery",
    "The secrets are replaced for you, and a wallet linked since is unlinked.",
  ],
});

/** @param {Deed} deed @param {string} id @param {string | null} address the agent's wallet @returns {Promise<Made | null>} */
async function done(deed, id, address) {
  if (deed === "confirm") {
    if (address !== null) await post(`/agents/${id}/wallet/confirm`, { wallet_address: address });
    return null;
  }
  if (deed === "rotate") return post(`/agents/${id}/keys/rotate`);
  if (deed === "undo") return post(`/agents/${id}/recovery/undo`);
  const owner = session.value?.address ?? "";
  const purpose = "unlink";
  const { message } = await post("/auth/wallet/nonce", {
    wallet_address: owner,
    purpose,
    agent_id: id,
  });
  requireSignIn(message, { host: location.host, address: owner });
  const signature = await chosenWallet().signMessage(message, { from: owner });
  return post(`/agents/${id}/wallet/unlink`, { signature });
}

/**
 * A button for each deed; what ends secrets is confirmed first, and new ones are shown once.
 * @param {{id: string, address: string | null, deeds: readonly Deed[], onDone: () => Promise<void>}} props
 */
export function AgentDeeds({ id, address, deeds, onDone }) {
  const [asked, setAsked] = useState(/** @type {Deed | null} */ (null));
  const [made, setMade] = useState(/** @type {Made | null} */ (null));
  const { isBusy, error, run } = useWork();
  const start = (/** @type {Deed} */ deed) => {
    if (deed !== "confirm" && asked !== deed) return setAsked(deed);
    setAsked(null);
    return run(async () => {
      setMade(await done(deed, id, address));
      await onDone();
    });
  };
  return html`<div class="stack tight"><div class="row">${deeds.map((deed) => html`<button type="button" key=${deed} class=${asked === deed ? "stop" : ""} disabled=${isBusy} title=${DEEDS[deed][1]} onClick=${() => start(deed)}>${asked === deed ? `Yes: ${DEEDS[deed][0].toLowerCase()}` : DEEDS[deed][0]}</button>`)}
      ${asked === null ? null : html`<button type="button" class="plain" onClick=${() => setAsked(null)}>No</button>`}</div>
    ${asked === null ? null : html`<p class="attention" role="status">▲ ${DEEDS[asked][1]} What runs with them stops until it has the new ones.</p>`}
    <${Refused} error=${error} /><${Secrets} made=${made} onKept=${() => setMade(null)} /></div>`;
}

/** Secrets that were just made. @param {{made: Made | null, onKept: () => void}} props */
export function Secrets({ made, onKept }) {
  if (made === null) return null;
  const text = `agent ${made.user_id}\napi_key ${made.api_key}\nrecovery_code ${made.recovery_code}\nbearer_token ${made.bearer_token}\n`;
  return html`<${Notice} tone="attention" title="Keep these: they are shown once"><pre tabindex="0">${text}</pre><div class="row"><button type="button" onClick=${() => download(`agent-${made.user_id}.txt`, text)}>Save as a file</button><button type="button" class="plain" onClick=${onKept}>I have kept them</button></div><//>`;
}
