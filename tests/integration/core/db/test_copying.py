"""Rows that are copied into a table (core/db/copying.py)."""

from collections.abc import Iterator

import pytest
from psycopg.errors import InvalidTextRepresentation
from sqlalchemy import text

from core.db import copying
from core.db.copying import copy_lines
from core.db.engine import Database, WriteSession

COUNT = text("select count(*) from copied")


@pytest.fixture
def copied(database: Database) -> Database:
    with database.write() as session:
        session.execute(text("create table copied (value bigint)"))
    return database


def test_lines__may_be_made_of_what_the_session_reads(
    copied: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "LINES_A_COPY", 10)

    def lines(session: WriteSession) -> Iterator[str]:
        for _ in range(25):
            yield str(session.scalar(COUNT))

    with copied.write() as session:
        assert copy_lines(session, "copied", ("value",), lines(session)) == 25
        found = session.execute(text("select value, count(*) from copied group by 1 order by 1"))
        assert [(value, n) for value, n in found] == [(0, 10), (10, 10), (20, 5)]


def test_no_lines__write_nothing(copied: Database) -> None:
    with copied.write() as session:
        assert copy_lines(session, "copied", ("value",), ()) == 0


def test_after_a_refused_line__the_savepoint_goes_and_the_session_goes_on(copied: Database) -> None:
    with copied.write() as session:
        with pytest.raises(InvalidTextRepresentation), session.begin_nested():
            copy_lines(session, "copied", ("value",), ["1", "no number"])
        assert copy_lines(session, "copied", ("value",), map(str, range(1_000))) == 1_000
        assert session.scalar(COUNT) == 1_000
