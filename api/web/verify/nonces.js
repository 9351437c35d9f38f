/**
 * Where an account sent transactions that the record does not tell of, by bisecting its nonce.
 *
 * A plain transaction raises its sender's nonce by one. Where a range's nonce rose by as many as the
 * record and the logs know of, nothing is hidden; otherwise the range is halved.
 *
 *     first                           middle                           last
 *     |------- 5 sent, 5 known -------|------- 4 sent, 3 known --------|
 *               explained                    halved again
 */

/** @import {Node} from "./node.js" */

import { UncheckedError } from "./findings.js";

const MOST_ASKED = 20_000; // nonces of one account

/** @typedef {[number, number]} Range the end of the first height to the end of the second */

/**
 * Heights from `first` to `last`, both inclusive, in which the account sent more than is known.
 * Errors: UncheckedError when the node has no nonces of past blocks, or too many are asked for.
 * @param {string} account @param {readonly number[]} known heights of known transactions
 * @param {number} first @param {number} last @param {Node} node
 */
export async function unexplainedHeights(account, known, first, last, node) {
  if (first > last) return [];
  /** @type {number[]} */
  const found = [];
  /** @type {Range[]} */
  let ranges = [[first - 1, last]];
  let asked = 2;
  const nonces = await node.transactionCounts(account, [first - 1, last]);
  while (ranges.length > 0) {
    ranges = ranges.filter((range) => sentIn(range, nonces) > knownIn(range, known));
    found.push(...ranges.filter(([since, until]) => until - since === 1).map(([, until]) => until));
    const wide = ranges.filter(([since, until]) => until - since > 1);
    const middles = wide.map(([since, until]) => Math.floor((since + until) / 2));
    asked += middles.length;
    if (asked > MOST_ASKED) {
      throw new UncheckedError("nonces", `${account} sent too much that the record lacks`);
    }
    for (const [height, nonce] of await node.transactionCounts(account, middles)) {
      nonces.set(height, nonce);
    }
    ranges = wide.flatMap(([since, until], at) => {
      const middle = middles[at] ?? since;
      return /** @type {Range[]} */ ([
        [since, middle],
        [middle, until],
      ]); // prettier-ignore
    });
  }
  return found.sort((one, two) => one - two);
}

/** @param {Range} range @param {ReadonlyMap<number, number>} nonces */
function sentIn([since, until], nonces) {
  const sent = (nonces.get(until) ?? 0) - (nonces.get(since) ?? 0);
  if (sent >= 0) return sent;
  throw new UncheckedError("nonces", "a nonce fell: the node does not have those of past blocks");
}

/** @param {Range} range @param {readonly number[]} known */
const knownIn = ([since, until], known) =>
  known.filter((height) => since < height && height <= until).length;
