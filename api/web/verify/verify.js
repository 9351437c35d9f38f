/**
 * Verify in this browser: a mandate's exported record against the node of the visitor's own wallet.
 *
 * The same checks, names and words as verify-record (docs/verify.md); nothing of the service is
 * asked. The order: the file by itself, then terms, authors, anchors' lines, chain, rows, reverted
 * calls and sums. What one part cannot check is told and does not end the others.
 */

/** @import {Block, NewRow, Outcome, RecordFile, Subject} from "./types.js" */
/** @import {Request, Tell} from "./node.js" */
/** @import {ChainLogs, Expected} from "./expected.js" */
/** @import {Finding, Measure, Verdict} from "./findings.js" */

import { checkLines } from "./anchors.js";
import { checkAuthors } from "./authors.js";
import { checksum, isAddress, utf8 } from "./bytes.js";
import { compareClaims, tellMeasures } from "./claims.js";
import { checkLost, checkRowsAfter, judgeAhead, laterLogs } from "./ends.js";
import { chainLogs, expectedRows, nothingExpected } from "./expected.js";
import { Report, UncheckedError } from "./findings.js";
import { FlagsCheck } from "./flags.js";
import { effective } from "./fold.js";
import { safeBlockOf } from "./forms.js";
import { checkLogHead } from "./log_head.js";
import { Node } from "./node.js";
import { Pauses } from "./pause.js";
import { checkPosts } from "./posts.js";
import { readRecord } from "./reading.js";
import { RevertsCheck } from "./reverts.js";
import { RowsCheck } from "./rows.js";
import { compareHead, compareReplay, compareVault, foldAll, foldRows, replayLogs } from "./sums.js";
import { TRUSTED } from "./tables.js";
import {
  checkCancelled,
  checkOtherTerms,
  checkPlace,
  checkSignature,
  compareCreated,
  paymentAdapter,
  subjectOf,
} from "./terms.js"; // prettier-ignore

const CALLS_A_RECORD = 20_000;
const CALLS_A_ROW = 6;

/** What only verify-record checks. None of it is hidden behind a verdict: a page shows this list. */
export const NOT_CHECKED_HERE = Object.freeze([
  "receipts: that somebody kept of rows which the service took",
  "witnesses: heads that others cosigned, and heads that you wrote down earlier",
  "a second node: this one may lie about reverted calls, payments and the newest block",
]);

/**
 * @typedef {object} Options
 * @property {Request} request the wallet's own (EIP-1193), the only way out
 * @property {readonly string[]} [factories] trusted beside those of published deployments
 * @property {readonly string[]} [x402Adapters] likewise
 * @property {readonly string[]} [recordAnchors] likewise; without any, anchors are compared with the
 * rows alone
 * @property {string} [mandate] the id that the record must be of
 * @property {string} [owner] the address that the record must be of
 * @property {number} [mostCalls] of the node
 * @property {number} [now] unix seconds
 * @property {Tell} [onProgress]
 * @property {AbortSignal} [signal]
 */

/**
 * @typedef {object} Verification
 * @property {Verdict} verdict
 * @property {{[name: string]: string | number | null}} subject what the record is about
 * @property {Finding[]} findings
 * @property {number} moreFindings beyond those that are listed
 * @property {string[]} unchecked what could not be checked: any of it, and the record is not sound
 * @property {readonly string[]} notCheckedHere what only verify-record checks
 * @property {string[]} remarks
 * @property {number[]} claims seqs of rows that nothing on chain proves
 * @property {number[]} signedClaims those of them that their author signed; the others are the
 * service's word
 * @property {Measure | null} worth the vault's own measure at the record's last block
 * @property {Measure | null} newestMark its newest mark, or stop at the line, in the record
 * @property {{[name: string]: number}} counts
 * @property {{[name: string]: string | boolean}} totals of the rows that are proven
 */

/**
 * Check a record. Errors: the signal's reason once it is aborted; nothing else.
 * @param {Uint8Array | string} content the file @param {Options} options
 * @returns {Promise<Verification>}
 */
