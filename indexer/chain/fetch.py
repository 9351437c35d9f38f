"""One block, whole or not at all: header and receipts, held against each other before anything is
believed.

A node behind a load balancer may lag, cut answers short or mix two chains. What is checked: every
receipt names this very block, none is missing or doubled, logs are in order, each receipt's bloom
is exactly its logs' and the header's exactly theirs. A log that is left out leaves its bits behind,
unless all of them are other logs' too (docs/decisions/0061).

What a block logs is strangers' choice: receipts that are too many bytes for one answer, or do not
come in time, are asked for in smaller parts, down to one transaction, and of these only the logs
are kept that may concern us.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.bloom import bloom_of
from core.chain.errors import AnswerTooLargeError, RpcError, RpcRefusedError, RpcUnreachableError
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader

RECEIPTS_A_REQUEST = 8  # where a block's receipts do not come whole
# what a backend calls a block that another one has shown already
_UNKNOWN = re.compile(r"(block|header) (\w+ )?not found|unknown block", re.IGNORECASE)
Keep = Callable[[RawLog], bool]


class BlockUnavailableError(OutsideError):
    """The node does not have the block (yet, or any more). Ask again."""

    def __init__(self, number: int, block_hash: str) -> None:
        super().__init__(f"block {number} {block_hash} is not there")
        self.number = number


class BlockContradictionError(OutsideError):
    """What the node says of one block does not fit together. Nothing of it is written."""

    def __init__(self, block: BlockHeader, what: str) -> None:
        super().__init__(f"block {block.number} {block.hash}: {what}")


@dataclass(frozen=True, slots=True)
class FetchedBlock:
    """A verified block.

    `logs` are all of its logs in order; of a block whose receipts did not come whole, those that
    were to be kept.
    """

    header: BlockHeader
    receipts: tuple[TransactionReceipt, ...]
    logs: tuple[RawLog, ...]


def fetch_block(
    reader: VaultReader,
    header: BlockHeader,
    keep: Keep = lambda log: True,
    sign: Callable[[], None] = lambda: None,
) -> FetchedBlock:
    """One block; by transaction, where no node gives its receipts at once.

    `keep`: which logs are kept of such a block, whose size is strangers' choice. `sign` is called
    after each answer then.

    Errors: BlockUnavailableError, BlockContradictionError, and the reader's.
    """
    try:
        receipts = reader.receipts(header.hash) if header.transaction_hashes else ()
    except RpcError as error:
        if isinstance(error, RpcRefusedError) and _UNKNOWN.search(error.node_message):
            raise BlockUnavailableError(header.number, header.hash) from error
        if len(header.transaction_hashes) <= 1:
            raise
        return verified(header, _by_transaction(reader, header, sign), keep)
    if receipts is None:
        raise BlockUnavailableError(header.number, header.hash)
    return verified(header, receipts)


def _by_transaction(
    reader: VaultReader, header: BlockHeader, sign: Callable[[], None]
) -> Iterator[TransactionReceipt]:
    """Errors: as `fetch_block`; RpcUnreachableError when not even one receipt comes in time."""
    count, step = 0, RECEIPTS_A_REQUEST
    while some := header.transaction_hashes[count : count + step]:
        sign()
        try:
            receipts = reader.receipts_of(some)
        except (AnswerTooLargeError, RpcUnreachableError) as error:
            if len(some) == 1:
                raise
            step = len(some) // 2 if isinstance(error, AnswerTooLargeError) else 1
            continue
        for receipt in receipts:
            if receipt is None:
                raise BlockUnavailableError(header.number, header.hash)
            yield receipt
        count += len(receipts)


def verified(
    header: BlockHeader, receipts: Iterable[TransactionReceipt], keep: Keep | None = None
) -> FetchedBlock:
    """Receipts of one block, held against it one after the other; `keep` None: all logs are kept.

    Errors: BlockContradictionError.
    """
    taken, logs, bloom, next_log = list[TransactionReceipt](), list[RawLog](), 0, 0
    for receipt in receipts:
        fault = _place_fault(header, receipt, len(taken), next_log) or receipt_fault(receipt)
        if fault is not None:
            raise BlockContradictionError(header, fault)
        next_log += len(receipt.logs)
        bloom |= receipt.logs_bloom
        kept = receipt.logs if keep is None else tuple(filter(keep, receipt.logs))
        taken.append(receipt if keep is None else replace(receipt, logs=kept))
        logs += kept
    count = len(header.transaction_hashes)
    if len(taken) != count:
        raise BlockContradictionError(header, f"{len(taken)} receipts for {count} transactions")
    if bloom != header.logs_bloom:
        what = "the receipts' blooms are not the header's: a log is missing or invented"
        raise BlockContradictionError(header, what)
    return FetchedBlock(header, tuple(taken), tuple(logs))


def _place_fault(
    header: BlockHeader, receipt: TransactionReceipt, place: int, next_log: int
) -> str | None:
    """What of the receipt does not fit the block, where so many receipts and logs came before."""
    if header.transaction_hashes[place : place + 1] != (receipt.tx_hash,):
        return "a receipt is another transaction's"
    if receipt.block_hash != header.hash or receipt.block_number != header.number:
        return "a receipt names another block"
    if receipt.tx_index != place:
        return "receipts are out of order"
    if any(log.log_index != next_log + at for at, log in enumerate(receipt.logs)):
        return "logs are missing or out of order"
    return None


def receipt_fault(receipt: TransactionReceipt) -> str | None:
    """What of one receipt does not fit together; None: it does."""
    place = (receipt.block_hash, receipt.block_number, receipt.tx_hash, receipt.tx_index)
    if any(
        (log.block_hash, log.block_number, log.tx_hash, log.tx_index) != place
        for log in receipt.logs
    ):
        return "a log names another block or transaction than its receipt"
    if receipt.status == 0 and receipt.logs:
        return "a reverted transaction has logs"
    return (
        None
        if bloom_of(receipt.logs) == receipt.logs_bloom
        else "a receipt's bloom is not its logs': a log is missing or invented"
    )
