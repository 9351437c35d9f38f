/**
 * The service's own flags on reports, judged again: which rules a report broke, and whether the
 * chain had its transaction.
 *
 * What the judge went by and no row says is bounded by the rows around the report: the time of the
 * newest block lies between the last row of the chain before and the next one after. A flag must be
 * what the judge gives at some time of that range.
 *
 *     chain row            report            chain row
 *     ----|-------------------|-----------------|----
 *         earliest ............................ latest       time of the newest block at the judgement
 */

/** @import {Json, NewRow, Row, Subject} from "./types.js" */
/** @import {Outflow, State} from "./fold.js" */
/** @import {Report} from "./findings.js" */
/** @import {Judgement} from "./judge.js" */

import { canonical, isObject, member } from "./canonical.js";
import { chainWord, factsOf, movesWorth } from "./claims.js";
import { UncheckedError } from "./findings.js";
import { outflows } from "./fold.js";
import { TRADES, toldPayload } from "./forms.js";
import { judge } from "./judge.js";
import { positionOf } from "./positions.js";
import { DAY_S, microsOf, secondOf } from "./times.js";

const MOST_LOOKED_AT = 5_000_000; // rows of days, for all reports together
const LATE_S = 60; // by how much a fact of the chain must come late to have been missing
const LATE_US = BigInt(LATE_S) * 1_000_000n;
const MOST_TIMES = 200; // at which one report is judged
const PART = "flags of reports";

export class FlagsCheck {
  /**
   * @param {Subject} subject @param {readonly Row[]} rows
   * @param {ReadonlyMap<string, NewRow>} expected @param {number} until the time of the record's
   * last block; of paper nothing is asked
   * @param {Report} report
   */
  constructor(subject, rows, expected, until, report) {
    this.subject = subject;
    this.expected = expected;
    this.until = until;
    this.report = report;
    /** @type {UncheckedError | null} */
    this.unjudged = null;
    this.lookedAt = 0;
    this.earliest = 0;
    /** @type {Map<number, Row>} */
    this.spends = new Map();
    /** Of transactions that reports name: the chain's rows that count so far, by seq.
     * @type {Map<string, Map<number, Row>>}
     */
    this.shown = new Map();
    for (const { baseKey, txHash } of rows) {
      if (baseKey.startsWith("report:") && txHash !== null) this.shown.set(txHash, new Map());
    }
    this.onChain = new ChainTimes(rows, expected);
    this.allowed = new Set(subject.rules.map((rule) => rule.target.toLowerCase()));
  }

  /** Errors: UncheckedError when not every report could be judged. */
  end() {
    if (this.unjudged !== null) throw this.unjudged;
  }

  /** Every row, oldest first, and the state before it. @param {Row} row @param {State} state */
  before(row, state) {
    if (row.reverses !== null) {
      this.spends.delete(row.reverses);
      this.shown.get(row.txHash ?? "")?.delete(row.reverses);
      return;
    }
    const isAReport = row.baseKey.startsWith("report:");
    if (isAReport) {
      this.compareUnseen(row, state.vault);
      this.judge(row, state);
    }
    if (this.expected.has(row.baseKey) && !this.subject.isPaper) {
      this.earliest = Math.max(this.earliest, secondOf(row.occurredAt));
    }
    if (!isAReport) this.shown.get(row.txHash ?? "")?.set(row.seq, row);
    if (row.kind === "move" || row.kind === "buy") this.spends.set(row.seq, row);
  }

  /** @param {Row} row @param {State} state */
  judge(row, state) {
    if (!TRADES.includes(row.kind)) {
      this.compare(row, [null]);
      return;
    }
    try {
      this.compare(row, this.wantedFlags(row, state));
    } catch (error) {
      if (!(error instanceof UncheckedError)) throw error;
      this.unjudged ??= error;
    }
  }

  /** @param {Row} row @param {State} state @returns {Json[]} */
  wantedFlags(row, state) {
    const spends = this.outflows(row);
    const action = { ...row, payload: toldPayload(row) };
    const allowed = new Set(this.allowed);
    if (state.vault !== null) allowed.add(state.vault.toLowerCase());
    /** @type {Omit<Judgement, "now" | "isShort">} */
    const against = {
      subject: this.subject,
      status: state.status,
      wasStopped: state.wasStopped,
      allowed,
      cash: state.cash,
      outflows: spends,
      word: chainWord(action, this.facts(row), state.vault),
    };
    const shorts = this.mayBeShort(row) ? [false, true] : [false];
    return this.times(row, spends).flatMap((now) =>
      shorts.map((isShort) => judge(action, { ...against, now, isShort })),
    );
  }

  /** What the rows before say of a report's transaction; those that came until `since`.
   * @param {Row} report @param {bigint} [since] microseconds
   */
  facts(report, since) {
    const rows = [...(this.shown.get(report.txHash ?? "")?.values() ?? [])];
    return factsOf(rows.filter((row) => since === undefined || microsOf(row.createdAt) <= since));
  }

