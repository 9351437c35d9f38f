"""Whether the node's list of the vault's logs is whole, without its word for it.

The vault keeps logHead, one word that every log of it replaces (MandateVault.sol, LOGS). Here the
word is computed again from the logs that the node gave, and compared with the one in the vault's
storage at the record's last block:

block hash = keccak(header) -> state root -> account (eth_getProof) -> storage root -> logHead

The block's hash is what the record names and other nodes are asked for. Below it nothing is the
node's word: the header must give the hash, and both proofs must hold. What adapters, venues, the
token and the factory log is not in the vault's word. docs/verify.md, docs/decisions/0024.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import rlp
from rlp.exceptions import RLPException
from trie import HexaryTrie
from trie.exceptions import BadTrieProof, InvalidNode, ValidationError

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block, Node
from core.chain.blocks import RawLog
from core.chain.log_head import grown, keccak
from core.chain.nodes import Nodes
from core.hexes import bytes_of, hex_of

PART: Final = "the vault's logHead"
SLOT: Final = 5  # of logHead in the vault's storage
WORD: Final = 32
MOST_NODES = 64  # of a proof: a path has as many nibbles
MOST_NODE_BYTES = 2_000  # a branch of 16 hashes and a value has fewer
MOST_FIELD_BYTES = 1_000
ACCOUNT_FIELDS: Final = 4  # nonce, balance, storage root, code hash
STORAGE_ROOT: Final = 2

# Of a header, in the order in which it is hashed; whether it is a number (EIP-1559, 4895, 4844,
# 4788, 7685). A fork adds its own at the end: those that the node does not name are not hashed.
FIELDS: Final[Mapping[str, bool]] = {
    "parentHash": False,
    "sha3Uncles": False,
    "miner": False,
    "stateRoot": False,
    "transactionsRoot": False,
    "receiptsRoot": False,
    "logsBloom": False,
    "difficulty": True,
    "number": True,
    "gasLimit": True,
    "gasUsed": True,
    "timestamp": True,
    "extraData": False,
    "mixHash": False,
    "nonce": False,
}
FORK_FIELDS: Final[Mapping[str, bool]] = {
    "baseFeePerGas": True,
    "withdrawalsRoot": False,
    "blobGasUsed": True,
    "excessBlobGas": True,
    "parentBeaconBlockRoot": False,
    "requestsHash": False,
}
_HEX: Final = re.compile("0x[0-9a-fA-F]*")


_MALFORMED: Final = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    RLPException,
    BadTrieProof,
    InvalidNode,
    ValidationError,
)


def check_log_head(
    digest: str,
    vault: str,
    logs: Iterable[RawLog],
    blocks: Mapping[int, Block],
    node: Node,
    last: Block,
    report: Report,
) -> None:
    """Compare the logs with the vault's own word at `last`.

    `logs` in the order of the chain; those of other contracts are passed over. `blocks`: of every
    log's height. Errors: UncheckedError when the node proves nothing.
    """
    own = [log for log in logs if log.address == vault]
    made = log_head(digest, own, blocks)
    proven = proven_log_head(node, vault, last)
    if made != proven:
        report.say(
            "log_head.differs",
            None,
            f"the {len(own)} logs that the node gives make {hex_of(made)}, at block "
            f"{last.number} the vault has {hex_of(proven)}",
        )
    report.figures["logs_of_vault"] = len(own)


def log_head(digest: str, logs: Iterable[RawLog], blocks: Mapping[int, Block]) -> bytes:
    """What the vault's word is after these logs.

    Errors: UncheckedError for a log of a block that the node does not have.
    """
    head = bytes_of(digest)
    for log in logs:
        # in one go: no digit is an x, so that "0x" is found where a text begins alone
        event = bytes.fromhex("".join((*log.topics, log.data)).replace("0x", ""))
        block = blocks.get(log.block_number)
        if block is None:
            raise UncheckedError(PART, f"the node has no block {log.block_number} of its own log")
        head = grown(head, log.block_number, block.at, event)
    return head


def proven_log_head(node: Node, vault: str, block: Block) -> bytes:
    """The vault's word in the state that the block's hash proves.

    Errors: UncheckedError when the node serves no proof, or one that does not hold.
    """
    return node.first(PART, lambda: _proven_by(node.reader.rpc, vault, block))


def _proven_by(rpc: Nodes, vault: str, block: Block) -> bytes:
    height, slot = hex(block.number), "0x" + _word(SLOT).hex()
    header = rpc.call("eth_getBlockByNumber", [height, False])
    proof = rpc.call("eth_getProof", [vault, [slot], height])
    try:
        root = state_root(header, block.hash)
        account = rlp.decode(_proven(root, bytes_of(vault), proof["accountProof"]))
        if len(account) != ACCOUNT_FIELDS:
            raise ValueError("no account")
        word = _proven(account[STORAGE_ROOT], _word(SLOT), proof["storageProof"][0]["proof"])
        return bytes(rlp.decode(word)).rjust(WORD, b"\0") if word else _word(0)
    except _MALFORMED as error:
        raise UncheckedError(
            PART, f"the node's proof at block {block.number} does not hold: {error!s:.80}"
        ) from error


def state_root(header: Any, block_hash: str) -> bytes:
    """Of the header that has this hash.

    Errors: ValueError, TypeError or KeyError when its fields do not give the hash.
    """
    if not isinstance(header, dict):
        raise TypeError("no header")
    later = {name: kind for name, kind in FORK_FIELDS.items() if header.get(name) is not None}
    fields = [_field(header[name], is_number) for name, is_number in {**FIELDS, **later}.items()]
    if hex_of(keccak(rlp.encode(fields))) != block_hash:
        raise ValueError("the fields of the header do not give the block's hash")
    return bytes_of(header["stateRoot"])


def _field(value: Any, is_number: bool) -> bytes:
    text = _hex(value, MOST_FIELD_BYTES)
    if not is_number:
        return bytes_of(text)
    number = int(text, 16)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _proven(root: bytes, key: bytes, proof: Sequence[Any]) -> bytes:
    """The value of the key in the trie of this root; empty when the proof says that there is none.

    Errors: those of `_MALFORMED`.
    """
    if len(proof) > MOST_NODES:
        raise ValueError("the proof is too long")
    nodes = [rlp.decode(bytes_of(_hex(item, MOST_NODE_BYTES))) for item in proof]
    return bytes(HexaryTrie.get_from_proof(root, keccak(key), nodes))


def _hex(value: Any, most_bytes: int) -> str:
    """What a node gives may be of any type, and any number of it below zero.

    Errors: TypeError for what is no text, ValueError.
    """
    if len(value) > 2 + 2 * most_bytes or _HEX.fullmatch(value) is None:
        raise ValueError("no hex, or too long")
    text: str = value
    return text


def _word(number: int) -> bytes:
    return number.to_bytes(WORD, "big")
