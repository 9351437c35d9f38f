"""Events of the factory that every mandate's owner should read: who is keeper, guard, admin or
pauser.

They become notes in the ledger of each mandate that was signed, working or stopped when the block
was taken, by what earlier blocks said, and whose vault existed before the event's block. Those of
the keeper and a granted role are alerts as well: one an owner and log, however many mandates the
owner has.

    the block's transaction:  who is owed which notes  ->  then slices of BOOKS_A_SLICE, a transaction each  ->  nothing is owed

What became of a mandate after the block changes nothing: who is owed was written down with the
block.
Source: docs/rules.md#factory-notes; the guard's events are beside it.
"""

from collections.abc import Sequence
from datetime import datetime

from core.alerts import queries as alerts
from core.db.engine import WriteSession
from core.mandate import owed_notes
from core.mandate.owed_notes import Owed
from core.mandate.queries import owners_of
from core.mandate.rules.events import (
    GuardChanged,
    GuardProposalCancelled,
    GuardProposed,
    KeeperChanged,
    KeeperProposalCancelled,
    KeeperProposed,
    RoleGranted,
    RoleRevoked,
)
from core.mandate.rules.ledger import NewRow, row_from_event
from core.mandate.rules.terms import ZERO_ADDRESS
from core.mandate.views import mandates_to_note
from core.quarantine.queries import MANDATE
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts
from indexer.chain.ledgers import Note, note_from_json
from indexer.chain.quarantine import LedgerEntry, take

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
# docs/rules.md#factory-notes
ALERTED_EVENTS = (KeeperProposed, KeeperProposalCancelled, KeeperChanged, RoleGranted)

LEDGERS_A_SLICE = 1_000


def is_noted(facts: BlockFacts) -> bool:
    """Whether the block says anything that is noted; nearly none does."""
    return any(isinstance(item.event, NOTED_EVENTS) for item in facts.found)


def factory_notes(facts: BlockFacts, usdc: str) -> list[Note]:
    """The block's notes, in the order of its logs."""
    noted = [item for item in facts.found if isinstance(item.event, NOTED_EVENTS)]
    # Nobody of a single mandate acts here, so the parties of the row are left empty.
    rows = [
        (item, row_from_event(item.event, item.ref, ZERO_ADDRESS, ZERO_ADDRESS, None, usdc=usdc))
        for item in noted
    ]
    return [
        Note(row, isinstance(item.event, ALERTED_EVENTS)) for item, row in rows if row is not None
    ]


def note_block(session: WriteSession, chain: ChainContext, facts: BlockFacts, now: datetime) -> int:
    """Hand the block's notes to the ledgers; how many rows were written at once.

    The ledgers must say all of the blocks before.
    """
    notes = factory_notes(facts, chain.usdc)
    mandates = mandates_to_note(session, chain.chain_id, facts.header.number) if notes else []
    return (
        chain.ledgers.note(session, chain.chain_id, facts.header, notes, mandates, now)
        if mandates
        else 0
    )


def write_slice(chain: ChainContext, now: datetime) -> bool:
    """Write the oldest owed notes, into BOOKS_A_SLICE ledgers, as one transaction; whether anything
    is left. Errors: LeadershipLostError.
    """
    with chain.database.write() as session:
        chain.fence(session)
        left = LEDGERS_A_SLICE
        while left > 0:
            owed = owed_notes.next_owed(session, chain.chain_id, left)
            if owed is None:
                return False
            _pay(session, chain, owed, now)
            left -= len(owed.mandate_ids)
        return owed_notes.is_owed(session, chain.chain_id)


def _pay(session: WriteSession, chain: ChainContext, owed: Owed, now: datetime) -> None:
    notes = [note_from_json(note) for note in owed.notes]
    take(
        session,
        chain,
        MANDATE,
        {mandate: [LedgerEntry(note.row, None) for note in notes] for mandate in owed.mandate_ids},
        now,
    )
    _alert_owners(session, [note.row for note in notes if note.is_alert], owed.mandate_ids, now)
    owed_notes.paid(session, owed)


def _alert_owners(
    session: WriteSession, rows: Sequence[NewRow], mandate_ids: Sequence[int], now: datetime
) -> None:
    """Tell the owners of the mandates, each once a log."""
    owners = owners_of(session, mandate_ids) if rows else []
    for row in rows:
        alerts.add(
            session,
            alerts.KEEPER_CHANGE,
            owners,
            row,
            {key: row.payload[key] for key in ("event", "args")},
            now,
        )
