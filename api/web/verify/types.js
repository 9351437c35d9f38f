/** Shapes that several modules share. Amounts are USDC base units, times unix seconds. */

/** @typedef {null | boolean | number | string | JsonList | JsonObject} Json */
/** @typedef {Json[]} JsonList */
/** @typedef {{[key: string]: Json}} JsonObject */

/**
 * Who signed a row: docs/record.md#signed-rows.
 * @typedef {{signer: string, sequence: number, prev: string, signature: string}} RowAuthor
 */

/**
 * A row as its writer hands it in. `occurredAt` is the record's text of a time.
 * @typedef {object} NewRow
 * @property {string} kind
 * @property {string} reportedBy
 * @property {string} occurredAt
 * @property {string} baseKey
 * @property {bigint | null} amount magnitude; null is unknown, never zero
 * @property {bigint} cashDelta
 * @property {number | null} chainId
 * @property {string | null} txHash
 * @property {number | null} logIndex
 * @property {number | null} blockNumber
 * @property {string | null} blockHash
 * @property {JsonObject} payload
 */

/**
 * @typedef {object} OwnRow
 * @property {RowAuthor | null} author
 * @property {number} seq
 * @property {number} incarnation
 * @property {number | null} reverses the seq of the row that it takes back
 * @property {string} createdAt
 * @property {string} prevHash
 * @property {string} rowHash
 */
/** @typedef {NewRow & OwnRow} Row a row of the record */

/**
 * @typedef {object} Log a log as a node gives it, once its form is checked
 * @property {string} address checksum
 * @property {string[]} topics
 * @property {string} data
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {string} txHash
 * @property {number} txIndex
 * @property {number} logIndex
 */

/**
 * @typedef {object} Call a transaction as its block lists it
 * @property {string} txHash
 * @property {string} sender
 * @property {string | null} to
 */

/**
 * @typedef {object} Block
 * @property {number} number
 * @property {string} hash
 * @property {string} parentHash
 * @property {number} at
 * @property {string[]} txHashes
 * @property {Call[]} calls where whole transactions were asked for
 */

/**
 * @typedef {object} Outcome what became of a transaction
 * @property {string} txHash
 * @property {number} status
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {string} sender
 * @property {string | null} to
 * @property {Map<number, Log>} logs by index, those that were asked for
 */

/**
 * @typedef {object} Rule
 * @property {string} target
 * @property {string} selector
 * @property {number} recipientWord
 * @property {number} kind 0 spend, 1 exit, 2 valued, 3 cost
 */

/**
 * What of a mandate's rules moves the vault's counter of money that no adapter values.
 * @typedef {{unvalued: Set<string>, valued: Set<string>}} PositionRules
 */

/**
 * @typedef {object} Subject what the record is about, as its own first line says
 * @property {number} chainId
 * @property {string} factory
 * @property {string | null} vaultSaid
 * @property {{[name: string]: string | bigint}} terms by their Solidity names
 * @property {string} publicId
 * @property {string} owner
 * @property {string} agent
 * @property {Rule[]} rules
 * @property {string} digest computed, not copied
 * @property {number} version of the terms
 * @property {boolean} isPaper
 * @property {bigint} budget
 * @property {PositionRules} positions
 */

/**
 * @typedef {object} EpochPost an epoch as the contract has it, and where it was posted
 * @property {number} epoch
 * @property {string} root
 * @property {string} rootBefore
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {string} txHash
 */
/**
 * One epoch's line: docs/record.md#anchors.
 * @typedef {EpochPost & {seq: number, rowHash: string, proof: string}} Anchor
 */

/**
 * @typedef {{blockHash: string, blockNumber: number, revertsBlockNumber: number}} AsOf
 */
/**
 * @typedef {object} Head
 * @property {number} seq
 * @property {string} rowHash
 * @property {JsonObject} totals
 * @property {AsOf | null} asOf
 * @property {{facts: number, fromBlock: number} | null} held
 */
/**
 * @typedef {object} RecordFile what could be read of a record
 * @property {JsonObject | null} first
 * @property {Head | null} head
 * @property {Row[]} rows
 * @property {Anchor[]} anchors
 */

export {};
