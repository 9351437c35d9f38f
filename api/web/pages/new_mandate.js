// What am I about to sign? One form, the arithmetic beside it, then the terms in plain words.

import { get, post, put } from "../app/api.js";
import { VENUES } from "../app/contracts.js";
import { counted, units, words } from "../app/format.js";
import { faultsOf, Read, Refused } from "../app/refusal.js";
import { useResource } from "../app/resource.js";
import { link, place } from "../app/router.js";
import { readService } from "../app/session.js";
import { html, Notice, PageHead, useState } from "../app/ui.js";
import { WalletMoney } from "../app/wallet_money.js";
import { useWork } from "../app/work.js";
import { Worked } from "./worked.js";

/**
 * @typedef {import("../app/answers.js").FleetAgent} FleetAgent
 * @typedef {import("../app/answers.js").Listing} Listing
 * @typedef {import("../app/answers.js").MandateView} MandateView
 * @typedef {import("../app/answers.js").WholeMandate} WholeMandate
 * @typedef {import("../app/ui.js").InputOf} InputOf
 * `contracts` by name, of the discovery document.
 * @typedef {Record<string, string>} Contracts
 * @typedef {{draft: WholeMandate | null, agents: FleetAgent[], listing: Listing | null,
 *   contracts: Contracts}} Found
 * @typedef {typeof START} Values
 * @typedef {{values: Values, set: (name: keyof Values) => (event: InputOf) => void,
 *   wrong: Record<string, string>}} FieldProps
 */

const AMOUNTS = /** @type {const} */ ([
  "budget_usdc",
  "per_tx_cap_usdc",
  "daily_cap_usdc",
  "approval_above_usdc",
]);
/** Fields behind "More". */
const MORE = ["approval_above_usdc", "fee_percent", "targets_text"];
const PAYMENTS = "x402_adapter"; // of the deployment: an entry of kind x402 stands for it
const AMOUNT = /^\d{1,13}(\.\d{1,6})?$/;
/** What a new form begins with. */
const START = {
  purpose: "",
  agent_id: "",
  budget_usdc: "1000",
  per_tx_cap_usdc: "200",
  daily_cap_usdc: "450",
  stop_percent: "5",
  horizon_days: "30",
  approval_above_usdc: "",
  fee_percent: "10",
  market_mode: "testnet",
  targets: "default",
  targets_text: "",
  venues: "",
};

/** @param {{path: string[]}} props */
export default function NewMandate({ path }) {
  const id = path[0] ?? null;
  const query = place.value.query;
  const found = useResource(
    async (stop) => ({
      draft:
        id === null
          ? null
          : await get(`/mandate-wallet/mandates/${encodeURIComponent(id)}`, undefined, stop),
      agents: (await get("/agents/mine", undefined, stop)).agents,
      listing: query.get("listing")
        ? await get(
            `/mandate-wallet/gallery/${encodeURIComponent(query.get("listing") ?? "")}`,
            undefined,
            stop,
          )
        : null,
      contracts: (await readService()).contracts,
    }),
    [id, query.get("listing"), query.get("agent")],
  );
  return html`<${PageHead} title=${id ? "Edit the draft" : "New mandate"} lead="A draft costs nothing and binds nobody. Only your signature does." />
    <${Read} of=${found} what="the form">${(/** @type {Found} */ data) => html`<${Form} id=${id} ...${data} agentId=${query.get("agent")} />`}<//>`;
}

/** @param {MandateView} mandate @returns {Values} */
function valuesOf(mandate) {
  const isDefault = mandate.allowed_targets.every((one) =>
    ["mandate_vault", "x402"].includes(one.kind),
  );
  return {
    ...START,
    purpose: mandate.purpose,
    agent_id: mandate.agent_id ?? "",
    budget_usdc: short(mandate.budget_usdc),
    per_tx_cap_usdc: short(mandate.per_tx_cap_usdc),
    daily_cap_usdc: short(mandate.daily_cap_usdc),
    stop_percent: fromBps(mandate.stop_floor_bps),
    horizon_days: String(mandate.horizon_days),
    approval_above_usdc: short(mandate.approval_above_usdc),
    fee_percent: fromBps(mandate.payout_rule?.bps ?? 1000),
    market_mode: mandate.market_mode,
    targets: isDefault ? "default" : "own",
    targets_text: isDefault ? "" : JSON.stringify(mandate.allowed_targets, null, 2),
  };
}