export async function verifyRecord(content, options) {
  const report = new Report();
  try {
    await new RecordCheck(report, options).run(content);
  } catch (error) {
    options.signal?.throwIfAborted();
    // the edge: a file that no check foresaw is not checked, and never sound
    const text = error instanceof UncheckedError ? error.message : `the checks ended with ${error}`;
    report.doubt(text);
  }
  return {
    verdict: report.verdict,
    subject: report.subject,
    findings: report.findings,
    moreFindings: report.more,
    unchecked: report.unchecked,
    notCheckedHere: NOT_CHECKED_HERE,
    remarks: report.remarks,
    claims: report.claims,
    signedClaims: report.claims.filter((seq) => report.vouched.has(seq)),
    worth: report.worth,
    newestMark: report.newestMark,
    counts: report.counts,
    totals: report.totals,
  };
}

class RecordCheck {
  /** @param {Report} report @param {Options} options */
  constructor(report, options) {
    this.report = report;
    this.options = options;
    this.tell = options.onProgress ?? (() => {});
    this.pauses = new Pauses(options.signal);
    /** Seqs of rows that the chain or a signature proves. @type {Set<number>} */
    this.proven = new Set();
    this.hasLooked = false; // it is known which rows the chain proves
    /** @type {string | null} */
    this.vault = null;
    /** @type {Block | null} */
    this.last = null;
  }

  /** @param {Uint8Array | string} content */
  async run(content) {
    const { report, pauses, options } = this;
    const bytes = typeof content === "string" ? utf8(content) : content;
    const record = await readRecord(bytes, report, pauses, this.tell);
    report.counts.rows = record.rows.length;
    const subject = record.first === null ? null : subjectOf(record.first, report);
    if (subject === null) return;
    this.saySubject(record, subject);
    const mostCalls = options.mostCalls ?? CALLS_A_RECORD + CALLS_A_ROW * record.rows.length;
    const node = new Node(options.request, mostCalls, this.tell, options.signal);
    this.sayGap(record);
    report.isPaper = subject.isPaper;
    await report.part(() => this.terms(record, subject, node));
    await report.part(() => checkAuthors(subject, record.rows, node, report, pauses));
    await report.part(() => checkLines(record, report, pauses));
    const [anchor] = this.trusted("record_anchor", subject, options.recordAnchors).reverse();
    await report.part(() => this.posts(record, node, anchor, subject.factory));
    if (subject.isPaper) {
      await report.part(() => this.paper(record, subject));
    } else if (this.vault !== null) {
      const check = new ChainCheck(this, record, subject, node, this.vault);
      await report.part(() => check.logsAndRows());
      await report.part(() => check.later());
    }
    if (this.hasLooked || report.unchecked.length === 0) {
      report.claims = record.rows.map((row) => row.seq).filter((seq) => !this.proven.has(seq));
    }
    report.counts.calls = node.calls;
  }

  /** @param {RecordFile} record @param {Node} node @param {string | undefined} anchor
   * @param {string} factory
   */
  async posts(record, node, anchor, factory) {
    if (anchor !== undefined) {
      await checkPosts(record, node, { anchor, factory }, this.report, this.pauses);
    } else if (record.anchors.length > 0) {
      this.report.remark("the anchors were compared with the rows alone, and with no contract");
    }
  }

  /** @param {RecordFile} record */
  sayGap({ head }) {
    if (!head?.held) return;
    const text = `The record is short of facts of the chain (${head.held.facts}) from block`;
    const why = "they are held back and not lost. The chain itself is the truth meanwhile.";
    this.report.doubt(`${text} ${head.held.fromBlock} on; ${why}`);
  }

  /** What the record is about; and against what the reader wanted.
   * @param {RecordFile} record @param {Subject} subject
   */
  saySubject(record, subject) {
    const { report, options } = this;
    const asOf = record.head?.asOf ?? null;
    report.subject = {
      chain: subject.chainId,
      mandate: subject.publicId,
      owner: subject.owner,
      agent: subject.agent,
      vault: subject.vaultSaid,
      factory: subject.factory,
      asOfBlock: asOf?.blockNumber ?? null,
      asOfHash: asOf?.blockHash ?? null,
    };
    if (options.mandate !== undefined && options.mandate !== subject.publicId) {
      const text = `the record is of ${subject.publicId}, asked for was ${options.mandate}`;
      report.say("subject.mandate", null, text);
    }
    if (options.owner !== undefined && checksum(options.owner) !== subject.owner) {
      const text = `the record's owner is ${subject.owner}, asked for was ${options.owner}`;
      report.say("subject.owner", null, text);
    }
  }

