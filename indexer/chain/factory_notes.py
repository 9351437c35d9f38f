"""Events of the factory that every mandate's owner should read: who is keeper, guard, admin or
pauser.

They become notes in the ledger of each mandate that was signed, working or stopped when the block
was taken, by what earlier blocks said, and whose vault existed before the event's block. Those of
the keeper and a granted role are alerts as well: one an owner and log, however many mandates the
owner has.

    the block's transaction:  who is owed which notes  ->  then slices of LEDGERS_A_SLICE, a transaction each  ->  nothing is owed

What became of a mandate after the block changes nothing: who is owed was written down with the
block.
Source: docs/rules.md#factory-notes; the guard's events are beside it.
"""

from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from core.alerts import queries as alerts
from core.db.engine import WriteSession
from core.mandate.ledger import deferred
from core.mandate.ledger.deferred import Owed
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
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import NewRow
from core.mandate.rules.terms import ZERO_ADDRESS
from core.mandate.views import mandates_to_note
from core.quarantine.queries import MANDATE
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts
from indexer.chain.quarantine import LedgerEntry, Taking

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
NEW_ROW: TypeAdapter[NewRow] = TypeAdapter(NewRow)


def is_noted(facts: BlockFacts) -> bool:
    """Whether the block says anything that is noted; nearly none does."""
    return any(isinstance(item.event, NOTED_EVENTS) for item in facts.found)


def note_block(
    session: WriteSession, chain: ChainContext, facts: BlockFacts, now: datetime
) -> None:
    """Write down who is owed the block's notes, in the order of its logs. The ledgers must say all
    of the blocks before.
    """
    notes = list[dict[str, Any]]()
    for item in facts.found:
        if isinstance(item.event, NOTED_EVENTS):
            # nobody of a single mandate acts here, so the parties of the row are left empty
            nobody = ZERO_ADDRESS, ZERO_ADDRESS, None
            row = row_from_event(item.event, item.ref, *nobody, usdc=chain.usdc)
            is_alert = isinstance(item.event, ALERTED_EVENTS)
            if row is not None:
                notes.append({"row": NEW_ROW.dump_python(row, mode="json"), "is_alert": is_alert})
    header = facts.header
    mandates = mandates_to_note(session, chain.chain_id, header.number) if notes else []
    if mandates:
        block = header.number, header.hash
        deferred.owe(session, chain.chain_id, block, notes, mandates, now)


def write_slice(chain: ChainContext, now: datetime) -> bool:
    """Write the oldest owed notes, into LEDGERS_A_SLICE ledgers, as one transaction; whether anything
    is left. Errors: LeadershipLostError.
    """
    with chain.database.write() as session:
        chain.fence(session)
        left = LEDGERS_A_SLICE
        while left > 0:
            owed = deferred.next_owed(session, chain.chain_id, left)
            if owed is None:
                return False
            _pay(session, chain, owed, now)
            left -= len(owed.mandate_ids)
        return deferred.is_owed(session, chain.chain_id)


def _pay(session: WriteSession, chain: ChainContext, owed: Owed, now: datetime) -> None:
    rows = [NEW_ROW.validate_python(note["row"]) for note in owed.notes]
    entries = [LedgerEntry(row, None) for row in rows]
    Taking(session, chain, MANDATE, now).take(dict.fromkeys(owed.mandate_ids, entries))
    alerted = [row for row, note in zip(rows, owed.notes, strict=True) if note["is_alert"]]
    owners = owners_of(session, owed.mandate_ids) if alerted else []
    for row in alerted:
        payload = {key: row.payload[key] for key in ("event", "args")}
        alerts.add(session, alerts.KEEPER_CHANGE, owners, row, payload, now)
    deferred.paid(session, owed)
