/**
 * Sums: of the record's rows, of the vault's logs replayed without the record, and the vault's own
 * at the record's last block.
 *
 * rows -- fold --> state      == head.totals
 * logs -- fold --> state      == the rows', and == totals(), status(), remaining(), balanceOf()
 */

/** @import {Head, Json, NewRow, Row, Subject} from "./types.js" */
/** @import {Expected} from "./expected.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */
/** @import {Pauses} from "./pause.js" */
/** @import {FlagsCheck} from "./flags.js" */

import { canonical, isSame, member } from "./canonical.js";
import { UncheckedError } from "./findings.js";
import { effective, outflows, priced, State } from "./fold.js";
import { most, usdcText } from "./money.js";
import { DAY_S } from "./times.js";
import { addressWord, view } from "./views.js";

const MOST_FOLDED_AGAIN = 2_000_000; // rows, after reversals, all together
const MOVED = [
  "status",
  "cash_usdc",
  "deposited_usdc",
  "spent_usdc",
  "received_usdc",
  "withdrawn_usdc",
  "paid_out_usdc",
  "paused",
]; // prettier-ignore
const STATUSES = ["signed", "working", "stopped", "settled"]; // of a vault, as it numbers them

/**
 * The fold of the rows; each row's cash delta, and what a paper stop gave back, is compared with
 * what it had to be when it was written. Errors: UncheckedError when blocks were taken back so often
 * that it would take too long.
 * @param {Subject} subject @param {readonly Row[]} rows @param {Expected} expected
 * @param {FlagsCheck} flags @param {Report} report @param {Pauses} pauses
 */
export async function foldRows(subject, rows, expected, flags, report, pauses) {
  let [state, isStale, again] = [new State(subject), false, 0];
  for (const [index, row] of rows.entries()) {
    if (pauses.isDue) await pauses.pause();
    if (row.reverses !== null) {
      flags.before(row, state);
      isStale = true; // a reversal changes the past: fold again before the next row
      continue;
    }
    if (isStale) {
      [isStale, again] = [false, again + index];
      if (again > MOST_FOLDED_AGAIN) {
        throw new UncheckedError("sums", "blocks were taken back too often to fold again");
      }
      state = await foldAll(subject, effective(rows.slice(0, index)), pauses);
    }
    flags.before(row, state);
    compareCash(row, expected.rows.get(row.baseKey) ?? row, state, report);
    state.apply(row);
  }
  return isStale ? foldAll(subject, effective(rows), pauses) : state;
}

/** @param {Subject} subject @param {readonly NewRow[]} rows @param {Pauses} pauses */
export async function foldAll(subject, rows, pauses) {
  const state = new State(subject);
  for (const row of rows) {
    if (pauses.isDue) await pauses.pause();
    state.apply(row);
  }
  return state;
}

/** @param {Row} row @param {NewRow} given @param {State} state @param {Report} report */
function compareCash(row, given, state, report) {
  const { positions_void: said } = row.payload;
  const wanted = priced(said === undefined ? given : row, state);
  if (row.cashDelta !== wanted.cashDelta) {
    const isLog = row.baseKey.startsWith("log:");
    const name = isLog ? "row.cash_delta" : "row.cash_without_proof";
    const [moves, must] = [usdcText(row.cashDelta), usdcText(wanted.cashDelta)];
    report.say(name, row.seq, `moves ${moves} of cash, it had to be ${must}`);
  }
  const returned = wanted.returned.length > 0 ? wanted.returned : undefined;
  if (!isSame(said, returned)) {
    const text = `says ${canonical(said)} is void, it had to be ${canonical(returned)}`;
    report.say("row.payload", row.seq, text);
  }
}

/** The fold of the vault's logs alone. @param {Subject} subject @param {Expected} expected
 * @param {Pauses} pauses
 */
export async function replayLogs(subject, expected, pauses) {
  const state = new State(subject);
  for (const row of expected.rows.values()) {
    if (pauses.isDue) await pauses.pause();
    state.apply({ ...row, cashDelta: priced(row, state).cashDelta });
  }
  return state;
}

/** @param {Head} head @param {State} state @param {Report} report */
export function compareHead(head, state, report) {
  const totals = state.totals();
  for (const [name, value] of Object.entries(totals)) {
    const said = member(head.totals, name);
    if (!isSame(said, value)) {
      const text = `${name}: the head says ${canonical(said)}, the rows give ${value}`;
      report.say("head.totals", null, text);
    }
  }
  for (const name of Object.keys(head.totals)) {
    if (!Object.hasOwn(totals, name)) report.say("head.totals", null, `${name}: no such total`);
  }
}

