/**
 * Logs as events, and events as rows of the record: one row per log, as the indexer writes it.
 *
 * A row depends on its event alone, never on the rows before it. What a log moved of the vault's
 * own USDC is its cash delta; X402Paid moves none, the call's Executed has it.
 * Source: core/mandate/rules/chain_rows.py.
 */

/** @import {AbiValue} from "./abi.js" */
/** @import {JsonObject, Log, NewRow} from "./types.js" */

import { AbiError, decodeValues } from "./abi.js";
import { bytesOf, concat, ZERO_ADDRESS } from "./bytes.js";
import { usdcText } from "./money.js";
import { EVENTS, ROLE_NAMES } from "./tables.js";
import { timeText } from "./times.js";

/** @typedef {{name: string, values: {[name: string]: AbiValue}}} Event */

/**
 * Who is who for one vault, so that a row can say who acted.
 * @typedef {{keeper: string, owner: string, agent: string | null, usdc: string}} Parties
 */

/**
 * What a row is, beside where it stands.
 * @typedef {object} Content
 * @property {string} kind
 * @property {string} [reportedBy] chain, unless it says otherwise
 * @property {bigint | null} [amount]
 * @property {bigint} [cashDelta]
 * @property {JsonObject} payload
 */

/** Topic 0 of the event of that name. @param {string} name */
export function topicOf(name) {
  const found = Object.entries(EVENTS).find(([, event]) => event.name === name);
  if (found === undefined) throw new Error(`no such event: ${name}`);
  return found[0];
}

/**
 * The event of a log; null when its topic is none of ours. Errors: AbiError.
 * @param {Log} log
 * @returns {Event | null}
 */
export function eventOf(log) {
  const [topic = "", ...rest] = log.topics;
  const form = Object.hasOwn(EVENTS, topic) ? EVENTS[topic] : undefined;
  if (form === undefined) return null;
  if (rest.length !== form.indexed.length) throw new AbiError(`${form.name} with other topics`);
  const indexed = decodeValues(typesOf(form.indexed), concat(...rest.map(bytesOf)));
  const plain = decodeValues(typesOf(form.plain), bytesOf(log.data));
  const names = [...form.indexed, ...form.plain].map(([name]) => name);
  const values = [...indexed, ...plain];
  return {
    name: form.name,
    values: Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""])),
  };
}

/** @param {readonly [string, string][]} form */
const typesOf = (form) => form.map(([, type]) => type);

/**
 * The row of one log; null when the record has no row for it.
 * @param {Event} event @param {Log} log @param {{chainId: number, at: number}} place
 * @param {Parties} parties
 * @returns {NewRow | null}
 */
export function rowOfEvent(event, log, place, parties) {
  const content = contentOf(event, log, parties);
  if (content === null) return null;
  return {
    kind: content.kind,
    reportedBy: content.reportedBy ?? "chain",
    occurredAt: timeText(place.at),
    baseKey: `log:${log.txHash}:${log.logIndex}`,
    amount: content.amount ?? null,
    cashDelta: content.cashDelta ?? 0n,
    chainId: place.chainId,
    txHash: log.txHash,
    logIndex: log.logIndex,
    blockNumber: log.blockNumber,
    blockHash: log.blockHash,
    payload: content.payload,
  };
}

/** @param {Event} event @param {Log} log @param {Parties} parties @returns {Content | null} */
function contentOf(event, log, parties) {
  const { name, values } = event;
  if (name === "AdapterListed" || name === "AdapterDelisted") return null;
  if (Object.hasOwn(MONEY, name)) return MONEY[name]?.(values, parties, log) ?? null;
  if (Object.hasOwn(CONTROL, name)) return CONTROL[name]?.(values, parties) ?? null;
  return ofFactory(event);
}

/** @typedef {{[name: string]: AbiValue}} Values */

/** @param {Values} values @param {string} name */
const text = (values, name) => String(values[name]);
/** @param {Values} values @param {string} name */
const usdc = (values, name) => usdcText(amountOf(values, name));

/** @param {Values} values @param {string} name @returns {bigint} */
function amountOf(values, name) {
  const value = values[name];
  if (typeof value !== "bigint") throw new AbiError(`${name} is no number`);
  return value;
}

/** A number of a payload, which JSON holds exactly. @param {Values} values @param {string} name */
function count(values, name) {
  const value = amountOf(values, name);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new AbiError(`${name} is too large`);
  return Number(value);
}

