"""A range is believed whole or not at all."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.chain.blocks import BlockHeader, RawLog
from indexer.chain.fetch import BlockContradictionError, BlockUnavailableError
from indexer.chain.fetch_range import RangeReader
from indexer.chain.watch import WatchList
from tests.each import each
from tests.personas import KEEPER, OWNER

FACTORY, ADAPTER, USDC = (f"0x{digit * 40}" for digit in "123")


def block_hash(number: int) -> str:
    return f"0x{number:064x}"


def header(number: int) -> BlockHeader:
    return BlockHeader(
        number, block_hash(number), block_hash(number - 1), 1_800_000_000 + number, 0, ()
    )


def log(number: int, index: int, address: str = ADAPTER) -> RawLog:
    return RawLog(
        address,
        (block_hash(7),),
        "0x",
        number,
        block_hash(number),
        block_hash(900 + index),
        0,
        index,
    )


class Node:
    """Answers from what it is given; `asked` keeps the filters of each request."""

    def __init__(self, logs: Sequence[RawLog] = ()) -> None:
        self.chain: dict[int, BlockHeader | None] = {
            number: header(number) for number in range(1, 400)
        }
        self.logs = list(logs)
        self.newest: BlockHeader | None = None
        self.asked: list[list[dict[str, Any]]] = []

    def headers(self, numbers: Sequence[int]) -> list[BlockHeader | None]:
        assert len(numbers) <= 100
        return [self.chain[number] for number in numbers]

    def range_logs(
        self, first: int, last: int, filters: Sequence[dict[str, Any]]
    ) -> tuple[list[RawLog], BlockHeader | None]:
        self.asked.append(list(filters))
        addresses = {
            one["address"] if isinstance(one["address"], str) else tuple(one["address"])
            for one in filters
        }
        wanted = {
            address for item in addresses for address in ([item] if isinstance(item, str) else item)
        }
        return [item for item in self.logs if item.address in wanted], self.newest or self.chain[
            last
        ]


def watch(**changes: Any) -> WatchList:
    return replace(WatchList(FACTORY, USDC, {ADAPTER}, KEEPER.address), **changes)


def fetch(node: Node, first: int, last: int, **changes: Any) -> list[Any]:
    return RangeReader(node).fetch(first, last, block_hash(first - 1), watch(**changes))  # type: ignore[arg-type]  # what it reads of a reader


def test_a_range__is_every_block_with_its_own_logs_in_order() -> None:
    blocks = fetch(Node([log(12, 5), log(12, 2), log(250, 0)]), 10, 260)
    assert [block.header.number for block in blocks] == list(range(10, 261))
    assert [item.log_index for item in blocks[2].logs] == [2, 5]
    assert [item.log_index for item in blocks[240].logs] == [0]


def test_wallets__are_asked_for_by_topic_a_thousand_at_a_time() -> None:
    node = Node()
    fetch(node, 10, 12, wallets={f"0x{number:040x}": None for number in range(1_001)})
    (factory,), (contracts, first, second) = node.asked
    assert (factory["address"], contracts["address"]) == (FACTORY, [ADAPTER])
    assert [len(one["topics"][2]) for one in (first, second)] == [1_000, 1]
    assert second["topics"][2] == [f"0x{1_000:064x}"]


def test_usdc_that_somebody_listed_as_an_adapter__is_asked_for_once() -> None:
    node = Node([log(12, 2, USDC)])
    blocks = fetch(node, 10, 12, adapters={USDC}, wallets={ADAPTER: None})
    assert [len(filters) for filters in node.asked] == [1, 1]
    assert len(blocks[2].logs) == 1


def broken_node(fault: str) -> Node:
    node = Node([log(12, 2)])
    match fault:
        case "a header does not follow":
            node.chain[11] = replace(header(11), parent_hash=block_hash(99))
        case "the first does not follow our own":
            node.chain[10] = replace(header(10), parent_hash=block_hash(99))
        case "a log names another block":
            node.logs = [replace(log(12, 2), block_hash=block_hash(13))]
        case "a log stands there twice":
            node.logs = [log(12, 2), log(12, 2)]
        case "a header is missing":
            node.chain[12] = None
        case "the node of the logs has another last block":
            node.newest = replace(header(14), hash=block_hash(99))
    return node


@each(
    ("fault", "error"),
    [
        ("a header does not follow", BlockContradictionError),
        ("the first does not follow our own", BlockContradictionError),
        ("a log names another block", BlockContradictionError),
        ("a log stands there twice", BlockContradictionError),
        ("a header is missing", BlockUnavailableError),
        ("the node of the logs has another last block", BlockUnavailableError),
    ],
)
def test_what_does_not_fit__is_refused_whole(fault: str, error: type[Exception]) -> None:
    assert len(fetch(Node([log(12, 2)]), 10, 14)) == 5
    with pytest.raises(error):
        fetch(broken_node(fault), 10, 14)


def test_the_owner__is_nobody_to_watch() -> None:
    node = Node([log(12, 2, OWNER.address)])
    assert all(not block.logs for block in fetch(node, 10, 14))