/** @param {State} rows @param {State} logs @param {Report} report */
export function compareReplay(rows, logs, report) {
  const [told, given] = [rows.totals(), logs.totals()];
  for (const name of MOVED) {
    if (told[name] === given[name]) continue;
    const text = `${name}: the rows give ${told[name]}, the vault's logs ${given[name]}`;
    report.say("replay.sum", null, text);
  }
}

/**
 * The rows' state against the vault's own views at the record's last block. Errors: UncheckedError
 * when that state is gone.
 * @param {Subject} subject @param {{vault: string, usdc: string}} of @param {State} state
 * @param {readonly NewRow[]} counted rows of the day at least @param {Node} node
 * @param {{hash: string, at: number, number: number}} last @param {Report} report
 */
export async function compareVault(subject, of, state, counted, node, last, report) {
  const at = { blockHash: last.hash };
  const totals = (await view(node, "the vault's totals", of.vault, "totals", [], at)).map(toNumber);
  const [status] = await view(node, "the vault's status", of.vault, "status", [], at);
  const remaining = await view(node, "the vault's limits", of.vault, "remaining", [], at);
  const words = [addressWord(of.vault)];
  const [held] = await view(node, "the vault's balance", of.usdc, "balanceOf", words, at);
  report.worth = { ...(await worthOf(node, of.vault, at)), block: last.number };
  compareTotals(state, totals, report);
  const own = STATUSES[Number(status)];
  if (own !== state.status) {
    report.say("vault.status", null, `the rows give ${state.status}, the vault ${own}`);
  }
  const left = leftToday(subject, counted, last.at);
  if (left !== remaining[1]) {
    const text = `the rows give ${usdcText(left)}, the vault ${usdcText(toNumber(remaining[1]))}`;
    report.say("vault.window", null, `left for the day: ${text}`);
  }
  const balance = toNumber(held);
  if (balance < state.cash) {
    const text = `the rows give ${usdcText(state.cash)}, the vault holds ${usdcText(balance)}`;
    report.say("vault.balance", null, text);
  } else if (balance > state.cash) {
    const text = `${usdcText(balance - state.cash)} USDC in the vault were given by others`;
    report.remark(`${text} and are no part of the mandate`);
  }
}

/** What the vault measures; null: a venue that it asks fails.
 * @param {Node} node @param {string} vault @param {{blockHash: string}} at
 */
async function worthOf(node, vault, at) {
  try {
    const [usdc, atCost] = await view(node, "the vault's worth", vault, "worth", [], at);
    return { usdc: usdcText(toNumber(usdc)), atCostUsdc: usdcText(toNumber(atCost)) };
  } catch (error) {
    if (error instanceof UncheckedError && error.isRevert) return { usdc: null, atCostUsdc: null };
    throw error;
  }
}

/** @param {State} state @param {bigint[]} totals @param {Report} report */
function compareTotals(state, totals, report) {
  const [deposited, spent, received, withdrawn, feePaid, unvaluedOut] = totals;
  /** @type {[string, bigint, bigint | undefined][]} */
  const sums = [
    ["deposited", state.deposited, deposited],
    ["spent", state.spent, spent],
    ["received", state.received, received],
    ["withdrawn", state.withdrawn, withdrawn],
    ["out where no adapter values it", state.unvaluedOut, unvaluedOut],
    ["fee paid", state.paidOut, feePaid],
  ];
  for (const [name, told, own = 0n] of sums) {
    if (told === own) continue;
    const text = `the rows give ${usdcText(told)}, the vault ${usdcText(own)}`;
    report.say("vault.sum", null, `${name}: ${text}`);
  }
}

/** Of the 24 hours that end at the last block, start exclusive.
 * @param {Subject} subject @param {readonly NewRow[]} rows @param {number} now
 */
function leftToday(subject, rows, now) {
  const spent = outflows(rows, subject.isPaper)
    .filter((one) => now - DAY_S < one.at && one.at <= now)
    .reduce((sum, one) => sum + one.amount, 0n);
  return most(0n, BigInt(subject.terms.dailyCap ?? 0n) - spent);
}

/** @param {Json | bigint | import("./abi.js").AbiValue | undefined} value */
function toNumber(value) {
  if (typeof value !== "bigint") throw new UncheckedError("the vault's views", "no number");
  return value;
}
