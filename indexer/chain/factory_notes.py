"""Events of the factory that every mandate's owner should read: who is keeper, guard, admin or pauser.

They become notes in the book of each signed, working or stopped mandate whose vault existed before the event's block.
Those of the keeper and a granted role are alerts as well: one an owner and log, however many mandates the owner has.
Source: wallet spec 6.3 and 6.4; the guard's events are ours beside it.
"""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.repositories import alerts
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
ALERTED_EVENTS = (KeeperProposed, KeeperProposalCancelled, KeeperChanged, RoleGranted)  # the first four of wallet spec 6.3

Note = tuple[int, Found, NewRow]


def is_noted(facts: BlockFacts) -> bool:
    """Whether the block says anything that is noted; nearly none does."""
    return any(isinstance(item.event, NOTED_EVENTS) for item in facts.found)


def factory_notes(session: Session, chain_id: int, facts: BlockFacts, usdc: str) -> list[Note]:
    """(mandate id, event, row) of the block's notes; empty for nearly every block, at no cost."""
    noted = [item for item in facts.found if isinstance(item.event, NOTED_EVENTS)]
    if not noted:
        return []
    mandates = repository.mandates_to_note(session, chain_id, facts.header.number)
    # Nobody of a single mandate acts here, so the parties of the row are left empty.
    rows = [(item, row_from_event(item.event, item.ref, ZERO_ADDRESS, ZERO_ADDRESS, None, usdc=usdc)) for item in noted]
    return [(mandate, item, row) for mandate in mandates for item, row in rows if row is not None]


def alert_owners(session: WriteSession, notes: Iterable[Note], now: datetime) -> None:
    """Tell the owners of the noted mandates, each once a log."""
    mandates: dict[int, set[int]] = {}
    rows: dict[int, NewRow] = {}
    for mandate, item, row in notes:
        if isinstance(item.event, ALERTED_EVENTS):
            rows[item.ref.log_index] = row
            mandates.setdefault(item.ref.log_index, set()).add(mandate)
    for log_index, row in sorted(rows.items()):
        payload = {key: row.payload[key] for key in ("event", "args")}
        alerts.add(session, alerts.KEEPER_CHANGE, alerts.owners_of(session, mandates[log_index]), row, payload, now)
