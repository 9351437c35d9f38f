// One transaction as its owner sees it: where it is, what happened, what to do.

import { refusalText } from "../app/refusals.js";
import { buttonsOf, sentenceOf, stepsOf, toneOf } from "../app/transaction_view.js";
import { PHASE_WORDS } from "../app/transaction-states.js";
import { explorerUrl } from "./chains.js";
import { button, el } from "./dom.js";

/**
 * @typedef {import("../app/transaction-states.js").Transaction} Transaction
 * @typedef {(id: string, act: import("../app/transaction_view.js").Act) => void} Press
 */

const NEW_TAB = { target: "_blank", rel: "noopener noreferrer" };
const STEPS_HERE = 5; // up to mined: there is no record here

/**
 * @param {Transaction} transaction
 * @param {Press} press
 */
export function transactionCard(transaction, press) {
  const { id, title, phase, error, refusal, doubts } = transaction;
  const buttons = buttonsOf(transaction, { isAsked: true, canForce: true });
  return el(
    "article",
    { class: `card transaction ${toneOf(transaction)}`, "aria-label": title, "data-phase": phase },
    el("h4", {}, title, " ", el("span", { class: "phase" }, PHASE_WORDS[phase])),
    el(
      "ol",
      { class: "steps", "aria-label": "Progress" },
      ...stepsOf(transaction, STEPS_HERE).map(({ state, word }) =>
        el("li", { class: state }, word),
      ),
    ),
    el("p", { class: "sentence" }, cardText(transaction)),
    error === null &&
      refusal !== null &&
      refusal.name !== "" &&
      el("p", { class: "small mono" }, refusalText(refusal)),
    error !== null && error.detail !== "" && el("p", { class: "small" }, `Wallet: ${error.detail}`),
    hashLine(transaction),
    (doubts ?? []).map((hash) => hashLine({ ...transaction, hash }, "Your account sent ")),
    el(
      "p",
      { class: "row" },
      ...buttons.map(({ act, label, isPrimary }) => {
        const shown = button(`${act}-${id}`, label, () => press(id, act), { isPrimary });
        shown.setAttribute("aria-label", act === "discard" ? `${label}: ${title}` : label);
        return shown;
      }),
    ),
  );
}

/**
 * What its state means, or what went wrong.
 * @param {Transaction} transaction
 * @returns {string}
 */
export function cardText(transaction) {
  const { phase, error } = transaction;
  if (error !== null) return `${error.message} ${error.next}`;
  return sentenceOf(transaction) || `${PHASE_WORDS[phase]}.`;
}

/**
 * @param {Transaction} transaction
 * @param {string} [what]
 */
function hashLine({ hash, chainId, block }, what = "Transaction ") {
  if (hash === null) return null;
  const url = explorerUrl(chainId, hash);
  const shown = el("span", { class: "mono break" }, hash);
  return el(
    "p",
    { class: "small" },
    what,
    url === null ? shown : el("a", { href: url, ...NEW_TAB }, shown),
    block === null ? "" : `, block ${block}`,
  );
}
