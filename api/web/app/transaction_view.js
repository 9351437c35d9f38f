// What a card shows of a transaction, as data: the console and the exit page draw the same words, steps and buttons.

import { SELECTORS } from "./contracts.js";
import { PHASE_WORDS } from "./transaction-states.js";

/**
 * @typedef {import("./transaction-states.js").Transaction} Transaction
 * @typedef {import("./transaction-states.js").Phase} Phase
 * What a button asks of the store of transactions: `force` although the chain refuses the call or gives no verdict on
 * it, `sure` although it may have been sent before.
 * @typedef {"send" | "force" | "sure" | "simulate" | "discard"} Act
 * @typedef {{act: Act, label: string, isPrimary?: boolean}} CardButton
 * @typedef {{state: "done" | "now" | "failed" | "", word: string}} Step
 */

const STEPS = /** @type {const} */ (["built", "simulated", "waiting", "sent", "mined", "recorded"]);
/** The step at which a transaction in one of these phases is. @type {Readonly<Partial<Record<Phase, number>>>} */
const HELD_AT = { unsimulated: 1, unanswered: 2 };
/** @type {Readonly<Partial<Record<Phase, number>>>} */
const FAILED_AT = { refused: 1, reverted: 4, replaced: 4 };
/** @type {Readonly<Partial<Record<Phase, string>>>} */
const TONES = {
  refused: "loss",
  reverted: "loss",
  mined: "settled",
  recorded: "settled",
  replaced: "attention",
  unsimulated: "attention",
  unanswered: "attention",
};
// A transaction that no block took for so long may never be mined.
const LONG_MS = 600_000;

/** @param {Transaction} transaction @returns {string} the class of its colour, "" for none */
export function toneOf({ phase }) {
  return TONES[phase] ?? "";
}

/**
 * @param {Transaction} transaction
 * @param {number} [count] 5 where no record follows it
 * @returns {Step[]}
 */
export function stepsOf({ phase }, count = STEPS.length) {
  const failed = FAILED_AT[phase];
  const odd = failed ?? HELD_AT[phase];
  const at = odd ?? STEPS.indexOf(/** @type {any} */ (phase));
  const isOver = at === count - 1 && failed === undefined;
  return STEPS.slice(0, count).map((step, index) => {
    const here = failed === undefined ? "now" : "failed";
    const state = index < at || isOver ? "done" : index > at ? "" : here;
    return { state, word: PHASE_WORDS[index === odd ? phase : step] };
  });
}

/**
 * What its state means, in one or two sentences. Not in it: `error`, which has words of its own.
 * @param {Transaction} transaction
 * @returns {string} "" where the word of the phase says all
 */
export function sentenceOf(transaction) {
  const { phase, refusal, hash, hasOther } = transaction;
  const why = refusal === null ? "" : `${refusal.sentence} ${refusal.next}`.trim();
  switch (phase) {
    case "refused":
      return `The contract would refuse it. Nothing was sent. ${why}${
        isStop(transaction)
          ? " You can send a stop anyway: if it is refused then, only the gas is lost."
          : ""
      }`;
    case "unanswered":
      return refusal === null ? "" : `By now the contract would refuse it: ${why}`;
    case "waiting":
      return "Confirm it in your wallet. Nothing is sent until you do.";
    case "sent": {
      const other =
        "Another request for it may still be open in your wallet: decline it there, or it is sent twice.";
      const way = hash === null ? "Your wallet has the batch." : "On its way.";
      return `${way} You can close this page; it is found again. ${hasOther ? other : ""}`.trim();
    }
    case "reverted":
      return `It was mined and changed nothing; only the gas is gone. ${why || "The contract gave no reason."}`;
    case "replaced":
      return (
        "Another transaction of your account with the same number was mined in its place: it was sped up or " +
        "cancelled in your wallet."
      );
    case "mined":
      return "Done. The figures are read again.";
    case "recorded":
      return "Done, and in the record.";
    default:
      return "";
  }
}

/**
 * @param {Transaction} transaction
 * @param {{isAsked: boolean, canForce?: boolean, now?: number}} page `isAsked`: this page asks the wallet as soon as the
 *   simulation passes, so a button is needed only after it failed. `canForce`: it sends whatever the chain refuses, not
 *   only a stop.
 * @returns {CardButton[]}
 */
export function buttonsOf(transaction, { isAsked, canForce = false, now = Date.now() }) {
  const { phase, error, doubts, sentAt } = transaction;
  const isRefused = phase === "refused" || phase === "unsimulated";
  const isOpen = isRefused || ["built", "simulated", "unanswered"].includes(phase);
  const isStuck = isRefused || phase === "unanswered" || error !== null;
  const isUnderWay = phase === "waiting" || phase === "sent";
  const isForceable = canForce || phase === "unsimulated" || isStop(transaction);
  /** @type {CardButton[]} */
  const buttons = [];
  if (isRefused) {
    buttons.push({ act: isAsked ? "send" : "simulate", label: "Try again" });
    if (isForceable) buttons.push({ act: "force", label: "Send anyway" });
  } else if (isOpen && (isStuck || !isAsked)) {
    const label = isStuck ? "Try again" : "Send with wallet";
    buttons.push({ act: "send", label, isPrimary: true });
  }
  if (doubts !== null) buttons.push({ act: "sure", label: "Send it all the same" });
  if (isOpen ? isStuck || !isAsked : !isUnderWay)
    buttons.push({ act: "discard", label: "Dismiss" });
  if (phase === "sent" && now - (sentAt ?? now) > LONG_MS)
    buttons.push({ act: "discard", label: "Stop following it" });
  return buttons;
}

/**
 * @param {import("./transactions.js").Transactions} store
 * @param {string} id
 * @param {Act} act
 * @returns {Promise<unknown>}
 */
export async function perform(store, id, act) {
  if (act === "discard") return store.discard(id);
  if (act === "simulate") return store.simulate(id);
  return store.pursue(id, { isForced: act === "force", isSure: act === "sure" });
}

/** @param {Transaction} transaction */
function isStop({ calls }) {
  return calls.length === 1 && calls[0]?.data.startsWith(SELECTORS.stop) === true;
}
