"""What ledgers get after the block's own transaction: the factory's notes that not every ledger has
yet, and the ends of signed terms that hold no money.

    a factory change                                       --> owed to each mandate   --> in the ledgers, oldest block first
    TermsCancelled, or a stop before the budget was there --> in the ledger at once --> the status says it when its block is safe
    ends_at is past by a safe block's time, and no vault  --> the ledger's note     --> the status says it at once

Laws
- The block's own transaction writes down what is owed, and to whom: the mandates as they were then.
  Notes are paid off oldest block first, so that a later event never overtakes an earlier one in a
  ledger. A block that is orphaned owes nothing any more.
- Until an end can no longer be taken back, the mandate stays what it was: a reorg can bring back
  the signature's power, and the owner must not think it gone.
- All take the mandates by rising id, as every writer does. Nothing here commits.
Source: MandateVaultFactory.createVault, which makes no vault of terms that were cancelled or are
past endsAt; docs/decisions/0003.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, cast, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.mandate.ledger.topics import notify_ends
from core.mandate.rules.new_rows import expired_note
from core.mandate.rules.rows import NewRow
from core.mandate.tables import UNVAULTED, Mandate, MandateHead, OwedNote
from core.quarantine.queries import MANDATE, is_held


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


MOST_AT_ONCE = 500


def say_safe(session: WriteSession, chain_id: int, safe_block: int, now: datetime) -> int:
    """Let the statuses say the ends that stand in blocks up to that height; how many did."""
    waiting = (
        select(Mandate.id, Mandate.owner_id)
        .where(Mandate.ends_in_block <= safe_block, Mandate.chain_id == chain_id)
        .order_by(Mandate.id)
    )
    found = session.execute(waiting.limit(MOST_AT_ONCE).with_for_update(key_share=True)).all()
    ids = [mandate_id for mandate_id, _ in found]
    if ids:
        ended_at = cast(MandateHead.state["ended_at"].astext, DateTime(timezone=True))
        values = {
            "status": MandateHead.status,
            "ended_at": ended_at,
            "ends_in_block": None,
            "updated_at": now,
        }
        statement = (
            update(Mandate)
            .where(Mandate.id.in_(ids), MandateHead.mandate_id == Mandate.id)
            .values(values)
        )
        session.execute(statement.execution_options(synchronize_session=False))
        notify_ends(session, ((mandate_id, owner_id) for mandate_id, owner_id in found))
    return len(ids)


def expired(
    session: WriteSession, chain_id: int, safe_block: int, safe_at: int
) -> dict[int, list[NewRow]]:
    """By mandate the note that its terms expired: past by the safe block's time (unix seconds), and
    without a vault in the record, which must have taken in that block. A record that lacks facts
    may lack the vault, and waits.
    """
    query = select(Mandate.id, Mandate.ends_at).where(
        text(UNVAULTED),
        Mandate.chain_id == chain_id,
        Mandate.ends_at <= datetime.fromtimestamp(safe_at, UTC),
        Mandate.ends_in_block.is_(None),
        ~is_held(MANDATE, Mandate.id),
    )
    found = session.execute(query.order_by(Mandate.ends_at, Mandate.id).limit(MOST_AT_ONCE)).all()
    return {row.id: [expired_note(row.ends_at, safe_block=safe_block)] for row in found}