  /** Contracts that are trusted: the published ones, and those that the page names.
   * @param {string} contract @param {Subject} subject @param {readonly string[]} [named]
   */
  trusted(contract, subject, named = []) {
    const chain = String(subject.chainId);
    const published = Object.hasOwn(TRUSTED, chain) ? (TRUSTED[chain]?.[contract] ?? []) : [];
    return [...published, ...named].filter(isAddress).map(checksum);
  }

  /** @param {RecordFile} record @param {Subject} subject @param {Node} node */
  async terms(record, subject, node) {
    const { report } = this;
    const factories = this.trusted("factory", subject, this.options.factories);
    this.vault = await checkPlace(subject, node, factories, report);
    report.subject.vault = this.vault;
    const code = this.vault === null ? "0x" : await node.codeAt("the vault's code", this.vault);
    const hasVault = code !== "0x";
    const signed = record.rows.filter((row) => row.baseKey === "signed").map((row) => row.seq);
    await report.part(async () => {
      const said = { isSigned: signed.length > 0, hasVault };
      const signature = record.first?.signature;
      if (!(await checkSignature(subject, signature, said, node, report))) return;
      for (const seq of signed) this.proven.add(seq);
    });
    if (hasVault && subject.isPaper) {
      const text = `the record says paper, these terms have a vault at ${this.vault}`;
      report.say("terms.vault", null, text);
    }
    this.hasLooked = this.vault === null || subject.isPaper;
    if (this.vault === null) return;
    const said = { factories, hasVault, isNamed: this.options.mandate !== undefined };
    await report.part(() => checkOtherTerms(subject, said, node, report));
  }

  /** A paper mandate: no chain stands behind it, so its rows are checked against one another alone.
   * @param {RecordFile} record @param {Subject} subject
   */
  async paper(record, subject) {
    const { report, pauses } = this;
    const { rows, head } = record;
    if (head !== null && head.asOf !== null) {
      const text = `a paper mandate is read from no block, the record names ${head.asOf.blockNumber}`;
      report.say("head.block", null, text);
    }
    const expected = nothingExpected();
    const checked = new RowsCheck(subject, rows, expected, new Map(), new Map(), report, null);
    await checked.run(pauses);
    const flags = new FlagsCheck(subject, rows, expected.rows, 0, report);
    const state = await foldRows(subject, rows, expected, flags, report, pauses);
    if (head !== null) compareHead(head, state, report);
    report.totals = textTotals(state.totals());
    report.remark("a paper mandate: no chain stands behind its rows");
    flags.end();
  }
}

/** What is compared with the chain. */
class ChainCheck {
  /**
   * @param {RecordCheck} all @param {RecordFile} record @param {Subject} subject
   * @param {Node} node @param {string} vault
   */
  constructor(all, record, subject, node, vault) {
    this.all = all;
    this.record = record;
    this.subject = subject;
    this.node = node;
    this.vault = vault;
    this.report = all.report;
    this.pauses = all.pauses;
    this.asOf = record.head?.asOf ?? null;
    this.held = record.head?.held ?? null;
    /** @type {RevertsCheck | null} */
    this.revertsCheck = null;
  }