  /** @param {Row} row @param {Json[]} wanted flags of which one must stand there; null: no flag */
  compare(row, wanted) {
    const said = Object.hasOwn(row.payload, "violation") ? [row.payload.violation ?? null] : [];
    const given = wanted.map((flag) => canonical(flag === null ? [] : [flag]));
    if (given.includes(canonical(said))) return;
    const text = `says it broke ${codesOf(said[0])}, it broke ${codesOf(wanted[0])}`;
    this.report.say("row.flag", row.seq, text);
  }

  /** Of the day before the earliest time that it may have been judged at.
   * @param {Row} row @returns {Outflow[]}
   */
  outflows(row) {
    const { isPaper } = this.subject;
    const since = (isPaper ? secondOf(row.occurredAt) : this.earliest) - DAY_S;
    for (const [seq, spend] of this.spends) {
      if (secondOf(spend.occurredAt) >= since) break;
      this.spends.delete(seq); // too old for every later report
    }
    this.lookedAt += this.spends.size;
    if (this.lookedAt > MOST_LOOKED_AT) {
      throw new UncheckedError(PART, "too many reports for their days");
    }
    return outflows(this.spends.values(), isPaper);
  }

  /** Every time of the range at which the answer may change, the earliest first.
   * @param {Row} row @param {Outflow[]} spends
   */
  times(row, spends) {
    if (this.subject.isPaper) return [secondOf(row.occurredAt)];
    const first = this.earliest;
    const last = Math.max(first, this.onChain.nextAfter(row.seq, this.until));
    const turns = new Set(spends.flatMap(({ at }) => [at, at + DAY_S]));
    turns.add(Number(this.subject.terms.endsAt));
    const inside = [...turns].filter((at) => first < at && at <= last).sort((a, b) => a - b);
    if (inside.length > MOST_TIMES) {
      throw new UncheckedError(PART, `row ${row.seq} may be of too many times`);
    }
    return [first, ...inside, last];
  }

  /** A ledger that lacks facts of the chain holds its cash against nobody: then a later row is of a
   * block before the report.
   * @param {Row} row
   */
  mayBeShort(row) {
    return !this.subject.isPaper && this.onChain.isOlderAfter(row);
  }

  /** The flag of a report of a position that the chain does not bear out: a trade without a
   * transaction has it, and one that rows which were there already contradict. Whether the chain had
   * a transaction that no row showed, nobody can tell afterwards.
   * @param {Row} row @param {string | null} vault
   */
  compareUnseen(row, vault) {
    const { kind, txHash, payload } = row;
    const told = { ...row, payload: toldPayload(row) };
    const isOfPosition = !this.subject.isPaper && positionOf(told.payload) !== null;
    let mustBe = isOfPosition && txHash === null && TRADES.includes(kind);
    let mayBe = mustBe;
    if (isOfPosition && txHash !== null && (TRADES.includes(kind) || kind === "resolve")) {
      const early = this.facts(row, microsOf(row.createdAt) - LATE_US);
      const [wasShown, isShown] = [
        movesWorth(told, early, vault),
        movesWorth(told, this.facts(row), vault),
      ];
      [mustBe, mayBe] = [early.isKnown && !wasShown && !isShown, !wasShown];
    }
    const isSaid = payload.unseen === true;
    const isOddlySaid = isSaid !== Object.hasOwn(payload, "unseen");
    if (isOddlySaid || (isSaid && !mayBe) || (mustBe && !isSaid)) {
      this.report.say("row.flag", row.seq, "is wrong about what the chain has not seen");
    }
  }
}

/** Times of the rows of logs by seq, notes of the factory apart. */
class ChainTimes {
  /** @param {readonly Row[]} rows @param {ReadonlyMap<string, NewRow>} expected */
  constructor(rows, expected) {
    const gone = new Set(rows.map((row) => row.reverses));
    const standing = rows.filter(
      (row) => expected.has(row.baseKey) && !gone.has(row.seq) && row.payload.factory !== true,
    );
    this.seqs = standing.map((row) => row.seq);
    this.times = standing.map((row) => secondOf(row.occurredAt));
    this.leastAfter = [...this.times];
    for (let at = this.times.length - 2; at >= 0; at--) {
      const [own, next] = [this.leastAfter[at] ?? 0, this.leastAfter[at + 1] ?? 0];
      this.leastAfter[at] = Math.min(own, next);
    }
  }

  /** Of the first that comes after. @param {number} seq */
  index(seq) {
    let [low, high] = [0, this.seqs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.seqs[middle] ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {number} seq @param {number} otherwise */
  nextAfter(seq, otherwise) {
    return this.times[this.index(seq)] ?? otherwise;
  }

  /** @param {Row} row */
  isOlderAfter(row) {
    const least = this.leastAfter[this.index(row.seq)];
    return least !== undefined && BigInt(least + LATE_S) * 1_000_000n < microsOf(row.occurredAt);
  }
}

/** @param {Json | undefined} flag */
function codesOf(flag) {
  const codes = isObject(flag) ? member(flag, "codes") : undefined;
  return Array.isArray(codes) ? codes.join(", ") : "nothing";
}
