"""What a node says of a block, as plain values: header, receipts, logs.

Hashes and data are 0x-prefixed lower-case hex, addresses checksum strings, times unix seconds. A
block is named by its hash: a height alone may mean two blocks.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockHeader:
    number: int
    hash: str
    parent_hash: str
    timestamp: int
    logs_bloom: int  # 2048 bits, big endian
    transaction_hashes: tuple[str, ...]
    base_fee_wei: int | None = None  # None on a chain without EIP-1559


@dataclass(frozen=True, slots=True)
class SentCall:
    """A transaction as its block lists it. `to` None: it creates a contract; `data`: 0x hex."""

    tx_hash: str
    sender: str
    to: str | None
    data: str


@dataclass(frozen=True, slots=True)
class RawLog:
    address: str
    topics: tuple[str, ...]
    data: str
    block_number: int
    block_hash: str
    tx_hash: str
    tx_index: int
    log_index: int

    @property
    def place(self) -> tuple[int, int]:
        return self.block_number, self.log_index


@dataclass(frozen=True, slots=True)
class TransactionReceipt:
    """`status` 1 is success, 0 a revert.

    `to` is None for a contract creation. `cost_wei`: what its sender paid, the fee of layer 1
    included; None where the node names no price.
    """

    tx_hash: str
    tx_index: int
    block_number: int
    block_hash: str
    status: int
    sender: str
    to: str | None
    gas_used: int
    logs_bloom: int
    logs: tuple[RawLog, ...]
    cost_wei: int | None = None
