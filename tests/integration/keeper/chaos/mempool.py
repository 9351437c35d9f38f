"""What waits to be mined: a pool as nodes keep it, in front of anvil, which forgets what a block's
base fee leaves out.

Laws
- A waiting transaction is replaced only by one that pays a tenth more in both fees; anvil would
  take one wei more.
- One that pays less than the base fee waits, and is mined when the fee falls.
- anvil holds a copy of what it would take, so that its pending state is real; the pool says what
  waits.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from eth_utils.crypto import keccak
from hexbytes import HexBytes

from core.chain.errors import RpcRefusedError
from core.chain.nodes import Nodes
from core.hexes import hex_of

REPLACED_PERCENT = 110
REFUSED_CODE = -32000


@dataclass(frozen=True, slots=True)
class Waiting:
    raw: str
    hash: str
    sender: str
    nonce: int
    gas: int
    max_fee_wei: int
    priority_wei: int
    to: str
    data: str

    def as_told(self) -> dict[str, Any]:
        """As a node answers eth_getTransactionByHash while no block has it."""
        numbers = {
            "nonce": self.nonce,
            "gas": self.gas,
            "maxFeePerGas": self.max_fee_wei,
            "maxPriorityFeePerGas": self.priority_wei,
        }
        told = {
            "hash": self.hash,
            "from": self.sender,
            "to": self.to,
            "input": self.data,
            "blockHash": None,
            "blockNumber": None,
        }
        return told | {name: hex(number) for name, number in numbers.items()}


@cache
def read(raw: str) -> Waiting:
    """A signed transaction with EIP-1559 fees.

    Kept, since the signer's recovery takes a hundredth of a second.
    """
    fields = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    numbers = (fields[name] for name in ("nonce", "gas", "maxFeePerGas", "maxPriorityFeePerGas"))
    return Waiting(
        raw,
        tx_hash_of(raw),
        Account.recover_transaction(raw),
        *numbers,
        hex_of(fields["to"]),
        hex_of(fields["data"]),
    )


def tx_hash_of(raw: str) -> str:
    return hex_of(keccak(hexstr=raw))


@dataclass(slots=True)
class Mempool:
    """Shared by all nodes of a story: what one has got, the others hear of at once.

    `lock` is held while a block is made.
    """

    rpc: Nodes
    waiting: dict[tuple[str, int], Waiting] = field(default_factory=dict)
    # raw by hash of everything that was ever taken
    seen: dict[str, str] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)

    def offer(self, raw: str) -> dict[str, Any]:
        """The JSON-RPC answer to eth_sendRawTransaction, without its id."""
        new = read(raw)
        with self.lock:
            why = self._why_not(new)
            if why is not None:
                return {"error": {"code": REFUSED_CODE, "message": why}}
            self.waiting[new.sender, new.nonce] = new
            self.seen[new.hash] = raw
            self._pass_on(new)
        return {"result": new.hash}

    def told_of(self, tx_hash: str) -> dict[str, Any] | None:
        with self.lock:
            return next(
                (one.as_told() for one in self.waiting.values() if one.hash == tx_hash), None
            )

    def forget(self, is_forgotten: Callable[[Waiting], bool]) -> int:
        """Drop some; how many."""
        with self.lock:
            gone = [key for key, one in self.waiting.items() if is_forgotten(one)]
            for key in gone:
                self.rpc.call("anvil_dropTransaction", [self.waiting.pop(key).hash])
        return len(gone)

    def pass_all_on(self) -> None:
        """Give anvil everything that it would take, the lowest nonces first."""
        for _, one in sorted(self.waiting.items()):
            self._pass_on(one)

    def prune(self) -> None:
        """Forget what the chain has, or can have no more."""
        with self.lock:
            counts = {
                sender: self._count(sender) for sender in {sender for sender, _ in self.waiting}
            }
            for sender, nonce in list(self.waiting):
                if nonce < counts[sender]:
                    del self.waiting[sender, nonce]

    def _why_not(self, new: Waiting) -> str | None:
        if new.nonce < self._count(new.sender):
            return "nonce too low"
        if (
            int(self.rpc.call("eth_getBalance", [new.sender, "latest"]), 16)
            < new.gas * new.max_fee_wei
        ):
            return "insufficient funds for gas * price + value"
        old = self.waiting.get((new.sender, new.nonce))
        if old is None:
            return None
        if old.hash == new.hash:
            return "already known"
        pairs = ((new.max_fee_wei, old.max_fee_wei), (new.priority_wei, old.priority_wei))
        if any(after * 100 < before * REPLACED_PERCENT for after, before in pairs):
            return "replacement transaction underpriced"
        return None

    def _count(self, sender: str) -> int:
        return int(self.rpc.call("eth_getTransactionCount", [sender, "latest"]), 16)

    def _pass_on(self, one: Waiting) -> None:
        # It has it, or its fee is below the base fee: it goes on waiting here.
        with suppress(RpcRefusedError):
            self.rpc.call("eth_sendRawTransaction", [one.raw])
