"""Columns that are alike, described once (core/db/described.py)."""

from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db import described
from core.db.engine import Database


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described, "_known", {})


def description(session: Session, statement: str, **values: Any) -> Any:
    result: Any = session.execute(text(statement), values)
    return result.cursor.description


def test_columns_that_are_alike__are_described_once(database: Database) -> None:
    with database.read() as session:
        first = description(session, "select 1 as a, :n as b", n=1)
        assert [(one.name, one.type_code) for one in first] == [("a", 23), ("b", 21)]
        assert description(session, "select 2 as a, :n as b", n=2) is first
        other = description(session, "select 'x' as a, :n as b", n=1)
        assert [(one.name, one.type_code) for one in other] == [("a", 25), ("b", 21)]
        digits = description(session, "select 1::numeric(6, 2) as a")
        assert (digits[0].precision, digits[0].scale) == (6, 2)
        assert description(session, "select 1::numeric(5, 3) as a")[0].precision == 5
    with database.read() as another_session:
        assert description(another_session, "select 3 as a, :n as b", n=3) is first


def test_a_table_whose_columns_change__is_described_again(database: Database) -> None:
    with database.write() as session:
        session.execute(text("create temporary table grows (a int)"))
        assert [one.name for one in description(session, "select * from grows")] == ["a"]
        session.execute(text("alter table grows add b text"))
        assert [one.name for one in description(session, "select * from grows")] == ["a", "b"]
        session.execute(text("alter table grows rename b to c"))
        session.execute(text("alter table grows alter a type numeric"))
        assert list(session.execute(text("select * from grows")).keys()) == ["a", "c"]
        assert [one.type_code for one in description(session, "select * from grows")] == [1700, 25]
        session.rollback()


def test_what_returns_nothing__has_no_columns(database: Database) -> None:
    with database.write() as session:
        assert session.scalar(text("select 1")) == 1
        known = dict(described._known)
        for statement in ("create temporary table empty (a int)", "insert into empty values (1)"):
            assert not session.execute(text(statement)).returns_rows  # type: ignore[attr-defined]
        assert described._known == known
        session.rollback()


def test_names_without_end__are_forgotten(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(described, "MOST_KNOWN", 3)
    with database.read() as session:
        for number in range(10):
            assert session.scalar(text(f"select {number} as n{number}")) == number
            assert len(described._known) <= 3


def test_a_statement_that_is_prepared__is_described_once_too(database: Database) -> None:
    with database.read() as session:
        driver = session.connection().connection.driver_connection
        assert driver is not None
        found = []
        for number in range(3):
            cursor = driver.execute("select %s::int + 1 as a", [number], prepare=True)
            found.append((cursor.fetchall(), cursor.description))
    assert [rows for rows, _ in found] == [[(1,)], [(2,)], [(3,)]]
    assert found[0][1] is found[1][1] is found[2][1]
