/**
 * The fold: rows of one mandate's record, oldest first, to its state, as far as a record's totals,
 * the vault's views and the judge of reports need it. A reversed row counts as if it had never been
 * written. Source: core/mandate/rules/fold.py, paper.py, unvalued.py, outflows.py.
 *
 *          signed            deposited = budget            stop              payout
 *   draft --------> signed ---------------------> working -------> stopped ---------> settled
 */

/** @import {Json, JsonObject, NewRow, Row, Subject} from "./types.js" */
/** @import {Position} from "./positions.js" */

import { isObject, member } from "./canonical.js";
import { least, most, usableUsdc, usdcText } from "./money.js";
import { positionId, takeReport } from "./positions.js";
import { secondOf } from "./times.js";

const ENDED = new Set(["stopped", "settled", "cancelled"]);
/** From where each ending is reached. @type {{[status: string]: string[]}} */
const ENDS = {
  stopped: ["signed", "working"],
  settled: ["signed", "working", "stopped"],
  cancelled: ["draft", "signed"],
};

/** What left the cash for the agent's actions.
 * @typedef {{at: number, amount: bigint, txHash: string | null}} Outflow
 */

export class State {
  /** @param {Subject} subject */
  constructor(subject) {
    this.subject = subject;
    this.status = "draft";
    this.paused = false;
    this.cash = 0n;
    this.deposited = 0n;
    this.spent = 0n;
    this.received = 0n;
    this.withdrawn = 0n;
    this.paidOut = 0n;
    this.unvaluedOut = 0n;
    this.isSigned = false;
    this.wasStopped = false;
    /** @type {string | null} */
    this.vault = null;
    /** @type {Map<string, Position>} */
    this.positions = new Map();
  }

  get isEnded() {
    return ENDED.has(this.status);
  }

  /** The state after one more row that counts. @param {NewRow} row */
  apply(row) {
    this.takeCash(row);
    this.takeUnvalued(row);
    this.takeKind(row);
    const { isPaper, budget } = this.subject;
    if (row.reportedBy === "agent" && isPaper && !this.isEnded) takeReport(this.positions, row);
    if (this.status === "signed" && this.vault !== null && this.deposited >= budget) {
      this.status = "working";
    }
  }

  /** @param {NewRow} row */
  takeCash(row) {
    const delta = row.cashDelta;
    this.cash += delta;
    if (row.kind === "deposit") this.deposited += delta;
    else if (row.kind === "payout") this.paidOut -= delta;
    else if (row.kind === "withdraw") this.withdrawn -= delta;
    else {
      const { spent, received } = spentAndReceived(row);
      this.spent += spent;
      this.received += received;
    }
  }

  /** The vault's counter of money that no adapter values. @param {NewRow} row */
  takeUnvalued(row) {
    const { unvalued, valued } = this.subject.positions;
    if (unvalued.size === 0) return;
    const proceeds = chainFact(row, "proceeds");
    const called = chainFact(row, "executed") ?? chainFact(row, "unwound");
    if (proceeds !== null) {
      const adapter = String(member(proceeds, "adapter")).toLowerCase();
      if (!valued.has(adapter)) this.unvaluedOut = most(0n, this.unvaluedOut - (row.amount ?? 0n));
    } else if (called !== null) {
      const target = `${member(called, "target")}:${member(called, "selector")}`.toLowerCase();
      if (!unvalued.has(target)) return;
      const { spent, received } = spentAndReceived(row);
      this.unvaluedOut = most(0n, this.unvaluedOut + spent - received);
    }
  }

  /** @param {NewRow} row */
  takeKind(row) {
    const { isPaper } = this.subject;
    // on testnet an end without a block is no end
    const isWordAlone = row.blockHash === null && !isPaper;
    if (row.kind === "signed") {
      if (this.status === "draft") this.status = isPaper ? "working" : "signed";
      this.isSigned = true;
    } else if (row.kind === "stop" && !isWordAlone) {
      this.end("stopped");
      this.wasStopped = true;
    } else if (row.kind === "payout" && !isWordAlone) {
      this.end("settled");
    } else if (row.kind === "note" && row.reportedBy !== "agent") {
      this.takeNote(row.payload);
    }
  }

  /** @param {JsonObject} payload */
  takeNote(payload) {
    const created = fact(payload, "vault_created");
    if (created !== null) {
      if (this.status === "draft" || this.status === "cancelled") this.status = "signed";
      this.isSigned = true;
      this.vault = String(member(created, "vault"));
    }
    if (fact(payload, "agent_set") !== null && !this.isEnded) this.paused = false;
    if (fact(payload, "agent_removed") !== null && !this.isEnded) this.paused = true;
    const isOver = fact(payload, "terms_cancelled") ?? fact(payload, "terms_expired");
    if (isOver !== null && this.vault === null) this.end("cancelled");
    if (fact(payload, "cancelled") !== null && !this.isSigned) this.status = "cancelled";
  }

  /** Move on to an ending, never back. @param {string} status */
  end(status) {
    if (ENDS[status]?.includes(this.status)) this.status = status;
  }

