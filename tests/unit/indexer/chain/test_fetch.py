"""A block is believed whole or not at all."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.domain.blocks import BlockHeader, RawLog, Receipt
from indexer.chain.fetch import BlockContradictionError, verified

HASH, OTHER, PARENT = ("0x" + digit * 64 for digit in "123")
SENDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def tx(number: int) -> str:
    return f"0x{number:064x}"


def log(index: int, tx_index: int) -> RawLog:
    return RawLog(SENDER, (HASH,), "0x", 5, HASH, tx(tx_index), tx_index, index)


def receipt(index: int, *log_indexes: int) -> Receipt:
    return Receipt(tx(index), index, 5, HASH, 1, SENDER, SENDER, 21_000, 0b0110, tuple(log(i, index) for i in log_indexes))


HEADER = BlockHeader(5, HASH, PARENT, 1_800_000_000, 0b1110, (tx(0), tx(1)))
RECEIPTS = (receipt(0, 0, 1), receipt(1, 2))


def test_a_block_that_fits_together__gives_all_logs_in_order() -> None:
    assert [item.log_index for item in verified(HEADER, RECEIPTS).logs] == [0, 1, 2]


def test_an_empty_block__is_whole() -> None:
    assert verified(replace(HEADER, transaction_hashes=()), ()).logs == ()


BROKEN: dict[str, Callable[[], tuple[Receipt, ...]]] = {
    "a receipt is missing": lambda: RECEIPTS[:1],
    "receipts are doubled": lambda: (RECEIPTS[0], RECEIPTS[0]),
    "receipts are out of order": lambda: RECEIPTS[::-1],
    "a receipt names another block": lambda: (RECEIPTS[0], replace(RECEIPTS[1], block_hash=OTHER)),
    "a log names another block": lambda: (RECEIPTS[0], replace(RECEIPTS[1], logs=(replace(log(2, 1), block_hash=OTHER),))),
    "a log is missing": lambda: (receipt(0, 0), receipt(1, 2)),
    "the header's bloom denies a log": lambda: (RECEIPTS[0], replace(RECEIPTS[1], logs_bloom=0b0001)),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_contradiction__nothing_is_believed(fault: str) -> None:
    with pytest.raises(BlockContradictionError):
        verified(HEADER, BROKEN[fault]())
