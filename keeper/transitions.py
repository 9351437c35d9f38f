"""Writes what becomes of intents and of their attempts.

Laws
- Each commit is fenced: a leader that lost its lead writes nothing more.
- An intent is moved only from the state that this process read.
- That a request is not void is held until its bytes are committed (core.identity.evictions).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import structlog
from sqlalchemy.orm import Session

from core.custody.views import void_requests_held
from core.db.engine import Database, WriteSession
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewIntent, NewTx
from core.keeper.rules import NEXT, IntentState
from keeper.drafts import Draft
from keeper.moves import IntentMove

log = structlog.get_logger("keeper")


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the
    table.
    """


class VoidRequestError(RuntimeError):
    """A request that was drafted became void before its bytes were committed: nothing of the turn
    was written.
    """


class Transitions:
    """Of one loop's intents. `epoch`: of the lead; `fence`: before each commit."""

    def __init__(
        self, database: Database, epoch: Callable[[], int], fence: Callable[[Session], None]
    ) -> None:
        self._database = database
        self._epoch = epoch
        self._fence = fence

    def planned(
        self, live: Sequence[Intent], planned: Sequence[NewIntent], now: datetime
    ) -> list[Intent]:
        if not planned:
            return list(live)
        with self._database.write() as session:
            self._fence(session)
            added = [rows.add_intent(session, intent, self._epoch(), now) for intent in planned]
        return [*live, *(intent for intent in added if intent is not None)]

    def committed(
        self,
        live: Sequence[Intent],
        moves: Sequence[IntentMove],
        now: datetime,
        signed: Sequence[tuple[Draft, NewTx]] = (),
    ) -> list[Intent]:
        """Write the moves and the signed bytes in one fenced transaction.

        Answers the intents that are not finished.

        Errors: VoidRequestError; LeadershipLostError, IntentMovedError, the database's.
        """
        after = {intent.id: intent for intent in live}
        if moves or signed:
            with self._database.write() as session:
                self._fence(session)
                self._require_not_void(session, signed)
                for move in moves:
                    after[move.intent.id] = self._move(session, move, now)
                for draft, tx in signed:
                    after[draft.intent.id] = self._keep(session, draft, tx, now)
        for move in moves:
            _tell(move)
        return [intent for intent in after.values() if NEXT[intent.state]]

    def _require_not_void(
        self, session: WriteSession, signed: Sequence[tuple[Draft, NewTx]]
    ) -> None:
        requests = [
            draft.intent.outbox_id
            for draft, _ in signed
            if draft.intent.outbox_id is not None and not draft.is_filler
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

    def _keep(self, session: WriteSession, draft: Draft, tx: NewTx, now: datetime) -> Intent:
        """The signed bytes.

        A filler says nothing new of its intent; a replacement changes its words, not its state.
        """
        was = draft.intent.state
        intent = (
            replace(draft.intent, state=IntentState.SIGNED)
            if was is IntentState.PLANNED
            else draft.intent
        )
        self._change(session, intent, was, now)
        rows.add_tx(session, tx, now)
        return intent

    def _change(
        self, session: WriteSession, intent: Intent, was: IntentState, now: datetime
    ) -> None:
        if not rows.move_intent(session, intent, was, self._epoch(), now):
            raise IntentMovedError(f"intent {intent.id} is no longer {was}")


def _tell(move: IntentMove) -> None:
    if move.state == move.intent.state:
        return
    intent = move.intent
    gas_used = next(
        (receipt.gas_used for _, _, receipt in move.attempts if receipt is not None), None
    )
    told = {
        "intent": intent.id,
        "kind": intent.kind,
        "vault": intent.vault,
        "was": intent.state,
        "state": move.state,
    }
    log.info("intent moved", **told, gas_used=gas_used)
