"""All SQL of credits but the book's own: pages of the book, and the count of free reads."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from psycopg import Connection
from psycopg.rows import tuple_row
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.credits import CreditEntry, FreeReadCount


def entries_before(session: Session, account_id: int, before_seq: int | None, limit: int) -> Sequence[CreditEntry]:
    """Newest first, below `before_seq`; None starts at the newest."""
    query = select(CreditEntry).where(CreditEntry.account_id == account_id)
    if before_seq is not None:
        query = query.where(CreditEntry.seq < before_seq)
    return session.scalars(query.order_by(CreditEntry.seq.desc()).limit(limit)).all()


# One statement takes the read or leaves the day as it is. As with a call's count, its commit does not wait for the disk.
_TAKE_FREE_READ = """
insert into free_read_count as c (account_id, day, n) values (%(account_id)s, %(day)s, 1)
on conflict (account_id, day) do update set n = c.n + 1 where c.n < %(limit)s
returning n, set_config('synchronous_commit', 'off', true)
"""


def take_free_read(connection: Connection[Any], account_id: int, day: date, limit: int) -> int | None:
    """Take one of the day's free reads and answer how many were taken with it; None when they are used up.

    The row is held until the transaction ends: do it last.
    """
    if limit < 1:
        return None
    values = {"account_id": account_id, "day": day, "limit": limit}
    row = connection.cursor(row_factory=tuple_row).execute(_TAKE_FREE_READ, values, prepare=True).fetchone()
    return None if row is None else int(row[0])


def free_reads_of_day(session: Session, account_id: int, day: date) -> int:
    query = select(FreeReadCount.n).where(FreeReadCount.account_id == account_id, FreeReadCount.day == day)
    return session.scalar(query) or 0
