"""What is to be sent, as rows; the states that it goes through are core.keeper.rules.

Laws
- Signed bytes are committed before they are sent. No state leads from `signed` back to `planned`: a
  crash at any point costs a resend. An attempt that waits too long is replaced at its own nonce by
  a dearer one, so at most one of them is mined.
- One live intent a subject and kind (a unique index). A stop is never held up by a mark of any
  vault.
- `done` is more than a receipt: the block is safe, the vault says so and the record has the event,
  unless it lacks facts. A mark needs only a later block, since the next one says more than it did;
  so does an anchor, since the contract is asked which epoch is the next.
- Nothing here sends.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from core.hexes import bytes_of
from core.keeper.intents import Intent, NewIntent
from core.keeper.queue import OutboxRequest
from core.keeper.rules import REFUSED_KEY, LacksMark
from core.mandate.chain import calldata
from core.mandate.rules.lifecycle import VaultStatus
from keeper.jobs.settle import has_something_to_settle
from keeper.state import (
    ENDED,
    STOPS,
    YIELDING,
    Action,
    Head,
    IntentKind,
    Role,
)
from keeper.views import Numbers

REQUEST_PATIENCE = timedelta(hours=1)  # with a request of the outbox that the chain refuses
ANCHOR_PATIENCE = timedelta(
    minutes=10
)  # with an anchor that could not be signed: it is planned again
_ORDER = [kind.value for kind in IntentKind]


def order_of(intent: Intent) -> tuple[int, int]:
    """Stops before everything else, marks after it: in this order nonces are given.

    Requests of the outbox go before marks.
    """
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
        data=bytes_of(_call_of(action)),
        trigger_block_number=action.head.number,
        trigger_block_hash=action.head.hash,
        reason=action.reason(chain_id),
    )


def _call_of(action: Action) -> str:
    match action.kind:
        case IntentKind.SETTLE:
            return calldata.settle()
        case IntentKind.ACCEPT:
            return calldata.accept_keeper()
        case IntentKind.REMOVE:
            return calldata.remove_agent()
    return calldata.mark()


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


def filling(signer: str, role: str, nonce: int, chain_id: int, head: Head) -> NewIntent:
    """A transfer of nothing to oneself at a nonce that nobody holds: what pends above it is
    stuck.
    """
    return NewIntent(
        chain_id=chain_id,
        subject=f"nonce:{signer.lower()}:{nonce}",
        vault=None,
        kind=IntentKind.FILL,
        role=role,
        to=signer,
        data=b"",
        trigger_block_number=head.number,
        trigger_block_hash=head.hash,
        reason={"why": "gap", "nonce": nonce},
    )


def live_kinds(intents: Iterable[Intent]) -> dict[str, frozenset[str]]:
    """Which kinds are under way, by vault."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for intent in intents:
        if intent.vault is not None:
            kinds[intent.vault].add(intent.kind)
    return {vault: frozenset(found) for vault, found in kinds.items()}


def restated(intent: Intent, numbers: Numbers | None, head: Head) -> Intent | None:
    """The intent with the vault's numbers of now; None when nobody needs it any more.

    `numbers` None: it is about no vault.

    A stop is dropped when the worth is above the floor again or can't be read, and a mark when the
    vault reached its floor meanwhile: then it is a stop's turn. Next tick judges again.
    """
    if numbers is None:
        return intent
    if intent.kind == IntentKind.SETTLE:
        return intent if has_something_to_settle(numbers.status, numbers.fee_owed_usdc_e6) else None
    above = (
        None
        if numbers.worth_usdc_e6 is None or numbers.floor_usdc_e6 is None
        else numbers.worth_usdc_e6 - numbers.floor_usdc_e6
    )
    if intent.kind == IntentKind.REMOVE:
        return (
            intent
            if numbers.status is VaultStatus.WORKING and (above is None or above <= 0)
            else None
        )
    why = str(intent.reason["why"])
    if above is None or (
        numbers.status not in ENDED
        if why == LacksMark.END
        else numbers.status is not VaultStatus.WORKING or (above <= 0) != (intent.kind in STOPS)
    ):
        return None
    action = Action(
        IntentKind(intent.kind),
        intent.to,
        head,
        why,
        numbers.worth_usdc_e6,
        numbers.floor_usdc_e6,
        numbers.source,
    )
    return _with_action(intent, action)


def _with_action(intent: Intent, action: Action) -> Intent:
    fresh = intent_of(action, intent.chain_id)
    return replace(
        intent,
        role=fresh.role,
        data=fresh.data,
        reason=fresh.reason,
        trigger_block_number=fresh.trigger_block_number,
        trigger_block_hash=fresh.trigger_block_hash,
    )


def is_for_the_keeper(intent: Intent) -> bool:
    """What a vault, or the anchors' contract, takes only of the key that the factory names.

    A settlement is planned only while that is so.
    """
    return intent.kind in (*YIELDING, IntentKind.SETTLE)


ENFORCE = bytes_of(calldata.enforce_stop_line())


def as_anyone(intent: Intent, role: str = Role.STOP) -> Intent:
    """A stop as anyone may send it: `enforceStopLine`, which asks the vault itself for its
    worth.
    """
    return replace(intent, role=role, data=ENFORCE)


def second_of(stop: Intent, head: Head) -> NewIntent:
    """The same stop once more, for another key."""
    return NewIntent(
        chain_id=stop.chain_id,
        subject=stop.subject,
        vault=stop.vault,
        kind=IntentKind.SECOND,
        role=Role.KEEPER,
        to=stop.to,
        data=stop.data,
        trigger_block_number=head.number,
        trigger_block_hash=head.hash,
        reason=stop.reason,
    )


def sent_as(
    intent: Intent, fresh: Intent | None, kept: Intent | None, *, is_stood_down: bool
) -> Intent | None:
    """The fresh numbers in the form in which the pending attempt was sent.

    A stop that is `kept`, as nodes disagree whether it is needed, or that stands as another
    keeper's mark, is sent in the form that anyone may send, and that reverts above the floor.
    """
    if fresh is None:
        return None if kept is None else as_anyone(kept, intent.role)
    is_enforced = intent.data == ENFORCE or (is_stood_down and fresh.kind in STOPS)
    return as_anyone(fresh, intent.role) if is_enforced else replace(fresh, role=intent.role)