/** @param {string | null | undefined} amount */
function short(amount) {
  return (amount ?? "").replace(/\.?0+$/, "");
}

/** @param {number} bps */
function fromBps(bps) {
  return `${Math.trunc(bps / 100)}${bps % 100 ? `.${String(bps % 100).padStart(2, "0")}`.replace(/0$/, "") : ""}`;
}

/** Hundredths of a percent of a percentage's text, or null. @param {string} text */
export function toBps(text) {
  const found = /^(\d{1,3})(?:\.(\d{1,2}))?$/.exec(text.trim());
  return found ? Number(found[1]) * 100 + Number((found[2] ?? "").padEnd(2, "0")) : null;
}

/** @param {Found & {id: string | null, agentId: string | null}} props */
function Form({ id, draft, agents, listing, contracts, agentId }) {
  const wanted = agentId ?? listing?.runner_agent_id ?? null;
  const isOthers = wanted !== null && !agents.some((one) => String(one.user_id) === wanted);
  const [values, setValues] = useState(() =>
    draft
      ? valuesOf(draft.mandate)
      : {
          ...START,
          purpose: place.value.query.get("purpose") ?? "",
          agent_id: isOthers ? "" : (wanted ?? String(agents[0]?.user_id ?? "")),
        },
  );
  const { isBusy, error, run } = useWork();
  const wrong = faults(values);
  // what the service refused stands at its field until that is changed
  const refused = refusedFields(error);
  const [changedSince, setChangedSince] = useState(/** @type {readonly string[]} */ ([]));
  const standing = Object.entries(refused).filter(([name]) => !changedSince.includes(name));
  const [isTried, setTried] = useState(false);
  const set = (/** @type {keyof Values} */ name) => (/** @type {InputOf} */ event) => {
    const { value } = event.currentTarget;
    setValues((old) => ({ ...old, [name]: value }));
    setChangedSince((old) => [...old, name]);
  };
  const field = {
    values,
    set,
    wrong: isTried ? { ...Object.fromEntries(standing), ...wrong } : {},
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setTried(true);
    setChangedSince([]);
    if (Object.keys(wrong).length > 0) {
      requestAnimationFrame(() =>
        /** @type {HTMLElement | null} */ (document.querySelector("[aria-invalid=true]"))?.focus(),
      );
      return;
    }
    void run(async () => {
      const { mandate } = draft
        ? await changed(draft.mandate, values, contracts)
        : await created(values, listing, contracts);
      // in place of the form: going back must not offer what was saved as new
      location.replace(link("mandates", mandate.public_id));
    });
  };
  const terms = {
    budget_usdc: values.budget_usdc,
    per_tx_cap_usdc: values.per_tx_cap_usdc || null,
    daily_cap_usdc: values.daily_cap_usdc || null,
    stop_floor_bps: toBps(values.stop_percent),
  };
  return html`<div class="two"><form class="card stack" onSubmit=${submit} novalidate>
      ${listing ? html`<${Notice} title=${`From the gallery: ${listing.title}`}><p>${listing.summary}</p><//>` : null}
      <${Text} name="purpose" label="What is it for?" hint="In your own words; it is stored and shown as text." ...${field} isLong />
      ${isOthers ? html`<${Notice} title=${`Agent ${wanted} belongs to another owner`}><p>You name agents of your own. A draft on the open board can be accepted by any agent, this one too: tell its owner.</p><//>` : null}
      <${Agent} agents=${agents} ...${field} />
      <${Text} name="budget_usdc" label="Budget" hint="What the vault holds. The agent can lose no more than that." unit="USDC" ...${field} />
      ${values.market_mode === "testnet" ? html`<${WalletMoney} needed=${units(values.budget_usdc)} />` : null}
      <${Text} name="per_tx_cap_usdc" label="Cap per action" hint="At most this in one action. Empty: the whole budget." unit="USDC" ...${field} />
      <${Text} name="daily_cap_usdc" label="Cap per 24 hours" hint="At most this in any 24 hours, whatever comes back. Empty: the whole budget." unit="USDC" ...${field} />
      <${Text} name="stop_percent" label="Stop line" hint="Stop when this much of the budget is lost." unit="%" ...${field} />
      <${Text} name="horizon_days" label="For how long" hint="The agent may act for this many days." unit="days" ...${field} />
      <details open=${standing.some(([name]) => MORE.includes(name))}><summary>More: approval threshold, the agent's share, targets, paper</summary><div class="stack" >
        <${Text} name="approval_above_usdc" label="Tell me above" hint="Actions above this are listed for you. Stored; nothing waits for your answer yet." unit="USDC" ...${field} />
        <${Text} name="fee_percent" label="The agent's share of the gain" hint="Paid at the settlement; nothing without a gain." unit="%" ...${field} />
        <${Targets} venues=${venuesOf(contracts)} ...${field} />
        <fieldset><legend>Money</legend>
          ${[
            ["testnet", "Test USDC in a vault on chain"],
            ["paper", "Paper: no vault and no money, to try the rules"],
          ].map(
            ([value, label]) =>
              html`<label class="row"><input type="radio" name="market_mode" value=${value} checked=${values.market_mode === value} onChange=${set("market_mode")} />${label}</label>`,
          )}</fieldset>
      </div></details>
      <${Refused} error=${Object.keys(refused).length > 0 ? null : error} />
      ${standing.length > 0 ? html`<p class="loss" role="alert">■ The service refused ${counted(standing.length, "field")}; the reason is at the field.</p>` : null}
      <div class="row"><button class="primary" disabled=${isBusy}>${isBusy ? "Saving …" : "Save and read the terms"}</button>
        <a class="button" href=${id ? link("mandates", id) : link("mandates")}>Cancel</a></div>
    </form>
    <div class="stack"><${Worked} terms=${terms} /><section class="card stack"><h2>What happens next</h2><ol><li>You read the terms in plain words, as they will be signed.</li><li>Your wallet signs them: no money moves.</li><li>You create and fund the vault in one transaction.</li><li>You can stop at any time until the end, and withdraw: with this page or <a href="/exit.html">without this service</a>.</li></ol></section></div></div>`;
}

/**
 * @param {FieldProps & {name: keyof Values, label: string, hint: string, unit?: string, isLong?: boolean}} props
 */
function Text({ name, label, hint, unit, values, set, wrong, isLong = false }) {
  const fault = wrong[name];
  const shared = {
    id: name,
    name,
    value: values[name],
    onInput: set(name),
    "aria-describedby": `${name}-hint`,
    "aria-invalid": fault ? "true" : undefined,
  };
  return html`<div class="field"><label for=${name}>${label}</label>
    ${isLong ? html`<textarea ...${shared} maxlength="2000"></textarea>` : html`<div class=${unit ? "with-unit" : ""}><input ...${shared} inputmode="decimal" autocomplete="off" />${unit ? html`<span>${unit}</span>` : null}</div>`}
    <span class=${fault ? "error" : "hint"} id=${`${name}-hint`}>${fault ?? hint}</span></div>`;
}

/** @param {FieldProps & {agents: readonly FleetAgent[]}} props */
function Agent({ agents, values, set, wrong }) {
  const isMine = agents.some((one) => String(one.user_id) === values.agent_id);
  return html`<div class="field"><label for="agent_id">Agent</label>
    <select id="agent_id" name="agent_id" value=${values.agent_id} onChange=${set("agent_id")} aria-invalid=${wrong.agent_id ? "true" : undefined} aria-describedby="agent-hint">
      <option value="">Open board: any agent that accepts</option>
      ${agents.map((one) => html`<option value=${String(one.user_id)}>${one.agent_name} (yours${one.wallet_address ? "" : ", no wallet linked yet"})</option>`)}
      ${values.agent_id && !isMine ? html`<option value=${values.agent_id}>Agent ${values.agent_id}</option>` : null}
    </select><span class="hint" id="agent-hint">Another's agent accepts from the open board. <a href=${link("agents")}>Their records</a>.</span></div>`;
}

