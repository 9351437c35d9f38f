"""What is asked of the anchors' contract, and what its logs say. Source:
contracts/RecordAnchor.sol.
"""

from typing import Final

from eth_utils.crypto import keccak

from core.anchors.rules import EpochPost
from core.chain import results
from core.chain.abi import AbiDecodeError, answer_words, call_by_signature
from core.chain.blocks import RawLog
from core.chain.nodes import Nodes, Request
from core.hexes import hex_of

CONTRACT: Final = "record_anchor"  # in the record of a deployment
ANCHORED: Final = hex_of(keccak(text="Anchored(uint64,bytes32,bytes32)"))
POST_TOPICS: Final = 2
NO_HOUR: Final = 2**40  # of hours since 1970, beyond every clock


def post_data(epoch: int, root: bytes, root_before: bytes) -> str:
    """Call data of a post."""
    return call_by_signature(
        "post(uint64,bytes32,bytes32)", [epoch, hex_of(root), hex_of(root_before)]
    )


def newest_posted(rpc: Nodes, anchor: str, block_hash: str) -> tuple[int, bytes]:
    """(epoch, root) that the contract has at this block. Errors: RpcError, AbiDecodeError."""
    requests: list[Request] = [
        (
            "eth_call",
            [{"to": anchor, "data": call_by_signature(view, [])}, {"blockHash": block_hash}],
        )
        for view in ("epoch()", "root()")
    ]
    answers = rpc.batch(requests, [results.code] * len(requests))
    epoch, root = (answer_words(answer, 1) for answer in answers)
    return _hour(int.from_bytes(epoch)), root


def post_of(log: RawLog) -> EpochPost:
    """What a log of the contract says. Errors: AbiDecodeError when it is no post."""
    words = answer_words(log.data, 2)
    if len(log.topics) != POST_TOPICS or log.topics[0] != ANCHORED:
        raise AbiDecodeError("the log is not an Anchored event")
    return EpochPost(
        epoch=_hour(int(log.topics[1], 16)),
        root=hex_of(words[:32]),
        root_before=hex_of(words[32:]),
        block_number=log.block_number,
        block_hash=log.block_hash,
        tx_hash=log.tx_hash,
    )


def _hour(epoch: int) -> int:
    """What a node says may be any number. Errors: AbiDecodeError."""
    if epoch >= NO_HOUR:
        raise AbiDecodeError(f"no clock has the epoch {epoch}")
    return epoch
