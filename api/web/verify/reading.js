/**
 * The file itself: is each line the canonical JSON of what it says, are the rows in order, does the
 * hash chain hold?
 *
 * Nothing is asked of anybody here. What cannot be read is told and left out; the other lines are
 * still checked.
 */

/** @import {Head, JsonObject, RecordFile, Row} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Pauses} from "./pause.js" */

import { chainHash, genesisHash, NO_HASH, utf8 } from "./bytes.js";
import { canonical, hasOnlyWholeNumbers, isObject, NotCanonicalError } from "./canonical.js";
import {
  anchorOf,
  FORMAT,
  FormError,
  headOf,
  isFirstLine,
  isHash,
  rowOf,
  VERSION,
} from "./lines.js"; // prettier-ignore

const MOST_LINE_BYTES = 1_000_000;
const MOST_VALUES = 20_000;
export const MOST_LINES = 200_000;
const MOST_SAID = 300;
const LINE_END = 0x0a;

/**
 * @param {Uint8Array} bytes @param {Report} report @param {Pauses} pauses
 * @param {(part: string, done: number, of: number) => void} tell
 * @returns {Promise<RecordFile>}
 */
export async function readRecord(bytes, report, pauses, tell) {
  const reader = new Reader(report);
  let [start, number] = [0, 0];
  while (start < bytes.length) {
    const end = bytes.indexOf(LINE_END, start);
    const after = end === -1 ? bytes.length : end + 1;
    number += 1;
    if (number > MOST_LINES) {
      report.doubt(`format: more than ${MOST_LINES} lines; use verify-record for this record`);
      break;
    }
    const line = bytes.subarray(start, Math.min(after, start + MOST_LINE_BYTES + 1));
    if (!reader.line(number, line)) break;
    if (pauses.isDue) {
      tell("reading", after, bytes.length);
      await pauses.pause();
    }
    start = after;
  }
  reader.end();
  return reader.record;
}

class Reader {
  /** @param {Report} report */
  constructor(report) {
    this.report = report;
    /** @type {RecordFile} */
    this.record = { first: null, head: null, rows: [], anchors: [] };
    this.decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    this.expectedSeq = 1;
    this.count = 0;
    this.before = NO_HASH;
    this.isRefused = false;
  }

  /** Whether to read on. @param {number} number @param {Uint8Array} bytes */
  line(number, bytes) {
    const line = this.object(number, bytes);
    if (line === null) return bytes.length <= MOST_LINE_BYTES;
    const { record, report } = this;
    if (record.first === null) return this.first(line);
    if (record.head !== null) {
      report.say("format.head_missing", null, `line ${number} stands after the head`);
    } else if (Object.hasOwn(line, "head")) {
      record.head = this.head(line);
    } else if (Object.hasOwn(line, "anchor")) {
      this.anchor(number, line);
    } else {
      this.row(number, line);
    }
    return true;
  }

  end() {
    const { record, report } = this;
    if (record.first === null) {
      if (this.isRefused) return;
      if (report.findings.length > 0) {
        report.say("format.first", null, "the file has no first line that can be read");
      } else {
        report.doubt("format: the file is empty");
      }
    } else if (record.head === null) {
      const text = `the file ends after ${this.count} rows without a head`;
      report.say("format.head_missing", null, text);
    }
  }

  /** @param {number} number @param {Uint8Array} bytes @returns {JsonObject | null} */
  object(number, bytes) {
    const [seq, report] = [number - 1 || null, this.report];
    if (bytes.length > MOST_LINE_BYTES) {
      const text = `line ${number} has more than ${MOST_LINE_BYTES} bytes; nothing after it was read`;
      report.say("format.line", seq, text);
      return null;
    }
    if (countOfValues(bytes) > MOST_VALUES) {
      report.say("format.line", seq, `line ${number} may hold more than ${MOST_VALUES} values`);
      return null;
    }
    let text, found;
    try {
      text = this.decoder.decode(bytes);
      found = JSON.parse(text);
    } catch {
      report.say("format.json", seq, `line ${number} is no JSON`);
      return null;
    }
    if (!isObject(found)) {
      report.say("format.json", seq, `line ${number} is no object`);
      return null;
    }
    try {
      if (`${canonical(found)}\n` === text) return found;
      if (!hasOnlyWholeNumbers(text)) throw new NotCanonicalError("a number that is a fraction");
      report.say("format.canonical", seq, `line ${number} is not written canonically`);
    } catch (error) {
      if (!(error instanceof NotCanonicalError)) throw error;
      report.say("format.number", seq, `line ${number}: ${error.message}`);
      return null;
    }
    return found;
  }

