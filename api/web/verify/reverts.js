/**
 * Reverted calls: those that the record tells of, and those that it leaves out.
 *
 * A reverted call leaves no log. What the record tells is checked by receipt and call data, and run
 * again. What it leaves out shows in the nonces of the vault's agents (nonces.js).
 */

/** @import {AbiValue} from "./abi.js" */
/** @import {Block, Json, JsonObject, NewRow, Row} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */
/** @import {RowsCheck} from "./rows.js" */

import { AbiError, decodeValues } from "./abi.js";
import * as answers from "./answers.js";
import { bytesOf } from "./bytes.js";
import { canonical, isObject, member } from "./canonical.js";
import { UncheckedError } from "./findings.js";
import { usdcText } from "./money.js";
import { hexNumber, isOfTheParams, RefusedError } from "./node.js";
import { unexplainedHeights } from "./nonces.js";
import { ERRORS, FUNCTION_NAMES, REASONS, VAULT_CALLS } from "./tables.js";
import { timeText } from "./times.js";

const MOST_SCANNED = 5_000; // blocks, on a node that has no nonces of past ones
const UNKNOWN = "unknown";
const PART = "reverted calls";

/** @typedef {{from: string, to: string | null, input: string, gas: string}} Sent */

/** @param {Row} row */
const isRevert = (row) => row.baseKey.startsWith("revert:") && row.reverses === null;

export class RevertsCheck {
  /**
   * @param {RowsCheck} checked @param {string} vault @param {Node} node @param {Report} report
   */
  constructor(checked, vault, node, report) {
    this.rows = checked;
    this.vault = vault;
    this.node = node;
    this.report = report;
    this.unexplained = 0;
    /** @type {Set<number>} */
    this.proven = new Set();
    /** Each account that was ever the vault's agent, and since when. @type {Map<string, number>} */
    this.agents = new Map();
    for (const { height, agent } of checked.expected.agents) {
      if (!this.agents.has(agent)) this.agents.set(agent, height);
    }
    /** @type {Map<string, number[]>} */
    this.reports = new Map();
    for (const { baseKey, seq } of checked.rows) {
      if (!baseKey.startsWith("refusal:")) continue;
      this.reports.set(baseKey, [...(this.reports.get(baseKey) ?? []), seq]);
    }
  }

  /** Each note of the record whose block is in the chain. */
  async told() {
    const happened = this.rows.rows.filter((row) => isRevert(row) && this.happened(row));
    await this.node.each(PART, happened, (row) => this.content(row));
    if (this.unexplained > 0) {
      const text = `why ${this.unexplained} of them failed could not be run again`;
      this.report.doubt(`${PART}: ${text} and is the record's word`);
    }
  }

  /** @param {Row} row */
  happened(row) {
    const { blockHash, blockNumber, txHash, seq } = row;
    if (blockHash === null || blockNumber === null || txHash === null) {
      this.report.say("row.unproven", seq, `${row.baseKey} names no block or transaction`);
      return false;
    }
    if (!this.rows.isCanonical(row)) return false;
    const outcome = this.rows.outcomes.get(txHash);
    if (outcome === undefined || outcome.blockHash !== blockHash) {
      this.report.say("revert.transaction", seq, `there is no ${txHash} in block ${blockNumber}`);
      return false;
    }
    if (outcome.status !== 0) {
      this.report.say("revert.status", seq, `${txHash} did not fail`);
      return false;
    }
    if (outcome.to !== this.vault || !this.isAgent(outcome.sender, outcome.blockNumber)) {
      const text = `${txHash} is from ${outcome.sender} to ${outcome.to}`;
      this.report.say("revert.parties", seq, text);
      return false;
    }
    return true;
  }

  /** @param {string} sender @param {number} height */
  isAgent(sender, height) {
    return (this.agents.get(sender) ?? height + 1) <= height;
  }

  /** @param {Row} row */
  async content(row) {
    const block = this.rows.blocks.get(row.blockNumber ?? -1);
    const [txHash, part] = [row.txHash ?? "", "a reverted call"];
    const method = "eth_getTransactionByHash";
    const sent = await this.node.ask(part, method, [txHash], answers.transaction);
    const refusal = member(row.payload, "refusal");
    if (sent === null || block === undefined || !isObject(refusal)) {
      this.report.say("revert.content", row.seq, "it tells no refusal");
      return;
    }
    const hasError = Object.hasOwn(refusal, "contract_error");
    const said = textOf(member(refusal, hasError ? "contract_error" : "reason") ?? null);
    // what the service could not look up stands without the attempt
    const isUnknown = said === UNKNOWN && !Object.hasOwn(refusal, "attempted");
    const attempted = isUnknown ? null : attemptedOf(sent.input);
    const wanted = this.note(row, block, said, attempted);
    const [told, given] = [factsOf(row), factsOf(wanted)];
    if (told !== given) {
      this.report.say("revert.content", row.seq, `the row says ${told}, the call gives ${given}`);
    } else if (await this.isReason(row, said, sent, block)) {
      this.proven.add(row.seq);
    }
  }

