// One transaction as its owner sees it: where it is, what happened, what to do.

import { refusalText } from "../app/refusals.js";
import { PHASE_WORDS } from "../app/transaction-states.js";
import { explorerUrl } from "./chains.js";
import { button, el } from "./dom.js";

/**
 * @typedef {import("../app/transaction-states.js").Transaction} Transaction
 * @typedef {{again: (id: string) => void, anyway: (id: string) => void,
 *   sure: (id: string) => void, discard: (id: string) => void}} Actions
 */

/** @type {readonly Transaction["phase"][]} */
const STEPS = ["built", "simulated", "waiting", "sent", "mined"];
const NEW_TAB = { target: "_blank", rel: "noopener noreferrer" };
// A transaction that no block took for so long may never be mined.
const LONG_MS = 600_000;
/** @type {Readonly<Partial<Record<Transaction["phase"], string>>>} */
const TONES = {
  refused: "loss",
  reverted: "loss",
  replaced: "attention",
  unsimulated: "attention",
  unanswered: "attention",
  mined: "settled",
};
// Phases that an error does not turn into "Not sent".
const OF_THEIR_OWN = ["unsimulated", "unanswered"];

/**
 * @param {Transaction} transaction
 * @param {Actions} actions
 */
export function transactionCard(transaction, actions) {
  const { id, title, phase, error, doubts } = transaction;
  const isNotSent = error !== null && !OF_THEIR_OWN.includes(phase);
  const word = doubts !== null ? "Sent already?" : isNotSent ? "Not sent" : PHASE_WORDS[phase];
  return el(
    "article",
    { class: `card transaction ${TONES[phase] ?? ""}`, "aria-label": title, "data-phase": phase },
    el("h4", {}, title, " ", el("span", { class: "phase" }, word)),
    progress(transaction),
    said(transaction),
    hashLine(transaction),
    (doubts ?? []).map((hash) => hashLine({ ...transaction, hash }, "Your account sent ")),
    el("p", { class: "row" }, ...actionsOf(transaction, actions, id)),
  );
}

/**
 * What a transaction's state means, in one or two sentences.
 * @param {Transaction} transaction
 * @returns {string}
 */
export function sentenceOf({ phase, refusal, error, hash, calls, hasOther }) {
  if (error !== null) return `${error.message} ${error.next}`;
  const reason = refusal === null ? "" : `${refusal.sentence} ${refusal.next}`.trim();
  switch (phase) {
    case "built":
      return "Asking the chain what this call would do.";
    case "refused":
      return `It would revert, so it was not sent: ${reason}`;
    case "unsimulated":
      return "It could not be simulated. That is not a refusal: you can send it.";
    case "unanswered":
      return `Your wallet has not answered yet. By now it would revert: ${reason}`;
    case "simulated":
      return calls.length > 1
        ? "The chain would accept the first call; the others depend on it."
        : "The chain would accept it.";
    case "waiting":
      return "Confirm it in your wallet. Nothing is sent until you do.";
    case "sent":
      return (
        (hash === null ? "Your wallet has the batch." : "On its way.") +
        " This page follows it; you may close or reload it." +
        (hasOther
          ? " Another request for it may still be open in your wallet: decline it there, or it is " +
            "sent a second time."
          : "")
      );
    case "mined":
      return "Done. The figures of the vault are read again.";
    case "recorded":
      return "Done, and in the record.";
    case "reverted":
      return `It was mined and changed nothing. ${
        reason || "The reason cannot be found out any more; read the vault again."
      }`;
    case "replaced":
      return (
        "Another transaction of your account with the same number was mined in its place: it was " +
        "sped up or cancelled in the wallet. The figures of the vault are read again."
      );
  }
}

/** @param {Transaction} transaction */
function said(transaction) {
  const { refusal, error } = transaction;
  const isNamed = error === null && refusal !== null && refusal.name !== "";
  return [
    el("p", { class: "sentence" }, sentenceOf(transaction)),
    isNamed && el("p", { class: "small mono" }, refusalText(refusal)),
    error !== null && error.detail !== "" && el("p", { class: "small" }, `Wallet: ${error.detail}`),
  ];
}

/** @param {Transaction} transaction */
function progress({ phase }) {
  const reached = STEPS.indexOf(phase);
  if (reached < 0) return null;
  return el(
    "ol",
    { class: "steps", "aria-label": "Progress" },
    ...STEPS.map((step, i) => {
      const isDone = i < reached || phase === "mined";
      const state = isDone ? "done" : i === reached ? "now" : "";
      return el(
        "li",
        { class: state, ...(i === reached ? { "aria-current": "step" } : {}) },
        PHASE_WORDS[step],
      );
    }),
  );
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

/**
 * @param {Transaction} transaction
 * @param {Actions} actions
 * @param {string} id
 */
function actionsOf({ phase, error, title, sentAt, doubts }, actions, id) {
  const { again, anyway, sure, discard } = actions;
  const buttons = [];
  const isRefused = phase === "refused" || phase === "unsimulated";
  const isOpen = ["built", "simulated", "unanswered"].includes(phase) || isRefused;
  const isStuck = error !== null || isRefused || phase === "unanswered";
  if (isOpen && isStuck) {
    buttons.push(button(`again-${id}`, "Try again", () => again(id), { isPrimary: true }));
  }
  if (isRefused) buttons.push(button(`anyway-${id}`, "Send anyway", () => anyway(id)));
  if (doubts !== null) buttons.push(button(`sure-${id}`, "Send it all the same", () => sure(id)));
  const isUnderWay = phase === "waiting" || phase === "sent";
  if (isOpen ? isStuck : !isUnderWay) {
    const label = button(`discard-${id}`, "Dismiss", () => discard(id));
    label.setAttribute("aria-label", `Dismiss: ${title}`);
    buttons.push(label);
  }
  if (phase === "sent" && Date.now() - (sentAt ?? 0) > LONG_MS) {
    buttons.push(button(`discard-${id}`, "Stop following it", () => discard(id)));
  }
  return buttons;
}
