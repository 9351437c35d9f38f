"""All SQL of credits but the ledger's own: pages of the ledger, and the counts of free reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Connection,
    Date,
    Select,
    Text,
    any_,
    bindparam,
    func,
    literal,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.credits.rules.buckets import SPEND_ORDER
from core.credits.rules.free_reads import FreeReads
from core.credits.tables import CreditEntry, CreditHead, FreeReadCount, FreeReadPool
from core.db.bounded import drop_days
from core.db.engine import WriteSession


def entries_before(
    session: Session, account_id: int, before_seq: int | None, limit: int
) -> Sequence[CreditEntry]:
    """Newest first, below `before_seq`; None starts at the newest."""
    query = select(CreditEntry).where(CreditEntry.account_id == account_id)
    if before_seq is not None:
        query = query.where(CreditEntry.seq < before_seq)
    return session.scalars(query.order_by(CreditEntry.seq.desc()).limit(limit)).all()


def available_of(account_id: ColumnElement[int]) -> ColumnElement[int]:
    """What an account can spend now, as a part of a larger statement."""
    buckets = (getattr(CreditHead, bucket) for bucket in SPEND_ORDER)
    held = select(sum(buckets, literal(0))).where(CreditHead.account_id == account_id)
    return func.coalesce(held.scalar_subquery(), 0)


def converted_credits_by_account() -> Select[int, int]:
    """(account_id, amount): what postings of conversions of the reserve token brought each account
    that has any, less what was taken back.
    """
    brought = (-func.sum(CreditEntry.counter_delta)).label("amount")
    query = select(CreditEntry.account_id, brought).group_by(CreditEntry.account_id)
    return query.where(CreditEntry.counter == literal_column("'reserve'"))  # as the index says


# One statement takes the read or leaves the day as it is. The pools' rows are held first, in their
# order, and order the calls of all their agents, so that no read is counted in one row alone. As
# with a call's count, its commit does not wait for the disk.
_TAKE_FREE_READ = """
with asked as (
    select * from unnest(%(pools)s::text[], %(limits)s::int[]) as one(pool, most)
), held as (
    select p.pool, p.n from free_read_pool p where p.pool = any(%(pools)s::text[]) and p.day = %(day)s order by p.pool for update
), taken as (
    insert into free_read_count as c (account_id, day, n)
    select %(account_id)s, %(day)s, 1
    where (select count(*) from held join asked using (pool) where held.n < asked.most) = cardinality(%(pools)s::text[])
    on conflict (account_id, day) do update set n = c.n + 1 where c.n < %(limit)s
    returning n
), shared as (
    update free_read_pool p set n = p.n + 1 from taken where p.pool = any(%(pools)s::text[]) and p.day = %(day)s
)
select held.pool, held.n, taken.n, set_config('synchronous_commit', 'off', true) from held left join taken on true
"""
_OPEN_POOLS = """
insert into free_read_pool (pool, day, n) select pool, %(day)s, 0 from unnest(%(pools)s::text[]) as one(pool) order by pool
on conflict do nothing
"""


@dataclass(frozen=True, slots=True)
class ReadsUsedUp:
    """No free read is left today.

    `name`: of a count that has no room, a pool's or the agent's own.
    """

    name: str
    limit: int


def take_free_read(connection: Connection, reads: FreeReads, day: date) -> int | ReadsUsedUp:
    """Take one of the agent's free reads of the day and answer how many are left to it.

    The rows are held until the transaction ends: do it last. The first read of a pool's day takes
    two statements more.
    """
    for name, limit in reads.counts:
        if limit < 1:
            return ReadsUsedUp(name, limit)
    values = {
        "account_id": reads.account_id,
        "limit": reads.limit,
        "pools": [pool.name for pool in reads.pools],
        "limits": [pool.limit for pool in reads.pools],
        "day": day,
    }
    rows = connection.exec_driver_sql(_TAKE_FREE_READ, values).all()
    if len(rows) < len(reads.pools):
        connection.exec_driver_sql(_OPEN_POOLS, values)
        rows = connection.exec_driver_sql(_TAKE_FREE_READ, values).all()
    before, taken = {name: n for name, n, *_ in rows}, rows[0][2]
    if taken is None:
        full = [(pool.name, pool.limit) for pool in reads.pools if before[pool.name] >= pool.limit]
        return ReadsUsedUp(*(full or reads.counts)[0])
    return reads.left(taken, {name: n + 1 for name, n in before.items()})


def free_reads_of_day(session: Session, reads: FreeReads, day: date) -> tuple[int, dict[str, int]]:
    """What the agent, and each of its pools, has taken of the day's free reads; a pool that took
    none is left out.
    """
    pools = [pool.name for pool in reads.pools]
    values = {"account_id": reads.account_id, "pools": pools, "day": day}
    taken: dict[str | None, int] = dict(session.execute(_FREE_READS, values).all())
    own = taken.pop(None, 0)
    return own, {name: n for name, n in taken.items() if name is not None}


_OF_DAY: Final = bindparam("day", type_=Date)
_FREE_READS: Final[CompoundSelect[Any]] = union_all(
    select(FreeReadPool.pool, FreeReadPool.n).where(
        FreeReadPool.pool == any_(bindparam("pools", type_=ARRAY(Text))),
        FreeReadPool.day == _OF_DAY,
    ),
    select(null(), FreeReadCount.n).where(
        FreeReadCount.account_id == bindparam("account_id", type_=BigInteger),
        FreeReadCount.day == _OF_DAY,
    ),
)


def drop_free_reads(session: WriteSession, before: date, limit: int) -> int:
    """Drop at most twice `limit` counts of days before that one. How many went."""
    return drop_days(session, FreeReadCount, before, limit) + drop_days(
        session, FreeReadPool, before, limit
    )
