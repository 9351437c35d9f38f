// One vault as an emergency sheet: what is in it, and the steps out of it in their order.

import { ALLOWANCE_BPS, EXITS } from "../app/contracts.js";
import { amountText, timeText, usdcText } from "../app/words.js";
import { leastOf, takesMinimum } from "./calls.js";
import { button, el } from "./dom.js";
import { STATUS } from "./vaults.js";

/**
 * @typedef {import("./vaults.js").Vault} Vault
 * @typedef {import("./vaults.js").Position} Position
 * `send` null: the owner is not the wallet's account, or the wallet is elsewhere; only files are
 * offered. `safe`: files for Safe. `busy`: titles of the steps that are under way.
 * @typedef {{
 *   stop: () => void, unwind: (position: Position, least: string) => void,
 *   release: (position: Position) => void, withdraw: () => void,
 *   together: (() => void) | null, token: (text: string) => void,
 * }} Doing
 * @typedef {{key: string, send: Doing | null, safe: Doing, why: string, news: string,
 *   again: () => void}} Offer
 * @typedef {import("./dom.js").Children} Children
 */

const ZERO = "0x0000000000000000000000000000000000000000";
const WORKING = 1;
const DAY_S = 86_400n;
const RELEASE_WORDS =
  " If its venue does not pay, take its tokens once the mandate is stopped, then withdraw them below " +
  "by their address.";

/**
 * Which step is next: stop, unwind, withdraw, wait or done.
 * @param {Vault} vault
 * @returns {"stop" | "unwind" | "withdraw" | "wait" | "done"}
 */
export function nextStep(vault) {
  const canUnwind = vault.positions.some((one) => one.exit !== null && one.units !== null);
  if (isGrace(vault)) return canUnwind ? "unwind" : "wait";
  if (vault.status === WORKING && vault.readAt < vault.endsAt) return "stop";
  if (canUnwind) return "unwind";
  return vault.withdrawable > 0n ? "withdraw" : "done";
}

/**
 * Whether the contract would take the owner's stop now.
 * @param {Vault} vault
 */
export function canStop({ status, endsAt, readAt }) {
  return status <= WORKING && (readAt < endsAt || readAt >= endsAt + DAY_S);
}

/** @param {Vault} vault */
function freeLabel(vault) {
  if (!isLocked(vault)) return "You can take out";
  return isGrace(vault) ? "Yours, once the day is over" : "Yours, once it is stopped";
}

/**
 * Whether a withdrawal would be refused although there is money.
 * @param {Vault} vault
 */
function isLocked({ status, isOpen }) {
  return status === WORKING && !isOpen;
}

/** @param {Vault} vault */
function isGrace({ status, endsAt, readAt }) {
  return status === WORKING && readAt >= endsAt && readAt < endsAt + DAY_S;
}

/**
 * @param {Vault} vault
 * @param {Offer} offer
 * @param {Children} transactions
 */
export function vaultCard(vault, offer, transactions) {
  const title = `vault-${offer.key}`;
  return el(
    "section",
    { class: "card vault", "aria-labelledby": title },
    el("h3", { id: title, class: "mono break" }, vault.address),
    el(
      "p",
      { class: "lead" },
      el("span", { class: `badge s${vault.status}` }, STATUS[vault.status] ?? "Unknown"),
      ` ${summaryOf(vault)}`,
    ),
    facts(vault),
    el("h4", {}, "Steps"),
    offer.why !== "" && el("p", { class: "notice" }, offer.why),
    offer.send !== null && steps(vault, offer, offer.send, "send"),
    offer.news !== "" && el("p", { class: "notice", role: "status" }, offer.news),
    transactions,
    safeSteps(vault, offer),
    el("p", { class: "row" }, button(`read-${offer.key}`, "Read the vault again", offer.again)),
  );
}

/** @param {Vault} vault */
function summaryOf(vault) {
  switch (nextStep(vault)) {
    case "stop":
      return "The agent can still act. Stop the mandate first.";
    case "unwind":
      return "Close the open positions; what they bring comes to the vault.";
    case "withdraw":
      return "The money can be withdrawn now.";
    case "wait":
      return `The agent's fee is settled first; withdraw from ${timeText(vault.lockUntil)} on.`;
    default:
      return "There is nothing left to take out.";
  }
}

/** @param {Vault} vault */
function facts(vault) {
  const hasAgent = vault.agent.toLowerCase() !== ZERO;
  const free = `${usdcText(vault.withdrawable)} USDC`;
  return el(
    "dl",
    { class: "facts" },
    fact(freeLabel(vault), free, "figure"),
    fact("In the vault", `${usdcText(vault.balance)} USDC`),
    fact("Fee owed to the agent", `${usdcText(vault.feeOwed)} USDC`),
    fact("Owner", vault.owner, "mono break"),
    fact("Agent", hasAgent ? vault.agent : "none: nobody can act", hasAgent ? "mono break" : ""),
    fact("Ends", timeText(vault.endsAt)),
    vault.lockUntil !== 0n && fact("Opens by itself", timeText(vault.lockUntil)),
  );
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} [kind]
 */
function fact(name, value, kind = "") {
  return el("div", {}, el("dt", {}, name), el("dd", { class: kind }, value));
}

/**
 * @param {Vault} vault
 * @param {Offer} offer
 * @param {Doing} doing
 * @param {"send" | "safe"} how
 */
