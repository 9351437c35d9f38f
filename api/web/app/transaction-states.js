// The life of a transaction as one table, without a wallet, a clock or storage.
//
//   built -> simulated, refused -> waiting -> sent -> mined -> recorded
//     ^           (failed)            |         |-> reverted
//     '-------------------------------'         '-> replaced -> mined, reverted
//
// An event that does not belong to a phase changes nothing: answers come late, and twice.

/**
 * @typedef {import("./wallet.js").Call} Call
 * @typedef {import("./wallet.js").WalletError} WalletError
 * @typedef {import("./refusals.js").Refusal} Refusal
 * @typedef {"built" | "refused" | "simulated" | "waiting" | "sent" | "mined" | "reverted"
 *   | "replaced" | "recorded"} Phase
 * `calls`: more than one is a batch (EIP-5792). `from` in lower case. `refusal`: why it would
 * revert (refused) or why it did (reverted; null: not known). `error`: what the wallet refused
 * last. `hash` null until it is known, `batchId` of a batch. `nonce` null until a node has shown
 * it; `nonceBefore` is what the account's next one was when the wallet was asked.
 * @typedef {{
 *   id: string, title: string, calls: readonly Call[], chainId: number, from: string, phase: Phase,
 *   refusal: Refusal | null, error: WalletError | null, hash: string | null,
 *   batchId: string | null, nonce: number | null, nonceBefore: number | null,
 *   sentAt: number | null, block: number | null,
 * }} Transaction
 * @typedef {{type: "simulated"} | {type: "refused", refusal: Refusal} | {type: "asked"}
 *   | {type: "failed", error: WalletError}
 *   | {type: "sent", hash: string | null, batchId: string | null, nonceBefore: number | null,
 *      at: number}
 *   | {type: "seen", nonce: number} | {type: "mined", block: number, hash: string}
 *   | {type: "reverted", block: number | null, hash: string | null, refusal: Refusal | null}
 *   | {type: "replaced"} | {type: "recorded"}} TransactionEvent
 */

/** @type {Readonly<Record<Phase, readonly TransactionEvent["type"][]>>} */
const TAKES = Object.freeze({
  built: ["simulated", "refused", "asked", "failed"],
  refused: ["simulated", "refused", "asked", "failed"],
  simulated: ["simulated", "refused", "asked", "failed"],
  waiting: ["failed", "sent"],
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
  waiting: "Waiting for your wallet",
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
    case "refused":
      return { ...transaction, phase: "refused", refusal: event.refusal, error: null };
    case "asked":
      return { ...transaction, phase: "waiting", error: null };
    case "failed":
      return afterFailure(transaction, event.error);
    case "sent": {
      const { hash, batchId, nonceBefore, at } = event;
      const sent = { hash, batchId, nonceBefore, sentAt: at };
      return { ...transaction, ...sent, phase: "sent", refusal: null };
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
 * Back to where it can be simulated and sent again, with the reason.
 * @param {Transaction} transaction
 * @param {WalletError} error
 * @returns {Transaction}
 */
function afterFailure(transaction, error) {
  if (transaction.phase !== "waiting") return { ...transaction, error };
  return { ...transaction, phase: transaction.refusal === null ? "built" : "refused", error };
}
