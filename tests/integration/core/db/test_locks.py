"""Numbers of advisory locks: ours as earlier versions have them, a caller's in a space of its
own.
"""

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from core.db import leadership as leader
from core.db import locks
from core.db.engine import Database, WriteSession
from core.db.locks import AdvisoryLock, LockClass

HELD = """
select objsubid, classid::bigint << 32 | objid::bigint from pg_locks
 where locktype = 'advisory' and pid = pg_backend_pid()
"""
ONE_BIGINT, TWO_INTEGERS = 1, 2
# A process of another version asks for the same numbers: they never change.
LEADER_KEEPER, LEADER_INDEXER = 1156626201597139527, -2447304370971389907
FENCE_KEEPER, FENCE_INDEXER = -3398618325403628147, -6197332139718969552


def held(session: WriteSession) -> list[tuple[int, int]]:
    return [(space, number) for space, number in session.execute(text(HELD))]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("leader:keeper", LEADER_KEEPER),
        ("leader:indexer", LEADER_INDEXER),
        ("fence:keeper", FENCE_KEEPER),
        ("fence:indexer", FENCE_INDEXER),
    ],
)
def test_our_own_lock__has_the_number_of_earlier_versions(
    database: Database, name: str, number: int
) -> None:
    with database.write() as session:
        locks.own(name).wait(session)
        assert held(session) == [(ONE_BIGINT, number)]


def test_a_leader_and_a_fence__take_our_own_locks(database: Database, database_url: str) -> None:
    leads = leader.Leadership(database_url, "keeper", "test")
    assert leads.try_take(datetime.now(UTC))
    with database.write() as session:
        assert not locks.own("leader:keeper").try_hold(session)
        locks.own(leader.fence_name("keeper")).wait(session)
        assert held(session) == [(ONE_BIGINT, FENCE_KEEPER)]
    leads.release()


@pytest.mark.parametrize("kind", LockClass)
def test_a_named_lock__stands_in_the_space_where_none_of_our_own_is(
    database: Database, kind: LockClass
) -> None:
    with database.write() as session:
        locks.named(kind, ("fence:keeper",)).wait(session)
        assert [space for space, _ in held(session)] == [TWO_INTEGERS]


def test_a_named_lock__has_64_bits_of_the_sha_256_of_class_and_name(database: Database) -> None:
    with database.write() as session:
        locks.named(LockClass.WALLET, ("0xA", "b")).wait(session)
        assert held(session) == [(TWO_INTEGERS, -2882861179149608959)]


def are_one(database: Database, first: AdvisoryLock, second: AdvisoryLock) -> bool:
    with database.write() as holder, database.write() as other:
        assert first.try_take(holder)
        return not second.try_take(other)


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (locks.named(LockClass.IDEMPOTENCY, ("scope", "key")), True),
        (locks.named(LockClass.REGISTRATION, ("scope", "key")), False),
        (locks.named(LockClass.IDEMPOTENCY, ("scop", "ekey")), False),
        (locks.named(LockClass.IDEMPOTENCY, ("scope:key",)), False),
    ],
    ids=["same", "another class", "another border", "another name"],
)
def test_two_names__are_one_lock_if_class_and_parts_are_equal(
    database: Database, second: AdvisoryLock, same: bool
) -> None:
    assert are_one(database, locks.named(LockClass.IDEMPOTENCY, ("scope", "key")), second) is same


def test_a_lock_that_was_held__is_free_once_it_is_released(database: Database) -> None:
    lock = locks.named(LockClass.PAYMENT, b"asset payer nonce")
    with database.pinned() as holder, database.write() as other:
        assert lock.try_hold(holder)
        holder.commit()
        assert not lock.try_take(other)
        lock.release(holder)
        holder.commit()
        assert lock.try_take(other)