/** @type {{[name: string]: (values: Values, parties: Parties, log: Log) => Content}} */
const MONEY = {
  Deposited: (values) => ({
    kind: "deposit",
    amount: amountOf(values, "amount"),
    cashDelta: amountOf(values, "amount"),
    payload: { from: text(values, "from"), balance: usdc(values, "balance") },
  }),
  Executed: (values) => {
    const [spent, received] = [amountOf(values, "spent"), amountOf(values, "received")];
    const executed = {
      target: text(values, "target"),
      selector: text(values, "selector"),
      spent: usdcText(spent),
      received: usdcText(received),
      nonce: count(values, "nonce"),
      balance: usdc(values, "balance"),
    };
    const amount = spent || received;
    return { kind: "move", amount, cashDelta: received - spent, payload: { executed } };
  },
  Unwound: (values) => {
    const amount = amountOf(values, "received");
    const unwound = {
      by: text(values, "by"),
      target: text(values, "target"),
      selector: text(values, "selector"),
      received: usdcText(amount),
      balance: usdc(values, "balance"),
    };
    return { kind: "note", amount, cashDelta: amount, payload: { unwound } };
  },
  ProceedsReceived: (values) => {
    const amount = amountOf(values, "amount");
    const proceeds = { adapter: text(values, "adapter"), balance: usdc(values, "balance") };
    return { kind: "note", amount, cashDelta: amount, payload: { proceeds } };
  },
  Settled: (values) => {
    const amount = amountOf(values, "fee");
    const settled = {
      payee: text(values, "payee"),
      gain: usdc(values, "gain"),
      fee: usdcText(amount),
      balance: usdc(values, "balance"),
    };
    return { kind: "payout", amount, cashDelta: -amount, payload: { settled } };
  },
  Withdrawn: (values, parties) => {
    const [token, to, amount] = [
      text(values, "token"),
      text(values, "to"),
      amountOf(values, "amount"),
    ]; // prettier-ignore
    if (token === parties.usdc) {
      const withdrawn = { token, to, balance: usdc(values, "balance") };
      return { kind: "withdraw", amount, cashDelta: -amount, payload: { withdrawn } };
    }
    // another token's amount has other units: it stays raw, and moves no cash
    const balance = String(amountOf(values, "balance"));
    const raw = { token, to, amount_raw: String(amount), balance_raw: balance };
    return { kind: "withdraw", payload: { withdrawn: raw } };
  },
  X402Paid: (values, _, log) => ({
    kind: "fee",
    amount: amountOf(values, "amount"),
    payload: {
      fee_kind: "x402",
      resource: text(values, "resourceHash"),
      pay_to: text(values, "payTo"),
      adapter: log.address,
    },
  }),
};

/** @type {{[name: string]: (values: Values, parties: Parties) => Content}} */
const CONTROL = {
  VaultCreated: (values) => {
    const agent = text(values, "agent");
    const created = {
      vault: text(values, "vault"),
      terms_digest: text(values, "termsDigest"),
      owner: text(values, "owner"),
      agent: agent === ZERO_ADDRESS ? null : agent,
    };
    return { kind: "note", payload: { vault_created: created } };
  },
  AgentSet: (values) => ({
    kind: "note",
    payload: { agent_set: { agent: text(values, "agent") }, note: "Agent set on chain" },
  }),
  AgentRemoved: (values) => ({
    kind: "note",
    payload: {
      agent_removed: { agent: text(values, "agent"), by: text(values, "by") },
      note: "Paused: agent removed on chain",
    },
  }),
  Marked: (values) => ({
    kind: "note",
    reportedBy: "keeper",
    payload: {
      mark: {
        worth_usdc: usdc(values, "worth"),
        unvalued_out_usdc: usdc(values, "unvaluedOut"),
      },
    },
  }),
  Stopped: (values, parties) => {
    const by = text(values, "by");
    const known = values.worthKnown === true;
    const stopped = {
      by,
      reason: wordOfAscii(text(values, "reason")),
      worth_usdc: known ? usdc(values, "worth") : null,
      unvalued_out_usdc: known ? usdc(values, "unvaluedOut") : null,
    };
    return { kind: "stop", reportedBy: whoIs(by, parties), payload: { stopped } };
  },
  PayeeChanged: (values) => ({
    kind: "note",
    payload: {
      payee_changed: {
        previous_payee: text(values, "previousPayee"),
        new_payee: text(values, "newPayee"),
      },
    },
  }),
  TermsCancelled: (values) => ({
    kind: "note",
    payload: {
      terms_cancelled: { terms_digest: text(values, "termsDigest"), owner: text(values, "owner") },
    },
  }),
};

/** A keeper that replaces the zero address is the first one, not a change. @param {Event} event */
function ofFactory({ name, values }) {
  const previous = values.previousKeeper ?? values.previousGuard;
  if ((name === "KeeperChanged" || name === "GuardChanged") && previous === ZERO_ADDRESS) {
    return null;
  }
  const args = Object.fromEntries(Object.entries(values).map(([key, one]) => [key, String(one)]));
  if (args.role !== undefined) args.role = ROLE_NAMES[args.role.toLowerCase()] ?? args.role;
  return { kind: "note", payload: { factory: true, event: name, args } };
}

/** The keeper's key, the owner, the agent; anyone else could only enforce the stop line.
 * @param {string} by @param {Parties} parties
 */
function whoIs(by, parties) {
  if (by === parties.keeper) return "keeper";
  if (by.toLowerCase() === parties.owner.toLowerCase()) return "owner";
  return by === parties.agent ? "agent" : "chain";
}

/** A bytes32 that holds printable ASCII, without spaces that nobody sees, as that text.
 * @param {string} word
 */
function wordOfAscii(word) {
  const bytes = bytesOf(word.replace(/(?:00)+$/, ""));
  const found = String.fromCharCode(...bytes);
  const isPrintable = /^[\x20-\x7e]+$/.test(found);
  return isPrintable && found === found.split(/\s+/).filter(Boolean).join(" ") ? found : word;
}