  /** The note of this call as the indexer writes it.
   * @param {Row} row @param {Block} block @param {string} reason @param {JsonObject | null} attempted
   * @returns {NewRow}
   */
  note(row, block, reason, attempted) {
    const recorded = REASONS.includes(reason) ? reason : UNKNOWN;
    /** @type {JsonObject} */
    const refusal = {
      reason: recorded,
      source: "chain",
      reason_source: recorded === UNKNOWN ? UNKNOWN : "chain",
      check: "block_scan",
      server_check: "confirmed",
      ...(recorded === reason ? {} : { contract_error: reason }),
      ...(attempted === null ? {} : { attempted }),
    };
    const reports = this.reports.get(`refusal:${row.txHash}`) ?? [];
    const before = reports.filter((seq) => seq < row.seq);
    /** @type {JsonObject} */
    const payload = { refusal, reverted: true };
    if (before.length > 0) payload.proves_event_id = before.at(-1) ?? null;
    return {
      kind: "note",
      reportedBy: "chain",
      occurredAt: timeText(block.at),
      baseKey: `revert:${row.txHash}`,
      amount: null,
      cashDelta: 0n,
      chainId: this.rows.subject.chainId,
      txHash: row.txHash,
      logIndex: null,
      blockNumber: block.number,
      blockHash: block.hash,
      payload,
    };
  }

  /**
   * Run the call again on the state before its block: what it fails with there is demanded. A node
   * without that state leaves a reason the record's word; `unknown` says nothing.
   * @param {Row} row @param {string} said @param {Sent} sent @param {Block} block
   */
  async isReason(row, said, sent, block) {
    const data = await this.replay(sent, block);
    const given = data === null ? UNKNOWN : errorNameOf(data);
    if (said === given) return true;
    if (data === null) {
      this.unexplained += 1;
    } else {
      const text = `the row says ${said}, run again it fails with ${given}`;
      this.report.say("revert.reason", row.seq, text);
    }
    return false;
  }

  /** The revert data; null: it could not be run again, or does not fail there.
   * @param {Sent} sent @param {Block} block
   */
  async replay(sent, block) {
    const { from, to, input, gas } = sent;
    const at = { blockHash: block.parentHash };
    const overrides = { number: hexNumber(block.number), time: hexNumber(block.at) };
    const call = { from, to, data: input, gas };
    try {
      return await this.revertOf([call, at, {}, overrides]);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      return isOfTheParams(error) ? this.revertOf([call, at]).catch(noData) : null;
    }
  }

  /** @param {unknown[]} params @returns {Promise<string | null>} */
  async revertOf(params) {
    try {
      await this.node.once("a reverted call, run again", "eth_call", params, answers.plain);
      return null;
    } catch (error) {
      if (error instanceof RefusedError && error.isRevert) return error.data;
      throw error;
    }
  }

  /**
   * The heights in which an agent sent what neither record nor logs know; every height on a node
   * that has no nonces of past blocks. Errors: UncheckedError when those are too many.
   * @param {number} first @param {number} until
   */
  async heights(first, until) {
    try {
      return await this.unexplainedHeights(first, until);
    } catch (error) {
      if (!(error instanceof UncheckedError)) throw error;
      const count = until - first + 1;
      if (count <= MOST_SCANNED) return Array.from({ length: count }, (_, at) => first + at);
      const text = `those that the record leaves out were not looked for in ${count} blocks`;
      throw new UncheckedError(PART, `${text}: ${error.message}`);
    }
  }

  /** @param {number} first @param {number} until */
  async unexplainedHeights(first, until) {
    // a row that was taken back tells of nothing, even where it names a transaction that is there
    const standing = [...this.rows.standing.values()].filter((row) => row.blockHash !== null);
    const told = new Set(standing.map((row) => row.txHash));
    /** @type {Map<string, number[]>} */
    const known = new Map();
    for (const [txHash, { sender, blockNumber }] of this.rows.outcomes) {
      if (told.has(txHash)) known.set(sender, [...(known.get(sender) ?? []), blockNumber]);
    }
    /** @type {Set<number>} */
    const found = new Set();
    for (const [agent, since] of this.agents) {
      const [sent, from] = [known.get(agent) ?? [], Math.max(first, since)];
      const heights = await unexplainedHeights(agent, sent, from, until, this.node);
      for (const height of heights) found.add(height);
    }
    return [...found].sort((one, two) => one - two);
  }

