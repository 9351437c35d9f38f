"""All SQL of the factory's notes that not every ledger has yet. Nothing here commits.

Laws
- The block's own transaction writes down what is owed, and to whom: the mandates as they were then.
  Ledgers are written afterwards.
- Notes are paid off oldest block first, so that a later event never overtakes an earlier one in a
  ledger.
- A block that is orphaned owes nothing any more.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.mandate.tables import OwedNote


@dataclass(frozen=True, slots=True)
class Owed:
    """What a block owes to the next mandates, by rising id.

    `notes`: [{row, is_alert}], the row as the ledger takes it, as JSON.
    """

    chain_id: int
    block_hash: str
    notes: Sequence[dict[str, Any]]
    mandate_ids: Sequence[int]
    is_last: bool


def owe(
    session: WriteSession,
    chain_id: int,
    block: tuple[int, str],
    notes: Sequence[dict[str, Any]],
    mandate_ids: Sequence[int],
    now: datetime,
) -> None:
    """Write down that these mandates are owed the notes of a block, (height, hash)."""
    number, block_hash = block
    values = {"chain_id": chain_id, "block_number": number, "block_hash": bytes_of(block_hash)}
    values |= {"notes": list(notes), "mandate_ids": list(mandate_ids), "noted": 0, "owed_at": now}
    session.execute(insert(OwedNote).values(values))


def next_owed(session: WriteSession, chain_id: int, limit: int) -> Owed | None:
    """What the oldest block owes to its next mandates, at most `limit`, held until the transaction
    ends; None: nothing is owed.
    """
    first, last = OwedNote.noted + 1, OwedNote.noted + limit
    columns = (
        OwedNote.block_hash,
        OwedNote.notes,
        OwedNote.mandate_ids[first:last],
        func.cardinality(OwedNote.mandate_ids) <= last,
    )
    query = (
        select(*columns)
        .where(OwedNote.chain_id == chain_id)
        .order_by(OwedNote.block_number)
        .limit(1)
    )
    row = session.execute(query.with_for_update()).one_or_none()
    return None if row is None else Owed(chain_id, hex_of(row[0]), row[1], row[2], row[3])


def paid(session: WriteSession, owed: Owed) -> None:
    """The mandates of `owed` have their notes."""
    mine = (OwedNote.chain_id == owed.chain_id, OwedNote.block_hash == bytes_of(owed.block_hash))
    if owed.is_last:
        session.execute(delete(OwedNote).where(*mine))
    else:
        session.execute(
            update(OwedNote).where(*mine).values(noted=OwedNote.noted + len(owed.mandate_ids))
        )


def is_owed(session: Session, chain_id: int) -> bool:
    return (
        session.scalar(select(OwedNote.block_number).where(OwedNote.chain_id == chain_id).limit(1))
        is not None
    )


def forgive(session: WriteSession, chain_id: int, block_hashes: Collection[str]) -> None:
    """The blocks were orphaned."""
    orphaned = [bytes_of(block_hash) for block_hash in block_hashes]
    session.execute(
        delete(OwedNote).where(OwedNote.chain_id == chain_id, OwedNote.block_hash.in_(orphaned))
    )
