"""What is to be sent, as rows, and what a loop sends it with. The states that they go through are
core.keeper.rules. No state leads from `signed` back to `planned`: a crash at any point costs a resend.
One live intent a subject and kind (a unique index).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from core.chain.blocks import BlockHeader
from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.db.engine import Database
from core.hexes import bytes_of
from core.keeper.intents import Intent, NewIntent
from core.keeper.queue import OutboxRequest
from core.keeper.rules import REFUSED_KEY
from core.mandate.chain import calldata
from keeper.gas import Caps
from keeper.state import Action, IntentKind, Role


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
