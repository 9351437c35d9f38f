"""One block, whole or not at all: header and receipts, held against each other before anything is believed.

A node behind a load balancer may lag, cut answers short or mix two chains. What is checked: every receipt names this
very block, none is missing or doubled, logs are in order, and no receipt claims a log that the header's bloom denies.
"""

from dataclasses import dataclass

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
    if {header.hash} < {header.hash, *(receipt.block_hash for receipt in receipts), *(log.block_hash for log in logs)}:
        raise BlockContradictionError(header, "a receipt or log names another block")
    if [log.log_index for log in logs] != list(range(len(logs))):
        raise BlockContradictionError(header, "logs are missing or out of order")
    if any(receipt.logs_bloom & ~header.logs_bloom for receipt in receipts):
        raise BlockContradictionError(header, "a receipt has a log that the header's bloom denies")
    return FetchedBlock(header, receipts, logs)