function steps(vault, offer, doing, how) {
  const next = how === "send" ? nextStep(vault) : "done";
  const id = `${how}-${offer.key}`;
  const verb = how === "send" ? "" : "File: ";
  const isWithdrawable = vault.withdrawable > 0n && !isLocked(vault);
  const { together } = doing;
  const todo = el(
    "ol",
    { class: "todo" },
    step(
      canStop(vault)
        ? button(`stop-${id}`, `${verb}Stop the mandate`, doing.stop, {
            isPrimary: next === "stop",
          })
        : null,
      stopWords(vault),
    ),
    ...positionSteps(vault, doing, id, verb, next === "unwind"),
    step(
      isWithdrawable || how === "safe"
        ? button(
            `withdraw-${id}`,
            `${verb}Withdraw ${usdcText(vault.withdrawable)} USDC`,
            doing.withdraw,
            { isPrimary: next === "withdraw", isDisabled: vault.withdrawable === 0n },
          )
        : null,
      isWithdrawable
        ? `To the owner, ${vault.owner}. All that is in the vault but the fee.`
        : "Withdraw: to the owner, once the vault is open and holds something.",
    ),
    together !== null &&
      step(
        button(`together-${id}`, `${verb}Stop and withdraw at once`, together),
        "Both as one transaction: either both happen or neither.",
      ),
  );
  return el("div", {}, todo, tokenStep(doing, id, verb));
}

/** @param {Vault} vault */
function stopWords(vault) {
  if (canStop(vault)) return "Final. The agent loses its power in the same transaction.";
  if (isGrace(vault)) return "Stop: not possible on the day after the end, nor needed after it.";
  return vault.status === 2 ? "Stopped already." : "Over and settled: there is nothing to stop.";
}

/**
 * @param {Vault} vault
 * @param {Doing} doing
 * @param {string} id
 * @param {string} verb
 * @param {boolean} isNext
 */
function positionSteps(vault, doing, id, verb, isNext) {
  const known = vault.positions.map((position, i) => {
    const worth = position.worth === null ? "worth unknown" : `${usdcText(position.worth)} USDC`;
    const signature = position.exit === null ? "" : (EXITS[position.exit]?.signature ?? "");
    if (position.units === null) {
      return step(null, `Position at ${position.adapter}: it does not say whether there is one.`);
    }
    if (position.exit === null || vault.status === 0) {
      return step(
        null,
        `Position at ${position.adapter}, ${worth}: this page knows no way to close it.`,
      );
    }
    const least = takesMinimum(position)
      ? leastField(position, `least-${position.adapter}-${id}`)
      : null;
    const close = () => doing.unwind(position, least?.value ?? "");
    return step(
      [
        least && el("label", { for: least.id }, "Least that you accept, in USDC"),
        least,
        button(`unwind-${i}-${id}`, `${verb}Close the position`, close, { isPrimary: isNext }),
        position.canRelease &&
          vault.status > WORKING &&
          button(`release-${i}-${id}`, `${verb}Take its tokens instead`, () =>
            doing.release(position),
          ),
      ],
      `${worth} at ${position.adapter}: ${position.units} units by ${signature}, at the price ` +
        `of that moment.${least === null ? "" : leastWords(position)}` +
        `${position.canRelease ? RELEASE_WORDS : ""}`,
    );
  });
  const others = vault.otherTargets.map((target) =>
    step(null, `There may be something at ${target} too, which this page cannot read.`),
  );
  return [...known, ...others];
}

/**
 * What the owner accepts; proposed from the worth, and never 0 by itself.
 * @param {Position} position
 * @param {string} id
 */
function leastField(position, id) {
  const least = leastOf(position);
  return /** @type {HTMLInputElement} */ (
    el("input", {
      id,
      inputmode: "decimal",
      autocomplete: "off",
      value: least === null ? "" : amountText(least),
    })
  );
}

/** @param {Position} position */
function leastWords({ worth }) {
  return worth === null
    ? " Its worth is unknown, so type the least that you accept; 0 accepts any price."
    : ` If it would bring less than ${ALLOWANCE_BPS / 100} % below its worth, the contract refuses; ` +
        "type another least, or 0 to accept any price.";
}

/**
 * @param {Doing} doing
 * @param {string} id
 * @param {string} verb
 */
function tokenStep(doing, id, verb) {
  const input = /** @type {HTMLInputElement} */ (
    el("input", { id: `token-${id}`, spellcheck: "false", autocomplete: "off", class: "mono" })
  );
  return el(
    "details",
    { id: `more-${id}` },
    el("summary", {}, "Another token in the vault"),
    el("label", { for: `token-${id}` }, "Address of the token"),
    input,
    el(
      "p",
      { class: "row" },
      button(`take-${id}`, `${verb}Withdraw all of it`, () => doing.token(input.value)),
    ),
  );
}

/**
 * @param {Children} action
 * @param {string} words
 */
function step(action, words) {
  return el("li", {}, action, el("p", { class: "small break" }, words));
}

/**
 * @param {Vault} vault
 * @param {Offer} offer
 */
function safeSteps(vault, offer) {
  return el(
    "details",
    { id: `safe-${offer.key}`, open: offer.send === null && vault.hasCodeOwner },
    el("summary", {}, "The owner is a Safe: files for its Transaction Builder"),
    el(
      "p",
      { class: "small" },
      "In your Safe open Apps, Transaction Builder, and drop a file there. Wait until it is " +
        "executed, then read the vault again: amounts change with each step.",
    ),
    steps(vault, offer, offer.safe, "safe"),
  );
}
