"""All SQL of credits but the book's own: pages of the book, and the count of free reads."""

from collections.abc import Sequence
from datetime import date

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.tables.credits import CreditEntry, FreeReadCount


def entries_before(session: Session, account_id: int, before_seq: int | None, limit: int) -> Sequence[CreditEntry]:
    """Newest first, below `before_seq`; None starts at the newest."""
    query = select(CreditEntry).where(CreditEntry.account_id == account_id)
    if before_seq is not None:
        query = query.where(CreditEntry.seq < before_seq)
    return session.scalars(query.order_by(CreditEntry.seq.desc()).limit(limit)).all()


def take_free_read(session: WriteSession, account_id: int, day: date, limit: int) -> int | None:
    """Take one of the day's free reads and answer how many were taken with it; None when they are used up.

    The row is held until the transaction ends: do it last.
    """
    if limit < 1:
        return None
    statement = insert(FreeReadCount).values(account_id=account_id, day=day, n=1)
    statement = statement.on_conflict_do_update(
        index_elements=["account_id", "day"], set_={"n": FreeReadCount.n + 1}, where=FreeReadCount.n < limit
    )
    return session.execute(statement.returning(FreeReadCount.n)).scalar()


def free_reads_of_day(session: Session, account_id: int, day: date) -> int:
    query = select(FreeReadCount.n).where(FreeReadCount.account_id == account_id, FreeReadCount.day == day)
    return session.scalar(query) or 0
