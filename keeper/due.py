"""Which signed bytes are due: what the node lacks, and what a reorg left out of the chain.

Laws
- No nonce below what is pending stays empty: our bytes go there again, or a transfer of nothing
  (docs/decisions/0019).
- Bytes of a request whose asker was evicted are not due, whichever round signed them: that is
  looked up again before each send.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from core.custody import views as custody
from core.db.engine import Database
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewTx, Tx
from keeper.attempts import PendingSlot
from keeper.snapshot import Snapshot

T = TypeVar("T", NewTx, Tx)


class DueBytes:
    """Of the accounts `own`, whose keys this process holds."""

    def __init__(self, database: Database, own: Collection[str]) -> None:
        self._database = database
        self._own = own

    def nonces_without_bytes(self, signer: str, snapshot: Snapshot) -> list[int]:
        gap = snapshot.gap_of(signer)
        if gap is None:
            return []
        held = {tx.nonce for tx in self.in_gap(signer, snapshot)}
        return [nonce for nonce in range(gap[0], gap[1] + 1) if nonce not in held]

    def void(self, live: Sequence[Intent]) -> frozenset[int]:
        """Those intents whose requests may be done no more."""
        return self._void_of([intent.id for intent in live if intent.outbox_id is not None])

    def _void_of(self, intent_ids: Collection[int]) -> frozenset[int]:
        if not intent_ids:
            return frozenset()
        with self._database.read() as session:
            return custody.void_intents(session, intent_ids)

    def not_void(self, due: Iterable[T]) -> list[T]:
        """Without the bytes of requests that may be done no more; what fills their nonces stays."""
        due = list(due)
        void = self._void_of({tx.intent_id for tx in due if not tx.is_filler})
        return [tx for tx in due if tx.is_filler or tx.intent_id not in void]

    def unsent(self, live: Sequence[Intent], snapshot: Snapshot) -> Iterator[Tx]:
        """The newest attempt of each pending nonce, unless the node has it: one that restarted
        forgot it.
        """
        known = {
            v.slot.newest.id
            for v in snapshot.verdicts
            if isinstance(v, PendingSlot) and not v.unknown
        }
        settled = {v.slot.newest.id for v in snapshot.verdicts if not isinstance(v, PendingSlot)}
        newest: dict[tuple[str, int], Tx] = {
            (tx.signer, tx.nonce): tx for tx in self.attempts(live)
        }
        yield from (tx for tx in newest.values() if tx.id not in known | settled)

    def in_gap(self, signer: str, snapshot: Snapshot) -> list[Tx]:
        """Bytes of ours that a reorg took out of the chain below what is pending: they are sent
        again, or it is stuck. Those of a void request are none: their nonce is filled.
        """
        gap = snapshot.gap_of(signer)
        if gap is None:
            return []
        with self._database.read() as session:
            held = rows.bytes_at(session, signer, *gap)
        return self.not_void(held)

    def attempts(self, live: Iterable[Intent]) -> list[Tx]:
        """Of these, and what pends of our accounts for the other loop: it holds nonces too."""
        ids = [intent.id for intent in live]
        with self._database.read() as session:
            return [
                *rows.attempts_of(session, ids),
                *rows.pending_beside(session, self._own, ids),
            ]
