"""Parts of a read that may fail (core/db/parts.py)."""

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from core.db.engine import Database, ReadSession
from core.db.parts import part_of
from core.db.prepared import rows_of
from core.identity.tables import Account
from tests.integration.core.rows import add_account


def fail(session: ReadSession) -> None:
    with pytest.raises(DBAPIError, match="division by zero"), part_of(session):
        session.execute(text("select 1 / 0"))


def test_a_part_that_fails__leaves_the_session_to_the_next(database: Database) -> None:
    with database.read() as session:
        for _ in range(2):
            fail(session)
            with part_of(session):
                assert session.scalar(text("select 1")) == 1


def test_a_part_that_the_driver_runs_and_that_fails__leaves_the_session_too(
    database: Database,
) -> None:
    with database.read() as session:
        with pytest.raises(DBAPIError, match="division by zero"), part_of(session):
            rows_of(session, "select 1 / %(n)s::int", {"n": 0})
        assert rows_of(session, "select 1 / %(n)s::int", {"n": 1}) == [(1,)]


def test_what_is_read_after_a_part_failed__is_of_the_same_snapshot(database: Database) -> None:
    accounts = select(func.count()).select_from(Account)
    with database.read() as session:
        assert session.scalar(accounts) == 0
        fail(session)
        with database.write() as beside:
            add_account(beside, "agent")
        assert session.scalar(accounts) == 0


def test_many_parts__take_one_savepoint(database: Database) -> None:
    with database.read() as session:
        for _ in range(3):
            with part_of(session):
                session.execute(text("select 1"))
        session.execute(text("release savepoint part"))
        with pytest.raises(DBAPIError, match="does not exist"):
            session.execute(text("release savepoint part"))


def test_a_transaction_that_began_anew__takes_its_own(database: Database) -> None:
    with database.read() as session:
        fail(session)
        session.rollback()
        fail(session)
        assert session.scalar(text("select 1")) == 1


def test_a_part_whose_server_is_gone__says_that_nothing_more_can_be_read(
    database: Database,
) -> None:
    end = "select pg_terminate_backend(pg_backend_pid()), %(n)s::int"
    with pytest.raises(DBAPIError) as gone, database.read() as session, part_of(session):
        rows_of(session, end, {"n": 0})
    assert gone.value.connection_invalidated
    with database.read() as session:
        assert session.scalar(text("select 1")) == 1