/**
 * What this service's deployment has of the venues that are known here.
 * @param {Contracts} contracts
 * @returns {{name: string, title: string, does: string}[]} by the adapter's name
 */
export function venuesOf(contracts) {
  return Object.keys(contracts).flatMap((name) => {
    const [kind, known] =
      Object.entries(VENUES).find(
        ([adapter]) => name === adapter || name.endsWith(`_${adapter}`),
      ) ?? [];
    if (kind === undefined || known === undefined) return [];
    const own = name === kind ? "" : `: ${words(name.slice(0, -kind.length - 1))}`;
    return [{ name, title: known.title + own, does: known.does }];
  });
}

/** @param {string} chosen names, apart by commas @param {string} name */
function toggled(chosen, name) {
  const names = namesOf(chosen);
  return (names.includes(name) ? names.filter((one) => one !== name) : [...names, name]).join(",");
}

/** @param {string} chosen @returns {string[]} */
function namesOf(chosen) {
  return chosen === "" ? [] : chosen.split(",");
}

/** @param {FieldProps & {venues: ReturnType<typeof venuesOf>}} props */
function Targets({ venues, values, set, wrong }) {
  return html`<fieldset><legend>What the agent may call</legend>
    ${[
      ["default", "All venues of this service, and its paid reads"],
      ["venues", "Only the venues that I choose"],
      ["own", "My own list"],
    ].map(
      ([value, label]) =>
        html`<label class="row"><input type="radio" name="targets" value=${value} checked=${values.targets === value} onChange=${set("targets")} />${label}</label>`,
    )}
    ${
      values.targets === "venues"
        ? html`<div class="stack" id="venues">${venues.map(
            ({ name, title, does }) =>
              html`<label class="row"><input type="checkbox" name="venues" value=${toggled(values.venues, name)} checked=${namesOf(values.venues).includes(name)} onChange=${set("venues")} aria-invalid=${wrong.venues ? "true" : undefined} /><span><strong>${title}</strong><br /><span class="hint">${does}</span></span></label>`,
          )}${wrong.venues ? html`<span class="error">${wrong.venues}</span>` : null}</div>`
        : null
    }
    ${
      values.targets === "own"
        ? html`<div class="field"><label for="targets_text">Targets</label><textarea id="targets_text" class="mono" rows="8" value=${values.targets_text} onInput=${set("targets_text")} aria-invalid=${wrong.targets_text ? "true" : undefined}></textarea>
      <span class=${wrong.targets_text ? "error" : "hint"}>${wrong.targets_text ?? 'JSON: [{"address": "0x…", "functions": [{"signature": "deposit(uint256,address)", "recipient_word": 1}]}]'}</span></div>`
        : null
    }</fieldset>`;
}

