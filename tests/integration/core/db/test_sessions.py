"""Statements that the driver runs itself (core/db/prepared.py)."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import BigInteger, Text, bindparam, func, insert, literal, select, text
from sqlalchemy.exc import DBAPIError, NoResultFound, OperationalError

from core.db.base import Timestamp
from core.db.engine import Bounds, Database, ReadSession
from core.db.prepared import Prepared, rows_of
from core.identity.tables import Account
from tests.integration.core.rows import NOW, add_account

DOUBLED = Prepared(select(bindparam("n", type_=BigInteger) * 2, literal("a")))
ADD = Prepared(
    insert(Account)
    .from_select(
        ["kind", "name", "created_at"],
        select(literal("agent"), bindparam("said", type_=Text), bindparam("now", type_=Timestamp)),
    )
    .returning(Account.kind)
)
PREPARED = text("select statement from pg_prepared_statements")
NAMES = Prepared(select(Account.name).where(Account.id == bindparam("id", type_=BigInteger)))


def test_a_statement__takes_its_values_and_keeps_its_constants(database: Database) -> None:
    with database.read() as session:
        assert [DOUBLED.rows(session, n=n) for n in (1, 2)] == [[(2, "a")], [(4, "a")]]


def test_a_statement__is_a_part_of_its_sessions_transaction(database: Database) -> None:
    with database.write() as session:
        account = add_account(session, "agent")
        assert len(NAMES.rows(session, id=account)) == 1
        assert ADD.rows(session, said="beside", now=NOW) == [("agent",)]
        session.rollback()
    with database.read() as session:
        assert NAMES.rows(session, id=account) == []
        assert session.scalar(select(func.count()).where(Account.name == "beside")) == 0


def test_a_statement__sees_what_its_session_had_not_written_yet(database: Database) -> None:
    with database.write() as session:
        account = session.get_one(Account, add_account(session, "agent"))
        account.name = "renamed"
        assert NAMES.rows(session, id=account.id) == [("renamed",)]
        session.rollback()


def test_objects__are_read_by_a_prepared_statement_where_it_asks(lone: Database) -> None:
    by_id = select(Account).where(Account.id == bindparam("id", type_=BigInteger))
    with lone.write() as session:
        id_ = add_account(session, "agent")
    for query, prepared in ((by_id, 0), (by_id.execution_options(prepared=True), 1)):
        with lone.read() as session:
            assert session.scalar(query, {"id": id_}) is not None
            found = [said for (said,) in session.execute(PREPARED) if "account.kind" in said]
            assert len(found) == prepared


def test_a_statement_that_fails__raises_as_sqlalchemy_does(database: Database) -> None:
    with database.read() as session:
        with pytest.raises(DBAPIError) as refused:
            rows_of(session, "select 1 / %(n)s::int", {"n": 0})
        assert refused.value.orig is not None
        session.rollback()
        assert session.scalar(text("select 1")) == 1


def test_a_reader__writes_nothing_by_it(database: Database) -> None:
    with database.read() as session, pytest.raises(DBAPIError, match="read-only"):
        ADD.rows(session, said="beside", now=NOW)


def test_a_statement_by_itself__says_the_same_and_is_committed(database: Database) -> None:
    for n in (1, 1, 40_000, 3_000_000_000):
        with database.statements() as connection, database.read() as session:
            alone = DOUBLED.rows(connection, n=n)
            assert alone == DOUBLED.rows(session, n=n) == [(2 * n, "a")]
    with database.statements() as connection:
        assert ADD.rows(connection, said="100 %", now=NOW) == [("agent",)]
    with database.read() as session:
        assert session.scalar(select(func.count()).where(Account.name == "100 %")) == 1
    with database.statements() as connection:
        assert rows_of(connection, "select 5 %% %(n)s::int, %(n)s::int", {"n": 3}) == [(2, 3)]
        assert rows_of(connection, "update account set name = 'x' where id = -1", {}) == []


@pytest.mark.parametrize("statement", ["select 1 / %(n)s::int", "select no_such(%(n)s::int)"])
def test_a_statement_by_itself_that_fails__raises_and_leaves_the_connection(
    database: Database, statement: str
) -> None:
    for _ in range(2):
        with pytest.raises(DBAPIError) as refused, database.statements() as connection:
            rows_of(connection, statement, {"n": 0})
        assert refused.value.orig is not None
        with database.statements() as connection:
            assert DOUBLED.rows(connection, n=2) == [(4, "a")]


def test_a_connection_that_ended__is_not_lent_again(database: Database) -> None:
    end = "select pg_terminate_backend(pg_backend_pid()), %(n)s::int"
    with pytest.raises(DBAPIError), database.statements() as connection:
        rows_of(connection, end, {"n": 0})
    with database.statements() as connection:
        assert DOUBLED.rows(connection, n=2) == [(4, "a")]


@pytest.fixture
def lone(database_url: str) -> Iterator[Database]:
    """Of one connection."""
    database = Database(database_url, bounds=Bounds(pool_size=1, overflow=0))
    yield database
    database.close()


def test_what_is_prepared__stays_over_reads_and_writes(lone: Database) -> None:
    with lone.read() as session:
        DOUBLED.rows(session, n=1)
    with lone.write() as session:
        NAMES.rows(session, id=1)
    with lone.read() as session:
        session.execute(text("select 1"))
    with lone.read() as session:
        assert len(session.scalars(PREPARED).all()) == 2
    with pytest.raises(NoResultFound), lone.read() as session:  # as a reader that refuses
        session.get_one(Account, 1)
    with lone.read() as session:
        assert len(session.scalars(PREPARED).all()) == 2


def test_a_read__has_nothing_prepared_unasked__and_a_write_after_five(lone: Database) -> None:
    for _ in range(12):
        with lone.read() as session:
            session.execute(text("select 1"))
    with lone.read() as session:
        assert session.scalars(PREPARED).all() == []
    for _ in range(12):
        with lone.write() as session:
            session.execute(text("select 2"))
    with lone.read() as session:
        assert session.scalars(PREPARED).all() == ["select 2"]


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


def test_a_read_that_changed_a_row__writes_nothing_when_it_ends(lone: Database) -> None:
    with lone.write() as session:
        account = add_account(session, "agent")
    with lone.read() as session:
        row = session.get_one(Account, account)
        row.name = "another"
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
