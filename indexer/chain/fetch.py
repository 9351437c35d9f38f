"""One block, whole or not at all: header and receipts, held against each other before anything is believed.

A node behind a load balancer may lag, cut answers short or mix two chains. What is checked: every receipt names this
very block, none is missing or doubled, logs are in order, each receipt's bloom is exactly its logs' and the header's exactly
theirs. A log that is left out leaves its bits behind, unless all of them are other logs' too (docs/decisions/0065).
"""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from core.chain.bloom import bloom_of
from core.chain.reader import ChainReader
from core.domain.blocks import BlockHeader, RawLog, Receipt
from core.domain.errors import OutsideError


class BlockUnavailableError(OutsideError):
    """The node does not have the block (yet, or any more). Ask again."""

    def __init__(self, number: int, block_hash: str) -> None:
        super().__init__(f"block {number} {block_hash} is not there")


class BlockContradictionError(OutsideError):
    """What the node says of one block does not fit together. Nothing of it is written."""

    def __init__(self, block: BlockHeader, what: str) -> None:
        super().__init__(f"block {block.number} {block.hash}: {what}")


@dataclass(frozen=True, slots=True)
class FetchedBlock:
    """A verified block. `logs` are all of its logs in order."""

    header: BlockHeader
    receipts: tuple[Receipt, ...]
    logs: tuple[RawLog, ...]


def fetch_block(reader: ChainReader, header: BlockHeader) -> FetchedBlock:
    """Errors: BlockUnavailableError, BlockContradictionError, and the reader's."""
    receipts = reader.receipts(header.hash) if header.transaction_hashes else ()
    if receipts is None:
        raise BlockUnavailableError(header.number, header.hash)
    return verified(header, receipts)


def verified(header: BlockHeader, receipts: tuple[Receipt, ...]) -> FetchedBlock:
    """Errors: BlockContradictionError."""
    if tuple(receipt.tx_hash for receipt in receipts) != header.transaction_hashes:
        raise BlockContradictionError(header, f"{len(receipts)} receipts for {len(header.transaction_hashes)} transactions, or others")
    logs = tuple(log for receipt in receipts for log in receipt.logs)
    if any(receipt.block_hash != header.hash or receipt.block_number != header.number for receipt in receipts):
        raise BlockContradictionError(header, "a receipt names another block")
    if [receipt.tx_index for receipt in receipts] != list(range(len(receipts))):
        raise BlockContradictionError(header, "receipts are out of order")
    for receipt in receipts:
        fault = receipt_fault(receipt)
        if fault is not None:
            raise BlockContradictionError(header, fault)
    if [log.log_index for log in logs] != list(range(len(logs))):
        raise BlockContradictionError(header, "logs are missing or out of order")
    if reduce(or_, (receipt.logs_bloom for receipt in receipts), 0) != header.logs_bloom:
        raise BlockContradictionError(header, "the receipts' blooms are not the header's: a log is missing or invented")
    return FetchedBlock(header, receipts, logs)


def receipt_fault(receipt: Receipt) -> str | None:
    """What of one receipt does not fit together; None: it does."""
    place = (receipt.block_hash, receipt.block_number, receipt.tx_hash, receipt.tx_index)
    if any((log.block_hash, log.block_number, log.tx_hash, log.tx_index) != place for log in receipt.logs):
        return "a log names another block or transaction than its receipt"
    if receipt.status == 0 and receipt.logs:
        return "a reverted transaction has logs"
    return None if bloom_of(receipt.logs) == receipt.logs_bloom else "a receipt's bloom is not its logs': a log is missing or invented"