  /** Everything that the chain says of the rows. */
  async logsAndRows() {
    const { report, node, subject, record, pauses, vault } = this;
    const until = await this.lastHeight();
    const last = await this.lastBlock(until);
    if (last === null) return;
    this.all.last = last;
    if (this.asOf === null) {
      report.doubt("head: the record names no block that it is complete up to");
    }
    report.subject.asOfBlock = until;
    report.subject.asOfHash = last.hash;
    const named = this.all.options.x402Adapters;
    const adapters = this.all.trusted("x402_adapter", subject, named);
    const adapter = paymentAdapter(subject, adapters, report);
    const first = Math.min(this.firstHeight(until), until);
    const found = await chainLogs(subject, vault, adapter, node, first, until);
    const blocks = await node.blocks(this.heights(found, until));
    const expected = await expectedRows(subject, found, blocks, pauses);
    const hasVault = await this.hasVault(expected, until);
    const outcomes = await this.outcomes();
    const checked = new RowsCheck(
      subject,
      record.rows,
      expected,
      blocks,
      outcomes,
      report,
      this.held,
    ); // prettier-ignore
    await checked.run(pauses);
    this.noteProven(checked, blocks);
    this.all.hasLooked = true;
    await report.part(() => checkLost(checked.lost(), checked.returned, node, report));
    await report.part(() => this.reverts(checked, until));
    compareClaims(record.rows, expected.rows.values(), failedOf(outcomes), vault, report);
    await report.part(() => this.sums(expected, found, hasVault, last));
    if (expected.created !== null) {
      await report.part(() =>
        checkLogHead(subject.digest, vault, found.logs, blocks, node, last, report, pauses),
      );
    }
  }

  /** Whether anything is after the record's last block. Errors: UncheckedError when so. */
  async later() {
    const { last } = this.all;
    if (last === null) return;
    await this.report.part(() => checkRowsAfter(this.record.rows, last, this.node));
    const text = await laterLogs(this.subject, this.vault, last, this.node);
    if (text === null) return this.revertsCheck?.lookAfter(last.number);
    throw new UncheckedError(`the record ends at block ${last.number}`, `${text}; export again`);
  }

  /** Up to where the record claims to be complete; without a claim, up to its newest row. */
  async lastHeight() {
    if (this.asOf !== null) return this.asOf.blockNumber;
    const newest = await this.node.newest();
    const heights = heightsOf(this.record.rows);
    return heights.length > 0 ? largest(heights) : newest;
  }

  /** @param {number} until */
  firstHeight(until) {
    const standing = effective(this.record.rows);
    return heightsOf(standing).reduce((least, one) => Math.min(least, one), until);
  }

  /** @param {number} height */
  async lastBlock(height) {
    const newest = await this.node.newest();
    if (newest < height) {
      const now = this.all.options.now ?? Math.floor(Date.now() / 1000);
      await judgeAhead(height, newest, now, this.node, this.report);
      const text = `the node has no more than block ${newest} yet`;
      throw new UncheckedError("the newest block", text);
    }
    const block = (await this.node.blocks([height])).get(height) ?? null;
    const said = this.asOf?.blockHash ?? null;
    if (block === null || (said !== null && said !== block.hash)) {
      const text = `the record is of block ${height} ${said}, the node has ${block?.hash ?? "none"}`;
      this.report.say("head.block", null, text);
    }
    return block;
  }

  /** Of logs, rows and ends of terms. @param {ChainLogs} found @param {number} until */
  heights(found, until) {
    const heights = new Set(found.logs.map((log) => log.blockNumber));
    for (const height of heightsOf(this.record.rows)) heights.add(height);
    for (const row of this.record.rows) {
      const height = row.baseKey === "expired" ? safeBlockOf(row) : until;
      if (height <= until) heights.add(height);
    }
    heights.add(until);
    return [...heights].sort((one, two) => one - two);
  }

  /** Receipts of every transaction that a row of the chain names. */
  async outcomes() {
    /** @type {Map<string, Set<number>>} */
    const wanted = new Map();
    for (const { txHash, blockHash, logIndex } of this.record.rows) {
      if (txHash === null || blockHash === null) continue;
      const indices = wanted.get(txHash) ?? new Set();
      if (logIndex !== null) indices.add(logIndex);
      wanted.set(txHash, indices);
    }
    this.report.counts.transactions = wanted.size;
    return this.node.outcomes(wanted);
  }