  /** The head's totals: what the fold of the rows must give. @returns {JsonObject} */
  totals() {
    return {
      status: this.status,
      paused: this.paused,
      cash_usdc: usdcText(this.cash),
      deposited_usdc: usdcText(this.deposited),
      spent_usdc: usdcText(this.spent),
      received_usdc: usdcText(this.received),
      withdrawn_usdc: usdcText(this.withdrawn),
      paid_out_usdc: usdcText(this.paidOut),
    };
  }
}

/** Who wrote a vault's creation proves its terms, whose signature nobody may have told.
 * @param {JsonObject} payload @param {string} key
 */
function fact(payload, key) {
  const found = member(payload, key);
  if (found === true) return {};
  return isObject(found) ? found : null;
}

/** payload[key] when it is an object and the agent did not write the row.
 * @param {NewRow} row @param {string} key
 */
export function chainFact(row, key) {
  const found = member(row.payload, key);
  return isObject(found) && row.reportedBy !== "agent" ? found : null;
}

/** What a row took out of cash and what it brought in. @param {NewRow} row */
export function spentAndReceived(row) {
  const delta = row.cashDelta;
  const executed = chainFact(row, "executed");
  if (executed !== null) {
    const spent = usableUsdc(member(executed, "spent"));
    const received = usableUsdc(member(executed, "received"));
    if (spent !== null && received !== null && received - spent === delta) {
      return { spent, received };
    }
  }
  return { spent: most(0n, -delta), received: most(0n, delta) };
}

/** The rows that count: without reversed rows and without their reversals.
 * @param {readonly Row[]} rows
 */
export function effective(rows) {
  const gone = new Set(rows.map((row) => row.reverses));
  return rows.filter((row) => row.reverses === null && !gone.has(row.seq));
}

/**
 * The cash that a row moves, and what a paper stop gives back. `state` is the fold of every row
 * before it.
 * @param {NewRow} row @param {State} state
 * @returns {{cashDelta: bigint, returned: Json[]}}
 */
export function priced(row, state) {
  const { isPaper } = state.subject;
  if (isPaper) return pricedOnPaper(row, state);
  if (row.blockHash === null) return { cashDelta: 0n, returned: [] };
  if (row.kind === "withdraw" && row.cashDelta < 0n) {
    return { cashDelta: -least(row.amount ?? 0n, most(0n, state.cash)), returned: [] };
  }
  return { cashDelta: row.cashDelta, returned: [] };
}

/** @param {NewRow} row @param {State} state @returns {{cashDelta: bigint, returned: Json[]}} */
function pricedOnPaper(row, state) {
  const amount = row.amount ?? 0n;
  const paid = -least(amount, most(0n, state.cash));
  if (row.kind === "stop" && !state.isEnded) return paperStop(state);
  const moves =
    row.kind === "deposit"
      ? amount
      : row.kind === "withdraw" || row.kind === "payout"
        ? paid
        : state.isEnded
          ? 0n
          : row.kind === "buy" || row.kind === "move" || row.kind === "fee"
            ? paid
            : row.kind === "sell"
              ? amount
              : row.kind === "resolve"
                ? resolved(row, state)
                : 0n; // prettier-ignore
  return { cashDelta: moves, returned: [] };
}

/** Each open position's unreturned cost comes back. @param {State} state */
function paperStop(state) {
  let cashDelta = 0n;
  const returned = [...state.positions.values()].map(({ id, name, cost, proceeds }) => {
    const left = most(0n, cost - proceeds);
    cashDelta += left;
    return { id, name, cost_returned: usdcText(left) };
  });
  return { cashDelta, returned };
}

/** @param {NewRow} row @param {State} state */
function resolved(row, state) {
  const position = state.positions.get(positionId(row.payload) ?? "");
  if (position === undefined) return 0n;
  return most(0n, position.cost + (row.amount ?? 0n) - position.proceeds);
}

/**
 * Every outflow of rows that count, in their order. On testnet the chain's calls alone, all of one
 * batch as one; on paper what reports moved.
 * @param {Iterable<NewRow>} rows @param {boolean} isPaper
 * @returns {Outflow[]}
 */
export function outflows(rows, isPaper) {
  /** @type {Map<string, Outflow>} */
  const batches = new Map();
  /** @type {Outflow[]} */
  const others = [];
  for (const row of rows) {
    if (row.kind !== "move" && row.kind !== "buy") continue;
    const { txHash } = row;
    const at = secondOf(row.occurredAt);
    const executed = isPaper ? null : chainFact(row, "executed");
    if (isPaper) {
      others.push({ at, amount: -row.cashDelta, txHash });
    } else if (executed !== null) {
      const key = `${txHash}:${member(executed, "nonce")}`;
      const amount = (batches.get(key)?.amount ?? 0n) + spentAndReceived(row).spent;
      batches.set(key, { at, amount, txHash });
    }
  }
  return [...batches.values(), ...others].filter((one) => one.amount > 0n);
}