  /** Whether the file is a record of this version. @param {JsonObject} line */
  first(line) {
    const { version, detail } = line;
    const isRecord = line.format === FORMAT;
    this.isRefused = true;
    if (!("format" in line) && !("genesis_hash" in line) && typeof detail === "string") {
      const said = detail.split(/\s+/).filter(Boolean).join(" ").slice(0, MOST_SAID);
      this.report.doubt(`format: the file is a refusal: ${said}`);
      return false;
    }
    if (isRecord && typeof version === "number" && version > 0 && version !== VERSION) {
      const text = `the record is of version ${version}, this page reads version ${VERSION}`;
      this.report.doubt(`format: ${text}`);
      return false;
    }
    if (!isFirstLine(line)) {
      const text = `line 1 is not the first line of a ${FORMAT} of version ${VERSION}`;
      this.report.say("format.first", null, text);
      return false;
    }
    this.record.first = line;
    this.before = genesisHash(String(line.mandate_id));
    if (line.genesis_hash !== this.before) {
      const text = `genesis_hash is ${line.genesis_hash}, ${line.mandate_id} gives ${this.before}`;
      this.report.say("chain.genesis", null, text);
    }
    return true;
  }

  /** @param {number} number @param {JsonObject} line */
  row(number, line) {
    const seq = this.expectedSeq;
    const row = this.rowOrNull(number, line, seq);
    this.count += 1;
    this.expectedSeq = (row === null ? seq : row.seq) + 1; // one gap is one difference
    this.before = isHash(line.row_hash) ? line.row_hash : NO_HASH;
    if (row !== null) this.record.rows.push(row);
  }

  /** @param {number} number @param {JsonObject} line @param {number} seq @returns {Row | null} */
  rowOrNull(number, line, seq) {
    const { report, before } = this;
    let row;
    try {
      row = rowOf(line);
    } catch (error) {
      if (!(error instanceof FormError)) throw error;
      report.say("format.row", seq, `line ${number}: ${error.message}`);
      return null;
    }
    if (row.seq !== seq) report.say("chain.seq", seq, `says seq ${row.seq}`);
    if (row.prevHash !== before) {
      const text = `prev_hash is ${row.prevHash}, the row before has ${before}`;
      report.say("chain.prev_hash", seq, text);
      return row;
    }
    const computed = chainHash(before, utf8(canonical(line.body)));
    if (row.rowHash !== computed) {
      const text = `row_hash is ${row.rowHash}, its content gives ${computed}`;
      report.say("chain.row_hash", seq, text);
    }
    return row;
  }

  /** @param {number} number @param {JsonObject} line */
  anchor(number, line) {
    try {
      this.record.anchors.push(anchorOf(line));
    } catch (error) {
      if (!(error instanceof FormError)) throw error;
      this.report.say("anchor.form", null, `line ${number}: ${error.message}`);
    }
  }

  /** @param {JsonObject} line @returns {Head | null} */
  head(line) {
    const [head, report] = [headOf(line), this.report];
    if (head === null) {
      report.say("format.head_missing", null, "the head has another form than a record's");
      return null;
    }
    if (head.seq !== this.count) {
      report.say("head.seq", null, `the head says ${head.seq} rows, there are ${this.count}`);
    }
    if (head.rowHash !== this.before) {
      const text = `the head says ${head.rowHash}, the last row has ${this.before}`;
      report.say("head.row_hash", null, text);
    }
    return head;
  }
}

/** Of one line: each value costs many times its bytes once it is read. @param {Uint8Array} bytes */
function countOfValues(bytes) {
  let count = 0;
  for (const byte of bytes) if (byte === 0x2c || byte === 0x3a || byte === 0x5b) count += 1;
  return count;
}