/** @param {Values} values @returns {Record<string, string>} what is wrong, by field */
export function faults(values) {
  /** @type {Record<string, string>} */
  const found = {};
  if (values.purpose.trim() === "") found.purpose = "Say in a few words what the agent is to do.";
  for (const name of AMOUNTS) {
    const isOptional = name !== "budget_usdc";
    if (isOptional && values[name] === "") continue;
    if (!AMOUNT.test(values[name]))
      found[name] = "Write an amount such as 250 or 12.50, with at most six decimals.";
    else if (units(values[name]) === 0n) found[name] = "Write an amount above zero.";
  }
  const stop = toBps(values.stop_percent);
  if (stop === null || stop < 1 || stop > 9_999)
    found.stop_percent = "Write a percentage above 0 and below 100, such as 5 or 7.5.";
  const fee = toBps(values.fee_percent);
  if (fee === null || fee > 10_000) found.fee_percent = "Write a percentage from 0 to 100.";
  if (!/^[1-9]\d{0,3}$/.test(values.horizon_days))
    found.horizon_days = "Write a whole number of days.";
  if (values.targets === "own" && listOf(values.targets_text) === null)
    found.targets_text = "This is not a JSON list.";
  if (values.targets === "venues" && values.venues === "")
    found.venues = "Choose at least one venue.";
  return found;
}

