"""The slow job `prune` drops what accounts leave behind: sessions, days of calls, wrong codes."""

from datetime import date, datetime, timedelta

from sqlalchemy import select

from core.db.engine import Database
from core.identity.tables import Account, ApiKey, RecoveryFailure, RequestCount
from core.identity.tables import Session as SessionRow
from tests.integration.keeper.test_keeper_slow_jobs import NOW, prune

SECOND = timedelta(seconds=1)
LIMIT = NOW - timedelta(days=30)
DAY = LIMIT.date()


def an_account(database: Database) -> tuple[int, int, int]:
    """(account, a key that is used, a key that was not used for long)."""
    with database.write() as session:
        account = Account(kind="agent", name="a", created_at=NOW)
        session.add(account)
        session.flush()
        keys = [
            ApiKey(account_id=account.id, key_hash=bytes([n]) * 32, scopes=["read"], created_at=NOW)
            for n in (1, 2)
        ]
        session.add_all(keys)
        session.flush()
        return account.id, keys[0].id, keys[1].id


def a_session(account: int, expires_at: datetime, number: int) -> SessionRow:
    return SessionRow(
        token_hash=bytes([number]) * 32,
        kind="agent",
        account_id=account,
        created_at=NOW - timedelta(days=60),
        expires_at=expires_at,
    )


def test_prune__keeps_sessions_for_thirty_days_after_their_end(database: Database) -> None:
    account, _, _ = an_account(database)
    with database.write() as session:
        session.add_all([a_session(account, LIMIT - SECOND, 1), a_session(account, LIMIT, 2)])
    assert prune(database)["sessions"] == 1
    with database.read() as session:
        assert list(session.scalars(select(SessionRow.expires_at))) == [LIMIT]


def test_prune__keeps_of_a_key_thirty_days_of_calls_and_the_newest(database: Database) -> None:
    """The newest says when the key was last used."""
    _, used, rested = an_account(database)

    def count(key: int, day: date) -> RequestCount:
        return RequestCount(key_id=key, day=day, n=1, last_at=NOW)

    before = [DAY - timedelta(days=n) for n in (1, 2, 3)]
    with database.write() as session:
        session.add_all([count(used, day) for day in (*before, DAY)])
        session.add_all([count(rested, day) for day in before])
    assert prune(database)["day_figures"] == 5
    with database.read() as session:
        kept = session.execute(select(RequestCount.key_id, RequestCount.day))
        assert sorted(map(tuple, kept)) == [(used, DAY), (rested, before[0])]


def test_prune__drops_wrong_codes_of_whoever_never_came_back(database: Database) -> None:
    day = NOW - timedelta(days=1)
    with database.write() as session:
        session.add_all(
            RecoveryFailure(client=f"2001:db8::{n}", at=at)
            for n, at in enumerate((day - SECOND, day - timedelta(days=9), day))
        )
    assert prune(database)["recovery_failures"] == 2
    with database.read() as session:
        assert list(session.scalars(select(RecoveryFailure.at))) == [day]
