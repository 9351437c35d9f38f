"""Signed attempts and the nonces that they hold: what the chain's answers mean, and what the next
attempt may cost. Pure.

    nonce 7   attempt 1 (mark)   attempt 2 (the same, dearer)   attempt 3 (a stop in its place)      one of them is mined

Laws
- Of all attempts of a nonce at most one is ever mined; which one is decided by looking up the
  hashes of all of them.
- A nonce is lost only when the account's count is past it and the node knows none of the hashes,
  all of it answered.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.chain.blocks import TransactionReceipt
from core.keeper.intents import Tx
from keeper.gas import Fees


@dataclass(frozen=True, slots=True)
class NonceSlot:
    """A nonce of a signer and its attempts, oldest first."""

    signer: str
    nonce: int
    attempts: tuple[Tx, ...]

    @property
    def newest(self) -> Tx:
        return self.attempts[-1]

    @property
    def fees(self) -> Fees:
        return Fees(self.newest.max_fee_wei, self.newest.max_priority_fee_wei)


def slots_of(attempts: Iterable[Tx]) -> list[NonceSlot]:
    """By signer and nonce, lowest nonce first."""
    found: defaultdict[tuple[str, int], list[Tx]] = defaultdict(list)
    for tx in attempts:
        found[tx.signer, tx.nonce].append(tx)
    return [
        NonceSlot(signer, nonce, tuple(sorted(txs, key=lambda tx: tx.id)))
        for (signer, nonce), txs in sorted(found.items())
    ]


@dataclass(frozen=True, slots=True)
class Mined:
    """The chain has this attempt."""

    slot: NonceSlot
    tx: Tx
    receipt: TransactionReceipt


@dataclass(frozen=True, slots=True)
class Lost:
    """Another transaction took the nonce."""

    slot: NonceSlot


@dataclass(frozen=True, slots=True)
class PendingSlot:
    """No attempt is mined yet.

    `unknown`: the newest one is not at the node, which never had it, dropped it or refused it.
    `is_seen`: by one node's word alone it is, or is not, in a block.
    """

    slot: NonceSlot
    unknown: bool
    is_seen: bool = False


Verdict = Mined | Lost | PendingSlot


def verdict_of(
    slot: NonceSlot,
    count: int,
    receipts: Mapping[str, TransactionReceipt | None],
    known: Mapping[str, bool],
) -> Verdict:
    """What the node's answers mean.

    `count` is the signer's, read before the receipts; the mappings go by hash.
    """
    for tx in slot.attempts:
        receipt = receipts[tx.hash]
        if receipt is not None:
            return Mined(slot, tx, receipt)
    if count > slot.nonce and not any(known[tx.hash] for tx in slot.attempts):
        return Lost(slot)
    return PendingSlot(slot, unknown=not known[slot.newest.hash])


def first_free_nonce(count: int, held: Iterable[int]) -> int:
    """The lowest nonce from the account's count on that no attempt holds."""
    taken, nonce = set(held), count
    while nonce in taken:
        nonce += 1
    return nonce


def gap_below(count: int, pending: Sequence[NonceSlot]) -> tuple[int, int] | None:
    """The nonces, both included, that nobody holds below the lowest pending one: what pends is
    stuck behind them.
    """
    lowest = min((slot.nonce for slot in pending), default=count)
    return (count, lowest - 1) if lowest > count else None
