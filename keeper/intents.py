"""What is to be sent, as rows, and what a loop sends it with. The states that they go through are core.keeper.rules.

Laws
- Signed bytes are committed before they are sent. No state leads from `signed` back to `planned`: a
  crash at any point costs a resend. An attempt that waits too long is replaced at its own nonce by
  a dearer one, so at most one of them is mined.
- Each commit is fenced: a leader that lost its lead writes nothing more. An intent is moved only
  from the state that this process read.
- One live intent a subject and kind (a unique index).
- That a request is not void is held until its bytes are committed (core.identity.evictions), and
  looked up again before each send of them.
- Nothing here sends.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import structlog
from sqlalchemy.orm import Session

from core.chain.blocks import BlockHeader
from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.custody import views as custody
from core.custody.views import void_requests_held
from core.db.engine import Database, WriteSession
from core.hexes import bytes_of
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewIntent, NewTx, Tx
from core.keeper.queue import OutboxRequest
from core.keeper.rules import NEXT, REFUSED_KEY, IntentState
from core.mandate.chain import calldata
from keeper.attempts import IntentMove
from keeper.gas import Caps
from keeper.state import Action, IntentKind, Role

T = TypeVar("T", NewTx, Tx)

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a loop sends with. `signers`: by role. `epoch`: of the lead; `fence`: of it, called first in
    each writing transaction, which says that the loop gets on.
    """

    rpc: Nodes
    database: Database
    chain_id: int
    signers: Mapping[str, Signer]
    caps: Caps
    epoch: Callable[[], int]
    fence: Callable[[Session], None]


def intent_of(action: Action, chain_id: int) -> NewIntent:
    """The action as a transaction to be, signed by the keeper's key unless the sender chooses
    another.
    """
    return NewIntent(
        chain_id=chain_id,
        subject=action.to.lower(),
        vault=None if action.kind is IntentKind.ACCEPT else action.to,
        kind=action.kind,
        role=Role.PAUSER if action.kind is IntentKind.REMOVE else Role.KEEPER,
        to=action.to,
        data=bytes_of(_CALLS.get(action.kind, calldata.mark)()),
        trigger_block_number=action.head.number,
        trigger_block_hash=action.head.hash,
        reason={"chain_id": chain_id, **action.reason()},
    )


_CALLS = {
    IntentKind.STOP: calldata.enforce_stop_line,
    IntentKind.SETTLE: calldata.settle,
    IntentKind.ACCEPT: calldata.accept_keeper,
    IntentKind.REMOVE: calldata.remove_agent,
}


def intent_of_request(
    request: OutboxRequest, role: Role, data: bytes, head: BlockHeader
) -> NewIntent:
    """`role`: whose key pays. `data`: what was built for it."""
    return NewIntent(
        chain_id=request.chain_id,
        subject=f"outbox:{request.id}",
        vault=None,
        outbox_id=request.id,
        kind=request.kind,
        role=role,
        to=request.to,
        data=data,
        trigger_block_number=head.number,
        trigger_block_hash=head.hash,
        reason=request.reason,
    )


def with_refusal(intent: Intent, why: str | None) -> Intent:
    """A request says why the chain refuses it, for whoever asked; it is kept when the intent ends."""
    if intent.outbox_id is None or why is None:
        return intent
    return replace(intent, reason={**intent.reason, REFUSED_KEY: why})


def live_kinds(intents: Iterable[Intent]) -> dict[str, frozenset[str]]:
    """Which kinds are under way, by vault."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for intent in intents:
        if intent.vault is not None:
            kinds[intent.vault].add(intent.kind)
    return {vault: frozenset(found) for vault, found in kinds.items()}


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the
    table.
    """


class VoidRequestError(RuntimeError):
    """A request became void before its bytes were committed: nothing of the turn was written."""


@dataclass(frozen=True, slots=True)
class IntentRows:
    """The rows of a loop's intents, and which of them may be sent."""

    desk: Desk

    def attempts(self, live: Iterable[Intent]) -> list[Tx]:
        with self.desk.database.read() as session:
            return rows.attempts_of(session, [intent.id for intent in live])

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
        with self.desk.database.read() as session:
            return custody.void_intents(session, intent_ids)

    def reverted_today(
        self, intents: Sequence[Intent], now: datetime
    ) -> dict[tuple[str, str], int]:
        """How often the like of these reverted, by subject and kind."""
        if not intents:
            return {}
        with self.desk.database.read() as session:
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
            with self.desk.database.write() as session:
                self.desk.fence(session)
                _require_not_void(session, signed)
                for move in moves:
                    after[move.intent.id] = self._move(session, move, now)
                for intent, tx in signed:
                    after[intent.id] = self._keep(session, intent, tx, now)
        for move in moves:
            _tell(move)
        return [intent for intent in after.values() if NEXT[intent.state]]

    def _move(self, session: WriteSession, move: IntentMove, now: datetime) -> Intent:
        was, intent = move.intent.state, replace(move.intent, state=move.state)
        if move.state != was:
            assert move.state in NEXT[was], (was, move.state)
            self._change(session, intent, was, now)
        for tx, state, receipt in move.attempts:
            rows.move_tx(session, tx, state, now, receipt)
        return intent

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
        if not rows.move_intent(session, intent, was, self.desk.epoch(), now):
            raise IntentMovedError(f"intent {intent.id} is no longer {was}")


def _require_not_void(session: WriteSession, signed: Iterable[tuple[Intent, NewTx]]) -> None:
    requests = [i.outbox_id for i, tx in signed if i.outbox_id is not None and not tx.is_filler]
    void = void_requests_held(session, requests)
    if void:
        raise VoidRequestError(sorted(void))


def _tell(move: IntentMove) -> None:
    intent, was = move.intent, move.intent.state
    if move.state != was:
        gas_used = [receipt.gas_used for _, _, receipt in move.attempts if receipt is not None]
        log.info("intent moved", intent=intent.id, kind=intent.kind, vault=intent.vault, was=was,
                 state=move.state, gas_used=next(iter(gas_used), None))  # fmt: skip
