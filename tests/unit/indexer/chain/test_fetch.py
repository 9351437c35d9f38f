"""A block is believed whole or not at all."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.bloom import bloom_of
from indexer.chain.fetch import BlockContradictionError, verified
from tests.each import each

HASH, OTHER, PARENT = ("0x" + digit * 64 for digit in "123")
SENDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def tx(number: int) -> str:
    return f"0x{number:064x}"


def log(index: int, tx_index: int) -> RawLog:
    """Each has a topic of its own."""
    return RawLog(SENDER, (tx(900 + index),), "0x", 5, HASH, tx(tx_index), tx_index, index)


def receipt(index: int, *logs: RawLog) -> TransactionReceipt:
    return TransactionReceipt(
        tx(index), index, 5, HASH, 1, SENDER, SENDER, 21_000, bloom_of(logs), logs
    )


LOGS = (log(0, 0), log(1, 0), log(2, 1))
RECEIPTS = (receipt(0, *LOGS[:2]), receipt(1, LOGS[2]))
HEADER = BlockHeader(5, HASH, PARENT, 1_800_000_000, bloom_of(LOGS), (tx(0), tx(1)))


def test_a_block_that_fits_together__gives_all_logs_in_order() -> None:
    assert [item.log_index for item in verified(HEADER, RECEIPTS).logs] == [0, 1, 2]


def test_an_empty_block__is_whole() -> None:
    assert verified(replace(HEADER, transaction_hashes=(), logs_bloom=0), ()).logs == ()


def second(*logs: RawLog, **changes: object) -> tuple[TransactionReceipt, ...]:
    """The block with another second receipt, whose bloom is that of its logs."""
    return (RECEIPTS[0], replace(receipt(1, *logs), **changes))  # type: ignore[arg-type]


BROKEN: dict[str, Callable[[], tuple[TransactionReceipt, ...]]] = {
    "a receipt is missing": lambda: RECEIPTS[:1],
    "receipts are doubled": lambda: (RECEIPTS[0], RECEIPTS[0]),
    "receipts are out of order": lambda: RECEIPTS[::-1],
    "receipts have each other's places": lambda: (
        replace(RECEIPTS[0], tx_index=1),
        replace(RECEIPTS[1], tx_index=0),
    ),
    "a receipt names another block": lambda: second(LOGS[2], block_hash=OTHER),
    "a receipt names another height": lambda: second(LOGS[2], block_number=6),
    "a log names another block": lambda: second(replace(LOGS[2], block_hash=OTHER)),
    "a log names another height": lambda: second(replace(LOGS[2], block_number=6)),
    "a log names another transaction": lambda: second(replace(LOGS[2], tx_hash=tx(0))),
    "a log is missing in the middle": lambda: (receipt(0, LOGS[0]), RECEIPTS[1]),
    "the last log is left out": lambda: second(logs_bloom=RECEIPTS[1].logs_bloom),
    "the last log is left out, and its bits with it": lambda: second(),
    "a log is left out, and the others are counted again": lambda: (
        receipt(0, LOGS[0]),
        receipt(1, replace(LOGS[2], log_index=1)),
    ),
    "a log has another topic": lambda: second(
        replace(LOGS[2], topics=(OTHER,)), logs_bloom=RECEIPTS[1].logs_bloom
    ),
    "a log is invented": lambda: second(LOGS[2], log(3, 1)),
    "a log is another contract's": lambda: second(replace(LOGS[2], address="0x" + "12" * 20)),
    "a reverted transaction has logs": lambda: second(LOGS[2], status=0),
    "a receipt's bloom is not its logs'": lambda: second(
        LOGS[2], logs_bloom=RECEIPTS[1].logs_bloom | RECEIPTS[0].logs_bloom
    ),
}


def test_a_header_whose_bloom_is_more_than_its_receipts__is_a_contradiction() -> None:
    with pytest.raises(BlockContradictionError, match="a log is missing or invented"):
        verified(replace(HEADER, logs_bloom=HEADER.logs_bloom | 1 << 2_047 | 1), RECEIPTS)


@each("fault", BROKEN)
def test_a_contradiction__nothing_is_believed(fault: str) -> None:
    with pytest.raises(BlockContradictionError):
        verified(HEADER, BROKEN[fault]())
