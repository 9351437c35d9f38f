/**
 * What a check can say: a difference, by name and row; a part that could not be checked; a remark.
 *
 * At most so many are kept, and all texts cut, so that a file cannot make the report larger than it
 * is worth. Names and words are verify-record's own (docs/verify.md#names-of-differences).
 */

import { NAMES } from "./tables.js";

export const MOST_FINDINGS = 1_000;
export const MOST_TEXTS = 100;
const MOST_CHARACTERS = 2_000;

/** @typedef {{name: string, seq: number | null, text: string}} Finding */
/** @typedef {"sound" | "chain_sound" | "claims_only" | "different" | "unchecked"} Verdict */

/**
 * What the vault measured in a block; `usdc` null: a venue that it asks fails. `row`: of a mark.
 * @typedef {{usdc: string | null, atCostUsdc: string | null, block: number, row?: number}} Measure
 */

/** A part could not be checked. Never a reason to call a record sound. */
export class UncheckedError extends Error {
  /** @param {string} part @param {string} reason @param {boolean} [isRevert] the contract's answer */
  constructor(part, reason, isRevert = false) {
    super(`${part}: ${reason}`);
    this.part = part;
    this.reason = reason;
    this.isRevert = isRevert;
  }
}

export class Report {
  /** @type {Finding[]} */
  findings = [];
  more = 0;
  /** @type {string[]} */
  unchecked = [];
  moreUnchecked = 0;
  /** @type {string[]} */
  remarks = [];
  /** @type {number[]} */
  claims = [];
  /** Seqs of rows that their author signed. @type {Set<number>} */
  vouched = new Set();
  isPaper = false; // no chain stands behind it, whatever its rows say
  /** @type {Measure | null} */
  worth = null;
  /** @type {Measure | null} */
  newestMark = null;
  /** @type {{[name: string]: string | number | null}} */
  subject = {};
  /** @type {{[name: string]: number}} */
  counts = {};
  /** @type {{[name: string]: string | boolean}} */
  totals = {};

  /** @param {string} name @param {number | null} seq @param {string} text */
  say(name, seq, text) {
    if (!Object.hasOwn(NAMES, name)) throw new Error(`no such difference: ${name}`);
    if (this.findings.length < MOST_FINDINGS) this.findings.push({ name, seq, text: cut(text) });
    else this.more += 1;
  }

  /** @param {string} text */
  doubt(text) {
    if (this.unchecked.length < MOST_TEXTS) this.unchecked.push(cut(text));
    else this.moreUnchecked += 1;
  }

  /** @param {string} text */
  remark(text) {
    if (this.remarks.length < MOST_TEXTS) this.remarks.push(cut(text));
  }

  /**
   * Run one part of the checks; what it cannot check is told and does not end the others.
   * @param {() => unknown} check
   */
  async part(check) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof UncheckedError)) throw error;
      this.doubt(error.message);
    }
  }

  /** @returns {Verdict} */
  get verdict() {
    if (this.findings.length > 0) return "different";
    if (this.unchecked.length > 0) return "unchecked";
    if (this.isPaper) return "claims_only";
    return this.claims.length > 0 ? "chain_sound" : "sound";
  }
}

/** @param {string} text */
function cut(text) {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}...`;
}
