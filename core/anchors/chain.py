"""What is asked of the anchors' contract, and what its logs say. Source:
contracts/RecordAnchor.sol.
"""

from typing import Final

from core.anchors.rules import EpochPost
from core.chain import results
from core.chain.abi import AbiDecodeError, events_by_topic, function, topic_of
from core.chain.blocks import RawLog
from core.chain.nodes import Nodes, Request
from core.hexes import bytes_of, hex_of

CONTRACT: Final = "record_anchor"  # in the record of a deployment
ANCHORED: Final = topic_of("Anchored")
NO_HOUR: Final = 2**40  # of hours since 1970, beyond every clock
_VIEWS: Final = [function("RecordAnchor", name) for name in ("epoch", "root")]


def post_data(epoch: int, root: bytes, root_before: bytes) -> str:
    """Call data of a post."""
    return function("RecordAnchor", "post").encode(epoch, hex_of(root), hex_of(root_before))


def newest_posted(rpc: Nodes, anchor: str, block_hash: str) -> tuple[int, bytes]:
    """(epoch, root) that the contract has at this block. Errors: RpcError, AbiDecodeError."""
    at = {"blockHash": block_hash}
    requests: list[Request] = [
        ("eth_call", [{"to": anchor, "data": view.encode()}, at]) for view in _VIEWS
    ]
    answers = rpc.batch(requests, [results.code] * len(requests))
    (epoch,), (root,) = (
        view.decode_output(answer) for view, answer in zip(_VIEWS, answers, strict=True)
    )
    return _hour(epoch), bytes_of(root)


def post_of(log: RawLog) -> EpochPost:
    """What a log of the contract says. Errors: AbiDecodeError when it is no post."""
    if log.topics[:1] != (ANCHORED,):
        raise AbiDecodeError("the log is not an Anchored event")
    args = events_by_topic()[ANCHORED].decode(log.topics, log.data)
    return EpochPost(
        epoch=_hour(args["epoch"]),
        root=args["root"],
        root_before=args["rootBefore"],
        block_number=log.block_number,
        block_hash=log.block_hash,
        tx_hash=log.tx_hash,
    )


def _hour(epoch: int) -> int:
    """What a node says may be any number. Errors: AbiDecodeError."""
    if epoch >= NO_HOUR:
        raise AbiDecodeError(f"no clock has the epoch {epoch}")
    return epoch
