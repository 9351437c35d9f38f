"""Events of the factory that every mandate's owner should read: who is keeper, guard, admin or pauser.

They become notes in the book of each signed, working or stopped mandate whose vault existed before the event's block.
Source: wallet spec 6.3; the guard's events are ours beside it.
"""

from sqlalchemy.orm import Session

from core.db.repositories import chain as repository
from core.domain.events import (
    GuardChanged,
    GuardProposalCancelled,
    GuardProposed,
    KeeperChanged,
    KeeperProposalCancelled,
    KeeperProposed,
    RoleGranted,
    RoleRevoked,
)
from core.domain.mandate.ledger import NewRow, row_from_event
from core.domain.mandate.terms import ZERO_ADDRESS
from indexer.chain.facts import BlockFacts, Found

NOTED_EVENTS = (
    KeeperProposed,
    KeeperChanged,
    KeeperProposalCancelled,
    GuardProposed,
    GuardChanged,
    GuardProposalCancelled,
    RoleGranted,
    RoleRevoked,
)


def is_noted(facts: BlockFacts) -> bool:
    """Whether the block says anything that is noted; nearly none does."""
    return any(isinstance(item.event, NOTED_EVENTS) for item in facts.found)


def factory_notes(session: Session, chain_id: int, facts: BlockFacts, usdc: str) -> list[tuple[int, Found, NewRow]]:
    """(mandate id, event, row) of the block's notes; empty for nearly every block, at no cost."""
    noted = [item for item in facts.found if isinstance(item.event, NOTED_EVENTS)]
    if not noted:
        return []
    mandates = repository.mandates_to_note(session, chain_id, facts.header.number)
    # Nobody of a single mandate acts here, so the parties of the row are left empty.
    rows = [(item, row_from_event(item.event, item.ref, ZERO_ADDRESS, ZERO_ADDRESS, None, usdc=usdc)) for item in noted]
    return [(mandate, item, row) for mandate in mandates for item, row in rows if row is not None]