  /**
   * Say which the record leaves out in these blocks. Those after `toldUntil` it does not claim to
   * tell of yet.
   * @param {readonly number[]} heights @param {number} toldUntil
   */
  async look(heights, toldUntil) {
    const leftOut = await this.leftOut(heights);
    const later = leftOut.filter(({ height }) => height > toldUntil).length;
    for (const { sent, height } of leftOut) {
      const text = `${sent.txHash} in block ${height} by ${sent.sender}`;
      if (height <= toldUntil) this.report.say("revert.left_out", null, text);
    }
    if (later > 0) {
      const text = `the record tells of them up to block ${toldUntil}, and ${later} came after`;
      this.report.doubt(`${PART}: ${text}; export it again`);
    }
  }

  /**
   * A record that ends before a reverted call shows none of it, as with logs. Errors:
   * UncheckedError when there is one.
   * @param {number} last
   */
  async lookAfter(last) {
    const heights = await this.heights(last + 1, await this.node.newest());
    const [first, ...more] = await this.leftOut(heights);
    if (first === undefined) return;
    const text = `${more.length + 1} came after the record's last block`;
    throw new UncheckedError(PART, `${text}, the first in block ${first.height}; export it again`);
  }

  /**
   * Calls of the vault's agents in these blocks that failed and have no row.
   * @param {readonly number[]} heights
   */
  async leftOut(heights) {
    const blocks = await this.node.blocks(heights, true);
    const suspects = [...blocks.values()].flatMap((block) =>
      block.calls
        .filter((sent) => sent.to === this.vault && this.isAgent(sent.sender, block.number))
        .filter((sent) => !this.rows.standing.has(`revert:${sent.txHash}`))
        .map((sent) => ({ sent, height: block.number })),
    );
    const known = new Set([...this.rows.expected.logs.values()].map((log) => log.txHash));
    const asked = suspects.filter(({ sent }) => !known.has(sent.txHash));
    const wanted = new Map(asked.map(({ sent }) => [sent.txHash, new Set()]));
    const outcomes = await this.node.outcomes(/** @type {Map<string, Set<number>>} */ (wanted));
    return suspects.filter(({ sent }) => outcomes.get(sent.txHash)?.status === 0);
  }
}

/** @param {unknown} error */
function noData(error) {
  if (error instanceof RefusedError) return null;
  throw error;
}

/** @param {Json} value */
const textOf = (value) => (typeof value === "string" ? value : canonical(value));

/** The Solidity error's name; unknown when it is none of ours. @param {string} data */
function errorNameOf(data) {
  const error = Object.hasOwn(ERRORS, data.slice(0, 10)) ? ERRORS[data.slice(0, 10)] : undefined;
  if (error === undefined) return UNKNOWN;
  try {
    decodeValues(error.types, bytesOf(data).subarray(4));
    return error.name;
  } catch (problem) {
    if (problem instanceof AbiError) return UNKNOWN;
    throw problem;
  }
}

/**
 * What call data asked the vault for; of a batch the first call and the sum. Null when it cannot be
 * read. Source: core/mandate/chain/attempts.py.
 * @param {string} data
 * @returns {JsonObject | null}
 */
function attemptedOf(data) {
  const selector = data.slice(0, 10);
  const form = Object.hasOwn(VAULT_CALLS, selector) ? VAULT_CALLS[selector] : undefined;
  const name = Object.hasOwn(FUNCTION_NAMES, selector) ? FUNCTION_NAMES[selector] : undefined;
  let calls;
  try {
    calls = form === undefined ? [] : callsOf(form, data);
  } catch (problem) {
    if (problem instanceof AbiError) return null;
    throw problem;
  }
  const [target, , first] = calls[0] ?? [];
  if (calls.length === 0) return name === undefined ? null : { function: name };
  const sum = calls.reduce((all, call) => all + BigInt(String(call[1])), 0n);
  const asked = {
    target: String(target),
    selector: String(first).slice(0, 10),
    amount_usdc: usdcText(sum),
  };
  return calls.length === 1 ? asked : { ...asked, calls: calls.length };
}

/** @param {{name: string, types: string[]}} form @param {string} data @returns {AbiValue[][]} */
function callsOf(form, data) {
  const [argument] = decodeValues(form.types, bytesOf(data).subarray(4));
  if (!Array.isArray(argument)) throw new AbiError("no call");
  const calls = form.name === "execute" ? [argument] : argument;
  return calls.filter((call) => Array.isArray(call));
}

/** @param {NewRow} row */
function factsOf(row) {
  const { kind, reportedBy, chainId, txHash, logIndex, occurredAt, baseKey, payload } = row;
  const amount = row.amount === null ? null : usdcText(row.amount);
  const place = [kind, reportedBy, amount, usdcText(row.cashDelta), chainId, txHash, logIndex];
  return canonical([...place, occurredAt, baseKey, payload]);
}
