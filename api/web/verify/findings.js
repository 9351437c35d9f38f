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
/** @typedef {"sound" | "chain_sound" | "different" | "unchecked"} Verdict */

/** A part could not be checked. Never a reason to call a record sound. */
export class UncheckedError extends Error {
  /** @param {string} part @param {string} reason */
  constructor(part, reason) {
    super(`${part}: ${reason}`);
    this.part = part;
    this.reason = reason;
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
    return this.claims.length > 0 ? "chain_sound" : "sound";
  }
}

/** @param {string} text */
function cut(text) {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}...`;
}
