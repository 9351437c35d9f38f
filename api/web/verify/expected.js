/**
 * The rows that the chain itself gives: every log of the vault, what the factory says of all
 * vaults, and the vault's payments. Who was agent or keeper at a log is followed from the logs.
 */

/** @import {AbiValue} from "./abi.js" */
/** @import {Event} from "./events.js" */
/** @import {Node} from "./node.js" */
/** @import {Pauses} from "./pause.js" */
/** @import {Block, Log, NewRow, Subject} from "./types.js" */

import { AbiError } from "./abi.js";
import { ZERO_ADDRESS } from "./bytes.js";
import { eventOf, rowOfEvent, topicOf } from "./events.js";
import { UncheckedError } from "./findings.js";
import { addressWord, view } from "./views.js";

// what the factory says of every vault at once: who is keeper, guard, admin or pauser
const NOTED = [
  "KeeperProposed",
  "KeeperChanged",
  "KeeperProposalCancelled",
  "GuardProposed",
  "GuardChanged",
  "GuardProposalCancelled",
  "RoleGranted",
  "RoleRevoked",
]; // prettier-ignore
const PART = "logs of the vault";

/**
 * What the chain has of a vault. `keeper`: the factory's before the first of the logs.
 * @typedef {{vault: string, logs: Log[], keeper: string, usdc: string}} ChainLogs
 */

/**
 * @typedef {object} Expected `rows` by base key, in the chain's order
 * @property {Map<string, NewRow>} rows
 * @property {Map<string, Log>} logs
 * @property {{height: number, agent: string}[]} agents as the vault named them
 * @property {{[name: string]: AbiValue} | null} created the factory's own log
 * @property {number} createdBlock
 * @property {number | null} settledBlock
 */

/** @returns {Expected} */
export function nothingExpected() {
  return {
    rows: new Map(),
    logs: new Map(),
    agents: [],
    created: null,
    createdBlock: 0,
    settledBlock: null,
  };
}

/** @param {Log} log */
export const keyOf = (log) => `log:${log.txHash}:${log.logIndex}`;

/**
 * The filter of what the factory logs of these terms: that their vault was made, or that the owner
 * cancelled them.
 * @param {Subject} subject @param {string} vault
 */
export function ofTerms(subject, vault) {
  const kinds = [topicOf("VaultCreated"), topicOf("TermsCancelled")];
  const of = [`0x${addressWord(vault)}`, subject.digest];
  return { address: subject.factory, topics: [kinds, of] };
}

/**
 * Every log that concerns the vault, from `first` to the record's last block; payments of the x402
 * adapter alone. Errors: UncheckedError.
 * @param {Subject} subject @param {string} vault @param {string | null} adapter @param {Node} node
 * @param {number} first @param {number} last
 * @returns {Promise<ChainLogs>}
 */
export async function chainLogs(subject, vault, adapter, node, first, last) {
  /** @type {Log[]} */
  const logs = [];
  /** @param {string} part @param {{address: string, topics?: unknown[]}} filter */
  const take = async (part, filter) => {
    for await (const log of node.logs(part, filter, first, last)) logs.push(log);
  };
  await take(PART, { address: vault });
  await take("creation", ofTerms(subject, vault));
  const noted = { address: subject.factory, topics: [NOTED.map(topicOf)] };
  await take("logs of the factory", noted);
  if (adapter !== null) {
    const topics = [topicOf("X402Paid"), `0x${addressWord(vault)}`];
    await take("payments", { address: adapter, topics });
  }
  logs.sort((one, two) => one.blockNumber - two.blockNumber || one.logIndex - two.logIndex);
  const [usdc] = await view(node, "the token", subject.factory, "usdc");
  const keeper = await keeperBefore(subject, logs, node, last);
  return { vault, logs, keeper, usdc: String(usdc) };
}

/**
 * The rows of these logs. Errors: UncheckedError when a log cannot be read or stands in a block
 * that the node has otherwise.
 * @param {Subject} subject @param {ChainLogs} found @param {ReadonlyMap<number, Block>} blocks
 * @param {Pauses} pauses
 */
export async function expectedRows(subject, found, blocks, pauses) {
  const expected = nothingExpected();
  let keeper = found.keeper;
  for (const log of found.logs) {
    if (pauses.isDue) await pauses.pause();
    const event = readEvent(log);
    if (event === null) continue;
    const block = blocks.get(log.blockNumber);
    if (block === undefined || block.hash !== log.blockHash) {
      const text = `the node changed its mind about block ${log.blockNumber}; try again`;
      throw new UncheckedError(PART, text);
    }
    if (event.name === "KeeperChanged") keeper = String(event.values.newKeeper);
    if (NOTED.includes(event.name) && !isNoted(expected, log.blockNumber)) continue;
    const agent = expected.agents.at(-1)?.agent ?? null;
    const parties = { keeper, owner: subject.owner, agent, usdc: found.usdc };
    const row = readRow(event, log, { chainId: subject.chainId, at: block.at }, parties);
    if (row !== null) {
      expected.rows.set(row.baseKey, row);
      expected.logs.set(row.baseKey, log);
    }
    note(expected, event, log.blockNumber);
  }
  return expected;
}

/** @param {Log} log */
function readEvent(log) {
  return read(log, () => eventOf(log));
}

/**
 * @param {Event} event @param {Log} log @param {{chainId: number, at: number}} place
 * @param {import("./events.js").Parties} parties
 */
function readRow(event, log, place, parties) {
  return read(log, () => rowOfEvent(event, log, place, parties));
}

/** @template T @param {Log} log @param {() => T} parse @returns {T} */
function read(log, parse) {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof AbiError || error instanceof RangeError)) throw error;
    throw new UncheckedError(PART, `${log.txHash} log ${log.logIndex}: ${error.message}`);
  }
}

/** @param {Expected} expected @param {Event} event @param {number} height */
function note(expected, event, height) {
  const { name, values } = event;
  if (name === "VaultCreated") {
    expected.created = values;
    expected.createdBlock = height;
    if (values.agent !== ZERO_ADDRESS)
      expected.agents.push({ height, agent: String(values.agent) });
  } else if (name === "AgentSet") {
    expected.agents.push({ height, agent: String(values.agent) });
  } else if (name === "Settled") {
    expected.settledBlock ??= height;
  }
}

/** The factory's events stand in the records of vaults made in earlier blocks and not settled
 * before.
 * @param {Expected} expected @param {number} height
 */
function isNoted(expected, height) {
  if (expected.created === null || height <= expected.createdBlock) return false;
  return expected.settledBlock === null || height <= expected.settledBlock;
}

/**
 * The keeper before the first of the logs: the next change names the one that it replaced. No past
 * state is asked for.
 * @param {Subject} subject @param {Log[]} found @param {Node} node @param {number} last
 */
async function keeperBefore(subject, found, node, last) {
  const topic = topicOf("KeeperChanged");
  const own = found.find((log) => log.address === subject.factory && log.topics[0] === topic);
  if (own !== undefined) return previousKeeper(own);
  const wanted = { address: subject.factory, topics: [[topic]] };
  const newest = await node.newest();
  for await (const log of node.logs("changes of the keeper", wanted, last + 1, newest)) {
    return previousKeeper(log);
  }
  return String((await view(node, "the keeper", subject.factory, "keeper"))[0]);
}

/** @param {Log} log */
function previousKeeper(log) {
  const event = readEvent(log);
  return String(event?.values.previousKeeper);
}