  /** Whether there is a vault at the record's last block. Past state is asked for only when a vault
   * came, and not in the rows.
   * @param {Expected} expected @param {number} until
   */
  async hasVault(expected, until) {
    if (expected.created !== null) {
      const { terms, rules } = expected.created;
      const [values, listed] = [
        Array.isArray(terms) ? terms : [],
        Array.isArray(rules) ? rules : [],
      ];
      const each = listed.filter((rule) => Array.isArray(rule));
      compareCreated(this.subject, values, each, this.report);
      return true;
    }
    const part = "the vault's code";
    if ((await this.node.codeAt(part, this.vault)) === "0x") return false;
    if ((await this.node.codeAt(part, this.vault, until)) === "0x") return false;
    const text = `the vault ${this.vault} exists, and the record does not reach back to its creation`;
    this.report.say("row.left_out", null, text);
    return true;
  }

  /** Rows that logs give, the signature of a vault's terms, and the end of terms by a block's time.
   * @param {RowsCheck} checked @param {ReadonlyMap<number, Block>} blocks
   */
  noteProven(checked, blocks) {
    const { proven } = this.all;
    const { created } = checked.expected;
    for (const seq of checked.proven) proven.add(seq);
    for (const row of this.record.rows) {
      if (row.baseKey === "signed" && created !== null) proven.add(row.seq);
      if (row.baseKey !== "expired") continue;
      const block = blocks.get(safeBlockOf(row));
      if (created === null && block && BigInt(block.at) >= BigInt(this.subject.terms.endsAt ?? 0)) {
        proven.add(row.seq);
      } else {
        this.report.say("row.unproven", row.seq, "no block shows that the terms ended");
      }
    }
  }

  /** @param {RowsCheck} checked @param {number} until */
  async reverts(checked, until) {
    const reverts = new RevertsCheck(checked, this.vault, this.node, this.report);
    await reverts.told();
    for (const seq of reverts.proven) this.all.proven.add(seq);
    if (checked.expected.created === null) return;
    const before = this.held === null ? until : Math.min(until, this.held.fromBlock - 1);
    if (this.held === null) this.revertsCheck = reverts;
    const heights = await reverts.heights(checked.expected.createdBlock, before);
    const told = this.asOf === null ? before : Math.min(before, this.asOf.revertsBlockNumber);
    await reverts.look(heights, told);
    this.report.counts.blocksScanned = heights.length;
  }

  /** @param {Expected} expected @param {ChainLogs} found @param {boolean} hasVault
   * @param {Block} last
   */
  async sums(expected, found, hasVault, last) {
    const { report, subject, record, pauses, node, vault } = this;
    const { rows, head } = record;
    const flags = new FlagsCheck(subject, rows, expected.rows, last.at, report);
    const state = await foldRows(subject, rows, expected, flags, report, pauses);
    await report.part(() => flags.end());
    if (head !== null) compareHead(head, state, report);
    const counted = effective(rows).filter((row) => this.all.proven.has(row.seq));
    report.totals = textTotals((await foldAll(subject, counted, pauses)).totals());
    tellMeasures(counted, report);
    if (!hasVault) await checkCancelled(subject, counted, node, last, report);
    if (!hasVault || this.held !== null) return; // the sums of a gap are not the vault's
    const replayed = await replayLogs(subject, expected, pauses);
    compareReplay(state, replayed, report);
    const day = rows.length > 0 ? effective(rows) : [...expected.rows.values()];
    const of = { vault, usdc: found.usdc };
    await report.part(() => compareVault(subject, of, state, day, node, last, report));
  }
}

/** @param {readonly NewRow[]} rows */
const heightsOf = (rows) => rows.map((row) => row.blockNumber).filter((height) => height !== null);

/** @param {readonly number[]} numbers */
const largest = (numbers) => numbers.reduce((most, one) => Math.max(most, one), 0);

/** @param {ReadonlyMap<string, Outcome>} outcomes */
function failedOf(outcomes) {
  const failed = [...outcomes].filter(([, outcome]) => outcome.status === 0);
  return new Set(failed.map(([txHash]) => txHash));
}

/** @param {import("./types.js").JsonObject} totals @returns {{[name: string]: string | boolean}} */
const textTotals = (totals) =>
  Object.fromEntries(
    Object.entries(totals).map(([name, one]) => [
      name,
      typeof one === "boolean" ? one : String(one),
    ]),
  );
