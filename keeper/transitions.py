"""Writes what becomes of intents and of their attempts, and reads which of them may be sent.

Laws
- Each commit is fenced: a leader that lost its lead writes nothing more.
- An intent is moved only from the state that this process read.
- That a request is not void is held until its bytes are committed (core.identity.evictions), and
  looked up again before each send of them.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import structlog
from sqlalchemy.orm import Session

from core.custody import views as custody
from core.custody.views import void_requests_held
from core.db.engine import Database, WriteSession
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewTx, Tx
from core.keeper.rules import NEXT, IntentState
from keeper.attempts import IntentMove

T = TypeVar("T", NewTx, Tx)

log = structlog.get_logger("keeper")


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the
    table.
    """


class VoidRequestError(RuntimeError):
    """A request became void before its bytes were committed: nothing of the turn was written."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """Of one loop's intents. `epoch`: of the lead; `fence`: before each commit."""

    database: Database
    epoch: Callable[[], int]
    fence: Callable[[Session], None]

    def attempts(self, live: Iterable[Intent], own: Collection[str]) -> list[Tx]:
        """Of these, and what pends of our accounts for others: it holds nonces too."""
        ids = [intent.id for intent in live]
        with self.database.read() as session:
            return [*rows.attempts_of(session, ids), *rows.pending_beside(session, own, ids)]

    def void(self, live: Sequence[Intent]) -> frozenset[int]:
        """Those intents whose requests may be done no more."""
        return self._void_of([intent.id for intent in live if intent.outbox_id is not None])

    def not_void(self, due: Iterable[T]) -> list[T]:
        """Without the bytes of requests that may be done no more; what fills their nonces stays."""
        due = list(due)
        void = self._void_of({tx.intent_id for tx in due if not tx.is_filler})
        return [tx for tx in due if tx.is_filler or tx.intent_id not in void]

    def _void_of(self, intent_ids: Collection[int]) -> frozenset[int]:
        if not intent_ids:
            return frozenset()
        with self.database.read() as session:
            return custody.void_intents(session, intent_ids)

    def reverted_today(
        self, intents: Sequence[Intent], now: datetime
    ) -> dict[tuple[str, str], int]:
        """How often the like of these reverted, by subject and kind."""
        if not intents:
            return {}
        with self.database.read() as session:
            return rows.reverted_since(session, intents, now - timedelta(days=1))

    def committed(
        self,
        live: Sequence[Intent],
        moves: Sequence[IntentMove],
        now: datetime,
        signed: Sequence[tuple[Intent, NewTx]] = (),
    ) -> list[Intent]:
        """Write the moves and the signed bytes in one fenced transaction.

        Answers the intents that are not finished.

        Errors: VoidRequestError; LeadershipLostError, IntentMovedError, the database's.
        """
        after = {intent.id: intent for intent in live}
        if moves or signed:
            with self.database.write() as session:
                self.fence(session)
                self._require_not_void(session, signed)
                for move in moves:
                    after[move.intent.id] = self._move(session, move, now)
                for intent, tx in signed:
                    after[intent.id] = self._keep(session, intent, tx, now)
        for move in moves:
            _tell(move)
        return [intent for intent in after.values() if NEXT[intent.state]]

    def _require_not_void(
        self, session: WriteSession, signed: Sequence[tuple[Intent, NewTx]]
    ) -> None:
        requests = [
            intent.outbox_id
            for intent, tx in signed
            if intent.outbox_id is not None and not tx.is_filler
        ]
        void = void_requests_held(session, requests)
        if void:
            raise VoidRequestError(sorted(void))

    def _move(self, session: WriteSession, move: IntentMove, now: datetime) -> Intent:
        if move.state != move.intent.state:
            assert move.state in NEXT[move.intent.state], (move.intent.state, move.state)
            self._change(session, replace(move.intent, state=move.state), move.intent.state, now)
        for tx, state, receipt in move.attempts:
            rows.move_tx(session, tx, state, now, receipt)
        return replace(move.intent, state=move.state)

    def _keep(self, session: WriteSession, intent: Intent, tx: NewTx, now: datetime) -> Intent:
        """The signed bytes; a replacement changes no state."""
        was = intent.state
        kept = replace(intent, state=IntentState.SIGNED) if was is IntentState.PLANNED else intent
        self._change(session, kept, was, now)
        rows.add_tx(session, tx, now)
        return kept

    def _change(
        self, session: WriteSession, intent: Intent, was: IntentState, now: datetime
    ) -> None:
        if not rows.move_intent(session, intent, was, self.epoch(), now):
            raise IntentMovedError(f"intent {intent.id} is no longer {was}")


def _tell(move: IntentMove) -> None:
    if move.state == move.intent.state:
        return
    intent = move.intent
    gas_used = [receipt.gas_used for _, _, receipt in move.attempts if receipt is not None]
    log.info(
        "intent moved",
        intent=intent.id,
        kind=intent.kind,
        vault=intent.vault,
        was=intent.state,
        state=move.state,
        gas_used=next(iter(gas_used), None),
    )
