/**
 * Whether the node's list of the vault's logs is whole, without its word for it.
 *
 * The vault keeps logHead, one word that every log of it replaces (MandateVault.sol, LOGS). Here the
 * word is computed again from the logs that the node gave, and compared with the one in the vault's
 * storage at the record's last block:
 *
 * block hash = keccak(header) -> state root -> account (eth_getProof) -> storage root -> logHead
 *
 * Nothing below the block's hash is the node's word. What adapters, venues, the token and the
 * factory log is not in the vault's word (docs/verify.md#the-vaults-own-word-for-its-logs).
 */

/** @import {Block, Log} from "./types.js" */
/** @import {Report} from "./findings.js" */
/** @import {Node} from "./node.js" */
/** @import {Pauses} from "./pause.js" */

import * as answers from "./answers.js";
import { bytesOf, concat, hexOf, keccak, word } from "./bytes.js";
import { UncheckedError } from "./findings.js";
import { hexNumber } from "./node.js";
import { bytesOfItem, decode, encode, numberBytes, ProofError, provenValue } from "./tries.js";

const PART = "the vault's logHead";
const SLOT = 5; // of logHead in the vault's storage
const MOST_FIELD_CHARACTERS = 2_002;
// of a header, in the order in which it is hashed; whether it is a number
/** @type {[string, boolean][]} */
const FIELDS = [
  ["parentHash", false],
  ["sha3Uncles", false],
  ["miner", false],
  ["stateRoot", false],
  ["transactionsRoot", false],
  ["receiptsRoot", false],
  ["logsBloom", false],
  ["difficulty", true],
  ["number", true],
  ["gasLimit", true],
  ["gasUsed", true],
  ["timestamp", true],
  ["extraData", false],
  ["mixHash", false],
  ["nonce", false],
]; // prettier-ignore
// a fork adds its own at the end: those that the node does not name are not hashed
/** @type {[string, boolean][]} */
const FORK_FIELDS = [
  ["baseFeePerGas", true],
  ["withdrawalsRoot", false],
  ["blobGasUsed", true],
  ["excessBlobGas", true],
  ["parentBeaconBlockRoot", false],
  ["requestsHash", false],
]; // prettier-ignore

/** @typedef {{[key: string]: unknown}} Raw */

/**
 * Errors: UncheckedError when the node proves nothing.
 * @param {string} digest of the terms @param {string} vault @param {readonly Log[]} logs in the
 * order of the chain; those of other contracts are passed over
 * @param {ReadonlyMap<number, Block>} blocks of every log's height
 * @param {Node} node @param {Block} last @param {Report} report @param {Pauses} pauses
 */
export async function checkLogHead(digest, vault, logs, blocks, node, last, report, pauses) {
  const own = logs.filter((log) => log.address === vault);
  /** @type {Uint8Array} */
  let head = bytesOf(digest);
  for (const log of own) {
    if (pauses.isDue) await pauses.pause();
    const at = blocks.get(log.blockNumber)?.at ?? 0;
    const content = keccak(concat(...log.topics.map(bytesOf), bytesOf(log.data)));
    head = keccak(concat(head, word(log.blockNumber), word(at), content));
  }
  const proven = await provenLogHead(node, vault, last);
  if (hexOf(head) !== hexOf(proven)) {
    const text = `the ${own.length} logs that the node gives make ${hexOf(head)}`;
    const end = `at block ${last.number} the vault has ${hexOf(proven)}`;
    report.say("log_head.differs", null, `${text}, ${end}`);
  }
  report.counts.logsOfVault = own.length;
}

/** The vault's word in the state that the block's hash stands for.
 * @param {Node} node @param {string} vault @param {Block} block
 */
async function provenLogHead(node, vault, block) {
  const [height, slot] = [hexNumber(block.number), hexOf(word(SLOT))];
  const header = await node.ask(PART, "eth_getBlockByNumber", [height, false], answers.plain);
  const proof = await node.ask(PART, "eth_getProof", [vault, [slot], height], answers.plain);
  try {
    const { accountProof, storageProof } = /** @type {Raw} */ (proof ?? {});
    const root = stateRoot(/** @type {Raw} */ (header ?? {}), block.hash);
    const account = decode(provenValue(root, bytesOf(vault), accountProof));
    if (account instanceof Uint8Array || account.length !== 4) throw new ProofError("no account");
    const first = /** @type {Raw} */ (Array.isArray(storageProof) ? storageProof[0] : {});
    const value = provenValue(bytesOfItem(account[2]), word(SLOT), first?.proof);
    const bytes = value.length === 0 ? value : bytesOfItem(decode(value));
    return concat(new Uint8Array(32 - bytes.length), bytes);
  } catch (error) {
    if (!(error instanceof ProofError || error instanceof RangeError)) throw error;
    const text = `the node's proof at block ${block.number} does not hold: ${error.message}`;
    throw new UncheckedError(PART, text);
  }
}

/** Of the header that has this hash. Errors: ProofError, RangeError.
 * @param {Raw} header @param {string} hash
 */
function stateRoot(header, hash) {
  const later = FORK_FIELDS.filter(([name]) => header[name] !== undefined && header[name] !== null);
  const fields = [...FIELDS, ...later].map(([name, isNumber]) => {
    const text = header[name];
    if (typeof text !== "string" || text.length > MOST_FIELD_CHARACTERS) {
      throw new ProofError(`a header without ${name}`);
    }
    if (!isNumber) return bytesOf(text);
    if (!/^0x[0-9a-fA-F]+$/.test(text)) throw new ProofError(`${name} is no number`);
    return numberBytes(BigInt(text));
  });
  if (hexOf(keccak(encode(fields))) !== hash) {
    throw new ProofError("the fields of the header do not give the block's hash");
  }
  return bytesOf(String(header.stateRoot));
}
