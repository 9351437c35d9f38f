"""What a second node says of a range is held against its receipts, a few blocks a request."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.bloom import bloom_of
from core.hexes import checksum_address
from indexer.chain.completeness import MOST_RECEIPTS, RangeTooLongError, corrected
from indexer.chain.fetch import BlockContradictionError, FetchedBlock
from indexer.chain.watch import WatchList
from tests.each import each

USDC, FACTORY, ADAPTER = (checksum_address(f"0x{digit * 40}") for digit in "123")


def hash_of(number: int) -> str:
    return f"0x{number:064x}"


def log_of(number: int, address: str = ADAPTER) -> RawLog:
    return RawLog(
        address, (hash_of(7),), "0x", number, hash_of(number), hash_of(900 + number), 0, 0
    )


def header_of(number: int) -> BlockHeader:
    bloom, sent = bloom_of([log_of(number)]), (hash_of(900 + number),)
    return BlockHeader(number, hash_of(number), hash_of(number - 1), 1_700_000_000, bloom, sent)


class FakeNodes:
    """The first gave the range, the second says `theirs`; each block's receipts have one log of the
    adapter.
    """

    def __init__(self, theirs: Sequence[RawLog], *, names: Sequence[str] = ("one", "two")) -> None:
        self.theirs = theirs
        self.rpc = self
        self.names, self.pinned_name = names, "one"
        self.heard: list[Any] = []
        self.last_hash: str | None = None

    def logs_of_each(
        self, first: int, last: int, filters: Any, within_s: float, among: Sequence[str]
    ) -> dict[str, tuple[list[RawLog], BlockHeader]]:
        header = header_of(last)
        header = header if self.last_hash is None else replace(header, hash=self.last_hash)
        self.heard.append([*among])
        return {name: ([*self.theirs], header) for name in among}

    def receipts(self, block_hash: str) -> tuple[TransactionReceipt, ...]:
        return self.receipts_of_blocks([block_hash])[0]

    def receipts_of_blocks(self, hashes: Sequence[str]) -> list[tuple[TransactionReceipt, ...]]:
        self.heard.append(len(hashes))
        return [(self._receipt(int(one, 16)),) for one in hashes]

    def _receipt(self, number: int) -> TransactionReceipt:
        log = log_of(number)
        place = log.tx_hash, 0, number, log.block_hash
        return TransactionReceipt(*place, 1, USDC, None, 1, bloom_of([log]), (log,))


def blocks(count: int, *, told: bool) -> list[FetchedBlock]:
    numbers = range(1, count + 1)
    return [FetchedBlock(header_of(one), (), (log_of(one),) if told else ()) for one in numbers]


def found_in(nodes: FakeNodes, some: Sequence[FetchedBlock]) -> list[int]:
    watch = WatchList(FACTORY, USDC, {ADAPTER})
    return list(corrected(nodes, some, watch, lambda: nodes.heard.append("sign")))  # type: ignore[arg-type]  # as much of a reader as it uses


def test_where_both_say_the_same__no_receipt_is_read() -> None:
    nodes = FakeNodes([log_of(1), log_of(2)])
    assert (found_in(nodes, blocks(2, told=True)), nodes.heard) == ([], [["two"], "sign"])


def test_with_one_node__nobody_is_asked() -> None:
    nodes = FakeNodes([], names=("one",))
    assert (found_in(nodes, blocks(2, told=False)), nodes.heard) == ([], ["sign"])


def test_a_log_that_the_second_knows_of__is_found_where_the_receipts_have_it() -> None:
    nodes = FakeNodes([log_of(2)])
    assert found_in(nodes, blocks(3, told=False)) == [2]
    assert nodes.heard == [["two"], "sign", 1, "sign"]


def test_a_log_that_only_the_first_has__stays_where_the_receipts_have_it() -> None:
    assert found_in(FakeNodes([]), blocks(3, told=True)) == []


def test_a_log_that_the_first_made_up__is_found() -> None:
    (block,) = blocks(1, told=True)
    invented = replace(log_of(1), log_index=1)
    made_up = replace(block, logs=(*block.logs, invented))
    assert found_in(FakeNodes([log_of(1)]), [made_up]) == [1]


def test_vaults__are_not_asked_of_the_second() -> None:
    (block,) = blocks(1, told=True)
    of_vault = log_of(1, checksum_address("0x" + "9" * 40))
    with_vault = replace(block, logs=(*block.logs, replace(of_vault, log_index=1)))
    watch = WatchList(FACTORY, USDC, {ADAPTER}, vaults={of_vault.address: None})  # type: ignore[dict-item]
    nodes = FakeNodes([log_of(1)])
    assert corrected(nodes, [with_vault], watch) == {}  # type: ignore[arg-type]


def test_a_second_node_on_another_branch__says_nothing() -> None:
    nodes = FakeNodes([log_of(1)])
    nodes.last_hash = hash_of(99)
    assert found_in(nodes, blocks(2, told=False)) == []


@each(("count", "asked"), [(8, [8]), (9, [8, 1]), (MOST_RECEIPTS, [8] * 8)])
def test_receipts__are_read_a_few_blocks_a_request__with_a_sign_after_each(
    count: int, asked: list[int]
) -> None:
    nodes = FakeNodes([log_of(one) for one in range(1, count + 1)])
    assert found_in(nodes, blocks(count, told=False)) == [*range(1, count + 1)]
    assert nodes.heard == [["two"], "sign", *(one for size in asked for one in (size, "sign"))]


def test_more_blocks_than_receipts_are_read_for__ask_for_a_shorter_range() -> None:
    nodes = FakeNodes([log_of(one) for one in range(1, MOST_RECEIPTS + 2)])
    with pytest.raises(RangeTooLongError, match="65 blocks of the range are in question"):
        found_in(nodes, blocks(MOST_RECEIPTS + 1, told=False))


def test_a_second_node_that_is_wrong_about_more__does_not_shorten_the_range() -> None:
    nodes = FakeNodes([])
    assert found_in(nodes, blocks(2_000, told=True)) == []
    assert nodes.heard.count(8) == MOST_RECEIPTS // 8


def test_receipts_that_are_not_the_headers__refuse_the_range() -> None:
    (block,) = blocks(1, told=False)
    with pytest.raises(BlockContradictionError, match="a log is missing or invented"):
        found_in(
            FakeNodes([log_of(1)]), [replace(block, header=replace(block.header, logs_bloom=0))]
        )
