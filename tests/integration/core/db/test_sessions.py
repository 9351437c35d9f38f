"""How reads, writes and lone statements begin, end and fail (core/db/engine.py)."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError

from core.db.engine import Bounds, Database, ReadSession
from core.identity.tables import Account
from tests.each import each
from tests.integration.core.rows import add_account

PREPARED = text("select statement from pg_prepared_statements")
ADD = "insert into account (kind, name, created_at) values ('agent', 'beside', now())"


def test_a_statement_by_itself__is_committed(database: Database) -> None:
    with database.statements() as connection:
        connection.exec_driver_sql(ADD)
        with database.read() as session:
            assert session.scalar(select(func.count()).where(Account.name == "beside")) == 1


@each("statement", ["select 1 / %(n)s::int", "select no_such(%(n)s::int)"])
def test_a_statement_by_itself_that_fails__raises_and_leaves_the_connection(
    lone: Database, statement: str
) -> None:
    for _ in range(2):
        with pytest.raises(DBAPIError), lone.statements() as connection:
            connection.exec_driver_sql(statement, {"n": 0})
        with lone.statements() as connection:
            assert connection.scalar(text("select 4")) == 4


def test_a_connection_that_ended__is_not_lent_again(database: Database) -> None:
    with pytest.raises(DBAPIError), database.statements() as connection:
        connection.exec_driver_sql("select pg_terminate_backend(pg_backend_pid())")
    with database.statements() as connection:
        assert connection.scalar(text("select 4")) == 4


def test_a_connection_that_ran_lone_statements__writes_in_transactions_again(
    lone: Database,
) -> None:
    with lone.statements() as connection:
        connection.exec_driver_sql("select 1")
    with lone.write() as session:
        add_account(session, "agent")
        session.rollback()
    with lone.read() as session:
        assert session.scalar(select(func.count()).select_from(Account)) == 0


def test_a_reader__writes_nothing(database: Database) -> None:
    with database.read() as session, pytest.raises(DBAPIError, match="read-only"):
        session.execute(text(ADD))


def test_a_part_of_a_read_that_fails__leaves_the_rest_its_snapshot(database: Database) -> None:
    accounts = select(func.count()).select_from(Account)
    with database.read() as session:
        assert session.scalar(accounts) == 0
        for _ in range(2):
            with pytest.raises(DBAPIError, match="division by zero"), session.begin_nested():
                session.execute(text("select 1 / 0"))
        with database.write() as beside:
            add_account(beside, "agent")
        assert session.scalar(accounts) == 0


@pytest.fixture
def lone(database_url: str) -> Iterator[Database]:
    """Of one connection."""
    database = Database(database_url, bounds=Bounds(pool_size=1, overflow=0))
    yield database
    database.close()


def test_what_psycopg_prepared__stays_over_reads_and_writes(lone: Database) -> None:
    for _ in range(6):
        with lone.read() as session:
            session.execute(text("select 1"))
    for _ in range(6):
        with lone.write() as session:
            session.execute(text("select 2"))
    with lone.read() as session:
        assert {*session.scalars(PREPARED)} == {"select 1", "select 2"}


def test_a_read_that_failed__leaves_a_connection_to_write_with(lone: Database) -> None:
    with pytest.raises(DBAPIError), lone.read() as session:
        session.execute(text("select 1 / 0"))
    with lone.write() as session:
        assert session.scalar(text("show transaction_read_only")) == "off"
        assert session.scalar(text("show transaction_isolation")) == "read committed"
        add_account(session, "agent")
    with lone.read() as session:
        assert session.scalar(text("show transaction_read_only")) == "on"
        assert session.scalar(select(func.count()).select_from(Account)) == 1


def test_a_read_that_changed_a_row__is_refused_when_it_ends(lone: Database) -> None:
    with lone.write() as session:
        account = add_account(session, "agent")
    with pytest.raises(InternalError, match="read-only"), lone.read() as session:
        session.get_one(Account, account).name = "another"
    with lone.read() as session:
        assert session.get_one(Account, account).name != "another"


def test_a_read_whose_server_is_gone__fails_as_every_other_statement_does(
    database: Database,
) -> None:
    def read(session: ReadSession) -> None:
        pid = session.execute(text("select pg_backend_pid()")).scalar_one()
        with database.write() as other:
            other.execute(text("select pg_terminate_backend(:pid, 5000)"), {"pid": pid})
        raise LookupError

    with pytest.raises((OperationalError, LookupError)), database.read() as session:
        read(session)
    with database.read() as session:
        assert session.execute(text("select 1")).scalar_one() == 1


def test_instants__are_read_whatever_the_database_says_of_dates(database: Database) -> None:
    name = database.engine.url.database
    with database.write() as session:
        session.execute(text(f"alter database \"{name}\" set datestyle = 'SQL, DMY'"))
        session.execute(text(f"alter database \"{name}\" set timezone = 'Asia/Seoul'"))
    database.close()  # its connections: what follows is of a new one
    with database.read() as session:
        found = session.scalar(text("select timestamptz '2026-11-05 10:00:00Z'"))
    assert found == datetime(2026, 11, 5, 10, tzinfo=UTC)
