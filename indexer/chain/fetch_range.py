"""Blocks in a row, from logs instead of receipts: a few requests for many blocks, for history that
is final.

    headers of the range, linked to one another and to the block before
    logs of the factory  ->  which vaults and adapters are watched from this very range on
    logs of vaults and adapters; USDC that reached watched wallets; the reserve token's events

What is checked: the headers are one chain from our cursor on; every log names the block of its
height; the node that gave the logs has the range's last block, by its hash, in the same answer (a
node that lags answers logs of what it has).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from core.chain.abi import address_word
from core.chain.blocks import BlockHeader, RawLog
from core.mandate.chain.decode import TRANSFER_TOPIC
from core.mandate.chain.reader import VaultReader
from core.reserve.decode import TOPICS
from indexer.chain.facts import created_by, listed_by
from indexer.chain.fetch import BlockContradictionError, BlockUnavailableError, FetchedBlock
from indexer.chain.watch import WatchList

HEADERS_A_REQUEST = 100
ADDRESSES_A_REQUEST = 1_000


class RangeReader:
    """Reads ranges. `log_calls` counts the eth_getLogs that it asked for."""

    def __init__(self, reader: VaultReader, sign: Callable[[], None] = lambda: None) -> None:
        """`sign` is called after each answer of the node: a long range is no loop that hangs."""
        self._reader = reader
        self._sign = sign
        self.log_calls = 0

    def fetch(
        self, first: int, last: int, parent_hash: str, watch: WatchList
    ) -> list[FetchedBlock]:
        """The blocks first to last, each with the logs that concern us.

        `watch` is as of any block before.

        Errors: BlockUnavailableError, BlockContradictionError, and the reader's (RpcRefusedError:
        ask for less).
        """
        headers = self._headers(first, last, parent_hash)
        factory_logs = self._logs(headers, [{"address": watch.factory}])
        # by topics alone: no text in a log's body can hide one
        appeared = {made.address for log in factory_logs if (made := created_by(log))}
        appeared |= {adapter for log in factory_logs if (adapter := listed_by(log))}
        addresses = sorted(watch.vaults.keys() | watch.adapters | appeared)
        return _grouped(headers, factory_logs + self._logs(headers, filters_of(addresses, watch)))

    def _headers(self, first: int, last: int, parent_hash: str) -> list[BlockHeader]:
        headers = list[BlockHeader]()
        for start in range(first, last + 1, HEADERS_A_REQUEST):
            numbers = range(start, min(start + HEADERS_A_REQUEST, last + 1))
            for number, header in zip(numbers, self._reader.headers(numbers), strict=True):
                if header is None:
                    raise BlockUnavailableError(number, "")
                headers.append(header)
            self._sign()
        if headers[0].parent_hash != parent_hash:
            raise BlockContradictionError(
                headers[0], "it does not follow the cursor's block, which was final"
            )
        for before, after in pairwise(headers):
            if after.parent_hash != before.hash:
                raise BlockContradictionError(after, "it does not follow the block before it")
        return headers

    def _logs(
        self, headers: Sequence[BlockHeader], filters: Sequence[dict[str, Any]]
    ) -> list[RawLog]:
        if not filters:
            return []
        first, last = headers[0], headers[-1]
        logs, newest = self._reader.range_logs(first.number, last.number, filters)
        self.log_calls += len(filters)
        self._sign()
        if newest is None or newest.hash != last.hash:
            raise BlockUnavailableError(last.number, last.hash)
        return logs


def filters_of(addresses: Sequence[str], watch: WatchList) -> list[dict[str, Any]]:
    """All logs of these contracts, and those of USDC and the reserve token that concern us."""
    filters: list[dict[str, Any]] = [{"address": chunk} for chunk in chunks(addresses)]
    # An adapter gives all of its logs already, even if somebody listed USDC itself.
    wallets = [] if watch.usdc in addresses else [address_word(wallet) for wallet in watch.wallets]
    filters += [
        {"address": watch.usdc, "topics": [TRANSFER_TOPIC, None, chunk]}
        for chunk in chunks(wallets)
    ]
    if watch.reserve_token is not None and watch.reserve_token not in addresses:
        filters.append({"address": watch.reserve_token, "topics": [list(TOPICS)]})
    return filters


def _grouped(headers: Sequence[BlockHeader], logs: Iterable[RawLog]) -> list[FetchedBlock]:
    by_number: dict[int, list[RawLog]] = {header.number: [] for header in headers}
    for log in logs:
        by_number[log.block_number].append(log)
    blocks = []
    for header in headers:
        own = sorted(by_number[header.number], key=lambda log: log.log_index)
        if any(log.block_hash != header.hash for log in own):
            raise BlockContradictionError(header, "a log names another block of its height")
        if any(before.log_index == after.log_index for before, after in pairwise(own)):
            raise BlockContradictionError(header, "a log is there twice")
        blocks.append(FetchedBlock(header, (), tuple(own)))
    return blocks


def chunks(items: Sequence[str]) -> Iterator[list[str]]:
    """So many that a filter takes them."""
    for start in range(0, len(items), ADDRESSES_A_REQUEST):
        yield list(items[start : start + ADDRESSES_A_REQUEST])
