"""All SQL of credits but the book's own: pages of the book, and the counts of free reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from psycopg import Connection
from psycopg.rows import tuple_row
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.credits import CreditEntry, FreeReadCount, FreeReadPool
from core.domain.credits.free_reads import FreeReads


def entries_before(session: Session, account_id: int, before_seq: int | None, limit: int) -> Sequence[CreditEntry]:
    """Newest first, below `before_seq`; None starts at the newest."""
    query = select(CreditEntry).where(CreditEntry.account_id == account_id)
    if before_seq is not None:
        query = query.where(CreditEntry.seq < before_seq)
    return session.scalars(query.order_by(CreditEntry.seq.desc()).limit(limit)).all()


# One statement takes the read or leaves the day as it is. The pool's row is held first and orders the calls of all its agents, so that
# no read is counted for one of the two alone. As with a call's count, its commit does not wait for the disk.
_TAKE_FREE_READ = """
with held as (
    select n from free_read_pool where pool = %(pool)s and day = %(day)s for update
), taken as (
    insert into free_read_count as c (account_id, day, n)
    select %(account_id)s, %(day)s, 1 from held where held.n < %(pool_limit)s and %(limit)s > 0
    on conflict (account_id, day) do update set n = c.n + 1 where c.n < %(limit)s
    returning n
), shared as (
    update free_read_pool p set n = p.n + 1 from taken where p.pool = %(pool)s and p.day = %(day)s returning p.n
)
select held.n, taken.n, shared.n, set_config('synchronous_commit', 'off', true)
from held left join taken on true left join shared on true
"""
_OPEN_POOL = "insert into free_read_pool (pool, day, n) values (%(pool)s, %(day)s, 0) on conflict do nothing"


@dataclass(frozen=True, slots=True)
class UsedUp:
    """No free read is left today. `name`: of the count that has no room, the pool's or the agent's own."""

    name: str
    limit: int


def take_free_read(connection: Connection[Any], reads: FreeReads, day: date) -> int | UsedUp:
    """Take one of the agent's free reads of the day and answer how many are left to it.

    The rows are held until the transaction ends: do it last. The first read of a pool's day takes two statements more.
    """
    own, pool = (reads.name, reads.limit), (reads.pool.name, reads.pool.limit)
    for name, limit in (own, pool):
        if limit < 1:
            return UsedUp(name, limit)
    values = {"account_id": reads.account_id, "limit": reads.limit, "pool": reads.pool.name, "pool_limit": reads.pool.limit, "day": day}
    cursor = connection.cursor(row_factory=tuple_row)
    row = cursor.execute(_TAKE_FREE_READ, values, prepare=True).fetchone()
    if row is None:
        cursor.execute(_OPEN_POOL, values)
        row = cursor.execute(_TAKE_FREE_READ, values, prepare=True).fetchone()
        assert row is not None, "the pool has a row from here on"
    before, taken, shared, _ = row
    if taken is None:
        return UsedUp(*(pool if before >= reads.pool.limit else own))
    return reads.left(taken, shared)


def free_reads_of_day(session: Session, reads: FreeReads, day: date) -> tuple[int, int]:
    """What the agent and its pool have taken of the day's free reads."""
    mine = select(FreeReadCount.n).where(FreeReadCount.account_id == reads.account_id, FreeReadCount.day == day).scalar_subquery()
    all_of_it = select(FreeReadPool.n).where(FreeReadPool.pool == reads.pool.name, FreeReadPool.day == day).scalar_subquery()
    taken, shared = session.execute(select(mine, all_of_it)).one()
    return taken or 0, shared or 0
