// The life of a transaction as one table, without a wallet, a clock or storage.
//
//   built -> simulated, refused, unsimulated -> waiting -> sent -> mined -> recorded
//     ^               (failed)                  |   |^       |-> reverted
//     '-----------------------------------------'   v|       '-> replaced -> mined, reverted
//                                             unanswered -> sent
//
// A simulation that could not be run is no refusal. A wallet that does not answer may still do so:
// what it sent then is followed, and nothing is asked of it again without the owner's consent.
//
// An event that does not belong to a phase changes nothing: answers come late, and twice.

/**
 * @typedef {import("./wallet.js").Call} Call
 * @typedef {import("./wallet.js").WalletError} WalletError
 * @typedef {import("./refusals.js").Refusal} Refusal
 * @typedef {"built" | "refused" | "simulated" | "unsimulated" | "waiting" | "unanswered" | "sent"
 *   | "mined" | "reverted" | "replaced" | "recorded"} Phase
 * `calls`: more than one is a batch (EIP-5792). `from` in lower case. `refusal`: why it would
 * revert (refused) or why it did (reverted; null: not known). `error`: what the wallet refused
 * last, or why it is not known whether it was sent. `hash` null until it is known, `batchId` of a
 * batch. `nonce` null until a node has shown it; `nonceBefore` is what the account's next one was
 * when the wallet was asked. `doubts`: it may have been sent already, so that the owner is asked
 * before the wallet; the hashes of what the account sent meanwhile, where a node shows them.
 * `hasOther`: an earlier or later request for the same is still open in the wallet.
 * @typedef {{
 *   id: string, title: string, calls: readonly Call[], chainId: number, from: string, phase: Phase,
 *   refusal: Refusal | null, error: WalletError | null, hash: string | null,
 *   batchId: string | null, nonce: number | null, nonceBefore: number | null,
 *   sentAt: number | null, block: number | null, doubts: readonly string[] | null,
 *   hasOther: boolean,
 * }} Transaction
 * `open` of a failure: how many requests for it the wallet has not answered; left out where it was
 * not the wallet's answer.
 * @typedef {{type: "simulated"} | {type: "refused", refusal: Refusal} | {type: "asked"}
 *   | {type: "unsimulated" | "late", error: WalletError}
 *   | {type: "failed", error: WalletError, open?: number}
 *   | {type: "doubted", error: WalletError, hashes: readonly string[]}
 *   | {type: "sent", hash: string | null, batchId: string | null, nonceBefore: number | null,
 *      at: number, open?: number}
 *   | {type: "seen", nonce: number} | {type: "mined", block: number, hash: string}
 *   | {type: "reverted", block: number | null, hash: string | null, refusal: Refusal | null}
 *   | {type: "replaced"} | {type: "recorded"}} TransactionEvent
 */

/** @type {Readonly<Record<Phase, readonly TransactionEvent["type"][]>>} */
const TAKES = Object.freeze({
  built: ["simulated", "unsimulated", "refused", "asked", "failed", "doubted"],
  refused: ["simulated", "unsimulated", "refused", "asked", "failed", "doubted"],
  simulated: ["simulated", "unsimulated", "refused", "asked", "failed", "doubted"],
  unsimulated: ["simulated", "unsimulated", "refused", "asked", "failed", "doubted"],
  waiting: ["failed", "late", "sent"],
  unanswered: ["refused", "asked", "failed", "doubted", "sent"],
  sent: ["seen", "mined", "reverted", "replaced", "recorded"],
  replaced: ["mined", "reverted", "recorded"],
  mined: ["recorded"],
  reverted: [],
  recorded: [],
});

/** What each phase is called on a card. */
/** @type {Readonly<Record<Phase, string>>} */
export const PHASE_WORDS = Object.freeze({
  built: "Built",
  refused: "Would be refused",
  simulated: "Simulated",
  unsimulated: "Could not be simulated",
  waiting: "Waiting for your wallet",
  unanswered: "No answer from your wallet yet",
  sent: "Sent",
  mined: "Mined",
  reverted: "Reverted",
  replaced: "Replaced",
  recorded: "In the record",
});

/**
 * @param {{id: string, title: string, calls: readonly Call[], from: string}} start
 * @returns {Transaction}
 */
export function builtTransaction({ id, title, calls, from }) {
  const chainId = calls[0]?.chain_id ?? 0;
  return {
    id,
    title,
    calls,
    chainId,
    from: from.toLowerCase(),
    phase: "built",
    refusal: null,
    error: null,
    hash: null,
    batchId: null,
    nonce: null,
    nonceBefore: null,
    sentAt: null,
    block: null,
    doubts: null,
    hasOther: false,
  };
}

/**
 * The transaction after an event; the same object where the event does not belong to its phase.
 * @param {Transaction} transaction
 * @param {TransactionEvent} event
 * @returns {Transaction}
 */
export function after(transaction, event) {
  if (!TAKES[transaction.phase].includes(event.type)) return transaction;
  switch (event.type) {
    case "simulated":
      return { ...transaction, phase: "simulated", refusal: null, error: null };
    case "unsimulated":
      return { ...transaction, phase: "unsimulated", refusal: null, error: event.error };
    case "refused": {
      const phase = transaction.phase === "unanswered" ? "unanswered" : "refused";
      return { ...transaction, phase, refusal: event.refusal, error: null };
    }
    case "asked":
      return { ...transaction, phase: "waiting", error: null, doubts: null };
    case "late":
      return { ...transaction, phase: "unanswered", error: event.error };
    case "doubted":
      return { ...transaction, error: event.error, doubts: event.hashes };
    case "failed":
      return afterFailure(transaction, event.error, event.open);
    case "sent": {
      const { hash, batchId, nonceBefore, at } = event;
      const sent = { hash, batchId, nonceBefore, sentAt: at, hasOther: (event.open ?? 0) > 0 };
      const clear = { refusal: null, error: null, doubts: null };
      return { ...transaction, ...sent, ...clear, phase: "sent" };
    }
    case "seen":
      return { ...transaction, nonce: event.nonce };
    case "mined":
      return { ...transaction, phase: "mined", block: event.block, hash: event.hash };
    case "reverted": {
      const { block, refusal } = event;
      const hash = event.hash ?? transaction.hash;
      return { ...transaction, phase: "reverted", block, refusal, hash };
    }
    case "replaced":
    case "recorded":
      return { ...transaction, phase: event.type };
  }
}

/**
 * Whether the chain can still change it.
 * @param {Transaction} transaction
 */
export function isPending({ phase }) {
  return phase === "sent" || phase === "replaced";
}

/**
 * Back to where it can be simulated and sent again, with the reason, once no request is open.
 * @param {Transaction} transaction
 * @param {WalletError} error
 * @param {number} [open]
 * @returns {Transaction}
 */
function afterFailure(transaction, error, open) {
  const { phase, refusal } = transaction;
  if (phase !== "waiting" && (phase !== "unanswered" || open === undefined)) {
    return { ...transaction, error };
  }
  const back = refusal === null ? "built" : "refused";
  return { ...transaction, phase: open ? "unanswered" : back, error, doubts: null };
}
