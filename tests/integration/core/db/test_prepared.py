"""Statements that the driver runs itself (core/db/prepared.py)."""

import pytest
from sqlalchemy import BigInteger, Text, bindparam, func, insert, literal, select, text
from sqlalchemy.exc import DBAPIError

from core.db.base import Timestamp
from core.db.engine import Database
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
