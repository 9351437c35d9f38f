"""What is to be sent, as rows; the states that it goes through are core.keeper.rules.

Laws
- Signed bytes are committed before they are sent. No state leads from `signed` back to `planned`: a
  crash at any point costs a resend. An attempt that waits too long is replaced at its own nonce by
  a dearer one, so at most one of them is mined.
- One live intent a subject and kind (a unique index).
- Nothing here sends.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from core.hexes import bytes_of
from core.keeper.intents import Intent, NewIntent
from core.keeper.queue import OutboxRequest
from core.keeper.rules import REFUSED_KEY, IntentState
from core.mandate.chain import calldata
from keeper.state import YIELDING, Action, Head, IntentKind, Role

REQUEST_PATIENCE = timedelta(hours=1)  # with a request of the outbox that the chain refuses
ANCHOR_PATIENCE = timedelta(minutes=10)  # with an anchor that could not be signed
PLANNED_PATIENCE = timedelta(minutes=1)  # with what a tick plans
_ORDER = [kind.value for kind in IntentKind]


class IntentSender(Protocol):
    """What a loop asks of a Sender, which answers the intents that are not finished."""

    def advance(
        self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool
    ) -> list[Intent]: ...


def order_of(intent: Intent) -> tuple[int, int]:
    """In this order nonces are given: requests of the outbox go before marks."""
    return _ORDER.index(intent.kind if intent.kind in _ORDER else IntentKind.ACCEPT), intent.id


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
        reason=action.reason(chain_id),
    )


_CALLS = {
    IntentKind.STOP: calldata.enforce_stop_line,
    IntentKind.SETTLE: calldata.settle,
    IntentKind.ACCEPT: calldata.accept_keeper,
    IntentKind.REMOVE: calldata.remove_agent,
}


def intent_of_request(request: OutboxRequest, data: bytes, head: Head) -> NewIntent:
    """`data`: the request's own, or what was built for it."""
    return NewIntent(
        chain_id=request.chain_id,
        subject=f"outbox:{request.id}",
        vault=None,
        outbox_id=request.id,
        kind=request.kind,
        role=request.role,
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


def is_for_the_keeper(intent: Intent) -> bool:
    """What a vault, or the anchors' contract, takes only of the key that the factory names.

    A settlement is planned only while that is so.
    """
    return intent.kind in (*YIELDING, IntentKind.SETTLE)


def is_out_of_patience(intent: Intent, now: datetime) -> IntentState | None:
    """How one ends that could not be sent for long; None: it waits on.

    A request of the outbox is tried for an hour; the removal of an agent once, and what else a tick
    plans for a minute, since it is planned again, with newer numbers, while it is needed.
    """
    waited = now - intent.created_at
    if intent.state is not IntentState.PLANNED:
        return None
    if intent.kind == IntentKind.REMOVE:
        return IntentState.REFUSED
    if intent.outbox_id is not None or intent.kind == IntentKind.ANCHOR:
        patience = REQUEST_PATIENCE if intent.outbox_id is not None else ANCHOR_PATIENCE
        return IntentState.REFUSED if waited >= patience else None
    return IntentState.SUPERSEDED if waited >= PLANNED_PATIENCE else None
