"""What is to be sent, as rows, and the states that it goes through.

    planned ----> signed ----> broadcast ----> mined ----> done
       |                        |  ^  |          |
       |                        |  |  |          +--> reverted   (it was mined, and the vault still works)
       |                        |  +-------------+               (its block was orphaned: the same bytes go out again)
       |                        |  |  +--> reverted              (it was mined and failed)
       +--> superseded          +--+--> nonce_lost               (another transaction took its nonce)

Laws
- Signed bytes are committed before they are sent, and from then on only these bytes are sent: no state leads from
  `signed` back to `planned`, so a crash at any point costs a resend and never a second transaction.
- One live intent a vault and kind (a unique index). A stop is not held up by a mark of the same vault.
- Nothing here sends; keeper.sender makes one transition a call.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

import structlog

from core.chain import calldata
from core.chain.abi import hex_bytes
from core.chain.rpc import RpcError
from core.db.engine import WriteSession
from core.db.repositories import keeper as rows
from core.db.repositories.keeper import Intent, NewIntent
from keeper.observe import NoHeadError, Numbers
from keeper.state import Action, Head, Kind, VaultStatus, evidence_hash

log = structlog.get_logger("keeper")


class State(StrEnum):
    PLANNED = "planned"
    SIGNED = "signed"
    BROADCAST = "broadcast"
    MINED = "mined"
    DONE = "done"
    REVERTED = "reverted"
    SUPERSEDED = "superseded"
    NONCE_LOST = "nonce_lost"


NEXT: dict[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.SIGNED, State.SUPERSEDED}),
    State.SIGNED: frozenset({State.BROADCAST}),
    State.BROADCAST: frozenset({State.MINED, State.REVERTED, State.NONCE_LOST}),
    State.MINED: frozenset({State.DONE, State.REVERTED, State.BROADCAST}),
    State.DONE: frozenset(),
    State.REVERTED: frozenset(),
    State.SUPERSEDED: frozenset(),
    State.NONCE_LOST: frozenset(),
}
MOST_STEPS = 4  # planned to done; what needs a new block waits for the next tick
_ORDER = {Kind.STOP: 0, Kind.MARK: 1}  # one signer: a stop takes its nonce before any mark that is planned with it

Step = Callable[[Intent, datetime], Intent]


def intent_of(action: Action, chain_id: int) -> NewIntent:
    """The action as a transaction to be: the vault's `mark` with the worth, its block, and the hash of the reason."""
    reason = action.reason(chain_id)
    return NewIntent(
        chain_id=chain_id,
        vault=action.vault,
        kind=action.kind,
        to=action.vault,
        data=hex_bytes(calldata.mark(action.worth_usdc_e6, action.head.number, evidence_hash(reason))),
        trigger_block_number=action.head.number,
        trigger_block_hash=action.head.hash,
        reason=reason,
    )


def record(session: WriteSession, actions: Iterable[Action], chain_id: int, epoch: int, now: datetime) -> list[Intent]:
    """Write planned intents; what is under way already is left alone. Answers the new ones."""
    added = (rows.add_intent(session, intent_of(action, chain_id), epoch, now) for action in actions)
    return [intent for intent in added if intent is not None]


def live_kinds(intents: Iterable[Intent]) -> dict[str, frozenset[str]]:
    """Which kinds are under way, by vault."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for intent in intents:
        kinds[intent.vault].add(intent.kind)
    return {vault: frozenset(found) for vault, found in kinds.items()}


def restated(intent: Intent, numbers: Numbers, head: Head) -> Intent | None:
    """The planned intent with the vault's numbers of now; None when nobody needs it any more.

    A stop is dropped when the worth is above the floor again or can't be read, and a mark when the vault reached its
    floor meanwhile: then it is a stop's turn. Next tick judges anew.
    """
    above = None if numbers.worth_usdc_e6 is None or numbers.floor_usdc_e6 is None else numbers.worth_usdc_e6 - numbers.floor_usdc_e6
    is_needed = above is not None and (above <= 0) == (intent.kind == Kind.STOP)
    if numbers.status is not VaultStatus.WORKING or not is_needed:
        return None
    assert numbers.worth_usdc_e6 is not None
    assert numbers.floor_usdc_e6 is not None
    why = str(intent.reason["why"])
    action = Action(Kind(intent.kind), intent.vault, numbers.worth_usdc_e6, numbers.floor_usdc_e6, head, numbers.source, why)
    fresh = intent_of(action, intent.chain_id)
    return replace(
        intent,
        data=fresh.data,
        reason=fresh.reason,
        trigger_block_number=fresh.trigger_block_number,
        trigger_block_hash=fresh.trigger_block_hash,
    )


def advance(step: Step, intents: Sequence[Intent], now: datetime) -> list[Intent]:
    """Take each intent as far as it goes now, stops first; one that fails does not hold up the others.

    Errors: LeadershipLostError, and the database's; a node's failure is logged and met again at the next tick.
    """
    return [_advance_one(step, intent, now) for intent in sorted(intents, key=lambda i: (_ORDER[Kind(i.kind)], i.id))]


def _advance_one(step: Step, intent: Intent, now: datetime) -> Intent:
    for _ in range(MOST_STEPS):
        try:
            after = step(intent, now)
        except (RpcError, NoHeadError) as error:
            log.warning("intent waits", intent=intent.id, kind=intent.kind, vault=intent.vault, state=intent.state, error=str(error))
            return intent
        if after.state == intent.state or not NEXT[State(after.state)]:
            return after
        intent = after
    return intent
