/**
 * What the authors of rows signed: who, what, and that nothing of theirs was added, changed or left
 * out since (docs/record.md#signed-rows).
 *
 * Each of owner, agent and keeper has one sequence of signed rows. A row of theirs without a
 * signature is a claim before their first signed one, and a finding after it.
 */

/** @import {Row, RowAuthor, Subject} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */
/** @import {Pauses} from "./pause.js" */

import { NO_HASH, ZERO_ADDRESS } from "./bytes.js";
import { isObject, member } from "./canonical.js";
import { recordRowDigest } from "./eip712.js";
import { CLOCKS_S } from "./rows.js";
import { microsOf, secondOf } from "./times.js";
import { isSignedBy, view } from "./views.js";

const CLOCKS_US = BigInt(CLOCKS_S) * 1_000_000n;
const AUTHORS = new Set(["owner", "agent", "keeper"]);
const OF_SIGNED_TERMS = new Set(["paper_deposit", "signed"]);
const PART = "a row's signature";

/**
 * What no node answers for is told as unchecked.
 * @param {Subject} subject @param {readonly Row[]} rows @param {Node} node @param {Report} report
 * @param {Pauses} pauses
 */
export async function checkAuthors(subject, rows, node, report, pauses) {
  const check = new AuthorsCheck(subject, node, report);
  for (const row of rows) {
    if (pauses.isDue) await pauses.pause();
    await report.part(() => check.row(row));
  }
  check.tell();
}

class AuthorsCheck {
  /** @param {Subject} subject @param {Node} node @param {Report} report */
  constructor(subject, node, report) {
    this.subject = subject;
    this.node = node;
    this.report = report;
    /** By author their last signed row. @type {Map<string, Row>} */
    this.newest = new Map();
    /** By author the seq of their first one. @type {Map<string, number>} */
    this.first = new Map();
    this.signed = 0;
    /** @type {Set<string>} */
    this.unvouched = new Set();
    /** Whom rows of the chain made the agent, by seq. @type {Map<number, [bigint, string]>} */
    this.setBy = new Map();
    /** @type {Set<string> | null} */
    this.keepers = null;
  }

  /** @param {Row} row */
  async row(row) {
    this.note(row);
    const { author, reportedBy, seq } = row;
    if (author === null) {
      this.unsigned(row);
    } else if (row.reverses !== null || !isOwnWord(row)) {
      this.report.say("author.foreign", seq, `${row.baseKey} is nobody's own word`);
    } else {
      this.place(row, author);
      this.newest.set(reportedBy, row);
      if (!this.first.has(reportedBy)) this.first.set(reportedBy, seq);
      this.signed += 1;
      await this.signature(row, author);
    }
  }

  /** Remember whom a row of the chain makes the agent, and forget what is taken back.
   * @param {Row} row
   */
  note(row) {
    if (row.reverses !== null) {
      this.setBy.delete(row.reverses);
      return;
    }
    const set = member(row.payload, "agent_set");
    if (row.blockHash !== null && isObject(set)) {
      this.setBy.set(row.seq, [microsOf(row.createdAt), String(member(set, "agent"))]);
    }
  }

  /** @param {Row} row */
  unsigned(row) {
    if (!this.newest.has(row.reportedBy) || row.reverses !== null || !isOwnWord(row)) return;
    const text = `the ${row.reportedBy} signs since row ${this.first.get(row.reportedBy)}`;
    this.report.say("author.unsigned", row.seq, `${text}, this row is not signed`);
  }

  /** @param {Row} row @param {RowAuthor} author */
  place(row, author) {
    const before = this.newest.get(row.reportedBy);
    const [sequence, prev] = [(before?.author?.sequence ?? 0) + 1, before?.rowHash ?? NO_HASH];
    if (author.sequence !== sequence) {
      const text = `signed as number ${author.sequence}, it is number ${sequence}`;
      this.report.say("author.sequence", row.seq, `${text} of the ${row.reportedBy}`);
    }
    if (author.prev !== prev) {
      const text = `signed after the row ${author.prev}, the one before is ${prev}`;
      this.report.say("author.prev", row.seq, text);
    }
  }

  /** @param {Row} row @param {RowAuthor} author */
  async signature(row, author) {
    const signers = await this.maySign(row);
    if (signers.size === 0) {
      this.unvouched.add(author.signer);
    } else if (!signers.has(author.signer)) {
      const text = `${author.signer} signed for the ${row.reportedBy}, who is`;
      this.report.say("author.signer", row.seq, `${text} ${[...signers].sort().join(" or ")}`);
    }
    const { publicId, factory, chainId } = this.subject;
    const digest = recordRowDigest(publicId, row, author, factory, chainId);
    if (!(await this.isSigned(row, author, digest))) {
      const text = `${author.signer} did not sign ${digest}, which this row gives`;
      this.report.say("author.signature", row.seq, text);
    } else if (signers.has(author.signer)) {
      this.report.vouched.add(row.seq);
    }
  }

  /** By a key, or a contract wallet as it is now; one that has changed since is asked as it was in
   * the last block before the row.
   * @param {Row} row @param {RowAuthor} author @param {string} digest
   */
  async isSigned(row, author, digest) {
    const { node, subject } = this;
    const signed = { signer: author.signer, digest, signature: author.signature };
    if (await isSignedBy(node, PART, subject.factory, signed)) return true;
    if ((await node.codeAt(PART, author.signer)) === "0x") return false;
    const newest = await node.newest();
    const after = await node.firstAfter(secondOf(row.createdAt) + 1, newest + 1);
    return isSignedBy(node, PART, subject.factory, signed, Math.max(0, after - 1));
  }

  /** Nobody: the record does not say who may. @param {Row} row @returns {Promise<Set<string>>} */
  async maySign(row) {
    const { owner, factory } = this.subject;
    if (row.reportedBy === "agent") return this.agents(row);
    if (row.reportedBy === "owner") return new Set([owner]);
    if (this.keepers === null) {
      const [keeper] = await view(this.node, "the factory's keeper", factory, "keeper");
      this.keepers = new Set([String(keeper)].filter((one) => one !== ZERO_ADDRESS));
    }
    return this.keepers;
  }

  /** Who was the agent when the row was written; and for a little while the one before, whose row
   * may have been on its way.
   * @param {Row} row
   */
  agents(row) {
    let found = new Set([this.subject.agent]);
    for (const [at, agent] of this.setBy.values()) {
      if (microsOf(row.createdAt) - at > CLOCKS_US) found = new Set([agent]);
      else found.add(agent);
    }
    found.delete(ZERO_ADDRESS);
    return found;
  }

  tell() {
    if (this.signed > 0) this.report.counts.signedRows = this.signed;
    for (const signer of [...this.unvouched].sort()) {
      const text = `rows are signed by ${signer}, and nothing in the record says whose key that is`;
      this.report.remark(text);
    }
  }
}

/** Whether only its author can have said this. @param {Row} row */
function isOwnWord(row) {
  if (!AUTHORS.has(row.reportedBy) || row.blockHash !== null) return false;
  const refusal = member(row.payload, "refusal");
  const isOfService = isObject(refusal) && member(refusal, "reason_source") === "server";
  return !OF_SIGNED_TERMS.has(row.baseKey) && !isOfService;
}