/** Fields of the service that have another name here. */
const NAMES = /** @type {Readonly<Record<string, string>>} */ ({
  stop_floor_bps: "stop_percent",
  "payout_rule.bps": "fee_percent",
});

/** What the service refused, by field of this form; nothing where one of them is not shown here. @param {unknown} error */
function refusedFields(error) {
  const found = Object.entries(faultsOf(error)).map(([name, text]) => [
    name.startsWith("allowed_targets") ? "targets_text" : (NAMES[name] ?? name),
    text,
  ]);
  return found.every(([name = ""]) => Object.hasOwn(START, name)) ? Object.fromEntries(found) : {};
}

/** @param {string} text @returns {unknown[] | null} */
function listOf(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

/** @param {Values} values @param {Listing | null} listing @param {Contracts} contracts */
function created(values, listing, contracts) {
  const named = { agent_id: values.agent_id || null, listing_id: listing?.id ?? null };
  const body = { ...termsOf(values, contracts), ...named };
  return post("/mandate-wallet/mandates", body, { isRepeatable: true });
}

/**
 * A draft is replaced whole, but for its agent: what this form does not show stays as it was written.
 * @param {MandateView} before
 * @param {Values} values
 * @param {Contracts} contracts
 */
async function changed(before, values, contracts) {
  const { public_id: id, strategy } = before;
  const { agent_id } = values;
  if (agent_id !== "" && agent_id !== before.agent_id)
    await post(`/mandate-wallet/mandates/${id}/assign`, { agent_id }, { isRepeatable: true });
  const kept = { target_bps: before.target_bps, on_floor: before.on_floor };
  const offer = strategy && {
    listing_id: String(strategy.listing_id),
    listing_params: Object(strategy.params),
  };
  const body = { ...termsOf(values, contracts), ...kept, ...offer };
  return put(`/mandate-wallet/mandates/${id}`, body, { isRepeatable: true });
}

/**
 * @param {Values} values @param {Contracts} contracts
 * @returns {{allowed_targets?: unknown[] | null}}
 */
function targetsOf(values, contracts) {
  if (values.targets === "own") return { allowed_targets: listOf(values.targets_text) };
  if (values.targets !== "venues") return {};
  return {
    allowed_targets: namesOf(values.venues).map((name) =>
      name === PAYMENTS ? { kind: "x402" } : { address: contracts[name] },
    ),
  };
}

/** @param {Values} values @param {Contracts} contracts */
function termsOf(values, contracts) {
  return {
    purpose: values.purpose.trim(),
    open_board: values.agent_id === "",
    budget_usdc: values.budget_usdc,
    per_tx_cap_usdc: values.per_tx_cap_usdc || null,
    daily_cap_usdc: values.daily_cap_usdc || null,
    stop_floor_bps: toBps(values.stop_percent) ?? 0,
    horizon_days: Number(values.horizon_days),
    approval_above_usdc: values.approval_above_usdc || null,
    payout_rule: {
      kind: /** @type {const} */ ("share_of_verified_gain"),
      bps: toBps(values.fee_percent),
    },
    market_mode: /** @type {"paper" | "testnet"} */ (values.market_mode),
    ...targetsOf(values, contracts),
  };
}
