"""What is asked of the node: blocks, receipts and logs, in batches that grow and shrink with what
comes back.

Errors of everything here: UncheckedError when the node is away or refuses. A node's word is not
doubted here, but compared: the same logs come once by range and once by receipt, and several nodes
are asked for the same block.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from api.client.verify.findings import UncheckedError
from core.chain.abi import AbiDecodeError
from core.chain.blocks import RawLog
from core.chain.results import log_of
from core.chain.rpc import Request, Rpc, RpcError
from core.hexes import checksum_address
from core.mandate.chain.reader import VaultReader

MOST_CALLS = 300  # in one HTTP request
FIRST_CALLS = 32
LOGS_A_REQUEST = 20_000
TRANSACTIONS_A_REQUEST = 5_000
# blocks of one eth_getLogs; more is refused by many providers
FIRST_RANGE, WIDEST_RANGE = 200, 10_000

T = TypeVar("T")
Tell = Callable[[str, int, int], None]  # part, done, of how many


@dataclass(frozen=True, slots=True)
class Transaction:
    tx_hash: str
    sender: str
    data: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the chain as it stands.

    `to_vault`: its transactions to the vault, when they were asked for.
    """

    number: int
    hash: str
    parent_hash: str
    at: int
    to_vault: tuple[Transaction, ...] = ()


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """What became of a transaction. `logs` by their index: those that were asked for."""

    status: int
    block_number: int
    block_hash: str
    sender: str
    to: str | None
    logs: Mapping[int, RawLog]


class Node:
    def __init__(self, rpc: Rpc, factory: str, tell: Tell) -> None:
        self.rpc = rpc
        self.reader = VaultReader(rpc, {"factory": factory})
        self._tell = tell

    def ask(self, part: str, read: Callable[[], T]) -> T:
        """One read, its trouble told as UncheckedError."""
        try:
            return read()
        except (RpcError, AbiDecodeError) as error:
            raise UncheckedError(part, str(error)) from error

    def blocks(self, numbers: Sequence[int], vault: str | None = None) -> dict[int, Block]:
        """By height; one that the node does not have is left out.

        With `vault` the transactions to it as well.
        """
        requests: list[Request] = [
            ("eth_getBlockByNumber", [hex(number), vault is not None]) for number in numbers
        ]
        weigh = (lambda raw: 1 + len(raw["transactions"])) if vault else (lambda raw: 1)
        answers = self._batched("blocks", requests, weigh, TRANSACTIONS_A_REQUEST)
        return {
            number: _block(raw, vault)
            for number, raw in zip(numbers, answers, strict=True)
            if raw is not None
        }

    def blocks_of(self, hashes: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Blocks by their hash, with their transactions' hashes, also such as are not in the chain
        any more; one that the node does not know is left out.
        """
        requests: list[Request] = [("eth_getBlockByHash", [one, False]) for one in hashes]
        answers = self._batched("lost blocks", requests, lambda raw: 1, TRANSACTIONS_A_REQUEST)
        found = zip(hashes, answers, strict=True)
        return {one: raw for one, raw in found if raw is not None and raw["hash"].lower() == one}

    def transaction_counts(self, account: str, heights: Sequence[int]) -> dict[int, int]:
        """How many transactions an account had sent by the end of each of these blocks."""
        requests: list[Request] = [
            ("eth_getTransactionCount", [account, hex(height)]) for height in heights
        ]
        answers = self._batched("nonces", requests, lambda raw: 1, TRANSACTIONS_A_REQUEST)
        return {height: int(raw, 16) for height, raw in zip(heights, answers, strict=True)}

    def outcomes(self, wanted: Mapping[str, Collection[int]]) -> dict[str, TransactionOutcome]:
        """Of these transactions, with the logs of these indices; an unknown one is left out."""
        requests: list[Request] = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in wanted]
        answers = self._batched(
            "receipts", requests, lambda raw: 1 + len(raw["logs"]), LOGS_A_REQUEST
        )
        return {
            tx: _outcome(raw, indices)
            for (tx, indices), raw in zip(wanted.items(), answers, strict=True)
            if raw is not None
        }

    def logs(self, part: str, wanted: Mapping[str, Any], first: int, last: int) -> Iterator[RawLog]:
        """The logs of these heights that pass the filter {address, topics}, in the order of the
        chain.
        """
        at, width = first, FIRST_RANGE
        while at <= last:
            until = min(last, at + width - 1)
            try:
                found = self.rpc.call(
                    "eth_getLogs", [{**wanted, "fromBlock": hex(at), "toBlock": hex(until)}]
                )
            except RpcError as error:
                if width == 1:
                    raise UncheckedError(part, str(error)) from error
                width = max(1, min(width, until - at + 1) // 4)
                continue
            yield from map(log_of, found)
            self._tell(part, until - first + 1, last - first + 1)
            at = until + 1
            width = max(
                1, min(WIDEST_RANGE, width * 2, width * LOGS_A_REQUEST // max(1, len(found)))
            )

    def _batched(
        self, part: str, requests: Sequence[Request], weigh: Callable[[Any], int], most: int
    ) -> Iterator[Any]:
        done, size, widest = 0, FIRST_CALLS, MOST_CALLS
        while done < len(requests):
            asked = requests[done : done + size]
            try:
                answers = self.rpc.batch(asked)
            except RpcError as error:
                if size == 1:
                    raise UncheckedError(part, str(error)) from error
                size = widest = max(1, size // 4)
                continue
            yield from answers
            done += len(asked)
            self._tell(part, done, len(requests))
            weight = sum(weigh(raw) for raw in answers if raw is not None)
            size = max(1, min(widest, size * 4, len(asked) * most // max(1, weight)))


def _block(raw: Mapping[str, Any], vault: str | None) -> Block:
    sent = (
        []
        if vault is None
        else [tx for tx in raw["transactions"] if (tx.get("to") or "").lower() == vault.lower()]
    )
    return Block(
        number=int(raw["number"], 16),
        hash=raw["hash"].lower(),
        parent_hash=raw["parentHash"].lower(),
        at=int(raw["timestamp"], 16),
        to_vault=tuple(
            Transaction(tx["hash"].lower(), checksum_address(tx["from"]), tx["input"])
            for tx in sent
        ),
    )


def _outcome(raw: Mapping[str, Any], indices: Collection[int]) -> TransactionOutcome:
    to = raw.get("to")
    logs = {index: log for log in raw["logs"] if (index := int(log["logIndex"], 16)) in indices}
    return TransactionOutcome(
        status=int(raw["status"], 16),
        block_number=int(raw["blockNumber"], 16),
        block_hash=raw["blockHash"].lower(),
        sender=checksum_address(raw["from"]),
        to=None if to is None else checksum_address(to),
        logs={index: log_of(log) for index, log in logs.items()},
    )
