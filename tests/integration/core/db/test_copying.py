"""Nothing else runs on a connection that copies: it raises at once where it would wait for ever."""

from collections.abc import Callable, Iterator
from threading import Thread

import pytest
from sqlalchemy import text

from core.db.copying import CopyingError, copy_lines
from core.db.engine import Database, WriteSession

USES: dict[str, Callable[[WriteSession], object]] = {
    "a statement": lambda session: session.execute(text("select 1")),
    "a commit": lambda session: session.commit(),
    "another copy": lambda session: copy_lines(session, "copied", ("value",), ["1"]),
}


@pytest.fixture
def copied(database: Database) -> Database:
    with database.write() as session:
        session.execute(text("create table copied (value bigint)"))
    return database


def lines(session: WriteSession, at: int, use: Callable[[WriteSession], object]) -> Iterator[str]:
    for number in range(1_000):
        if number == at:
            use(session)
        yield str(number)


@pytest.mark.parametrize("at", [0, 500])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_a_line_asks_of_the_connection__is_refused_at_once(
    copied: Database, use: Callable[[WriteSession], object], at: int
) -> None:
    said: list[str] = []

    def copy() -> None:
        try:
            with copied.write() as session:
                copy_lines(session, "copied", ("value",), lines(session, at, use))
        except CopyingError as error:
            said.append(str(error))

    copier = Thread(target=copy, daemon=True)
    copier.start()
    copier.join(30)
    assert said == [
        "the connection is copying into copied; nothing else may run on it until the COPY ends"
    ]


def test_after_a_refused_line__the_savepoint_goes_and_the_session_goes_on(copied: Database) -> None:
    with copied.write() as session:
        with pytest.raises(CopyingError), session.begin_nested():
            copy_lines(session, "copied", ("value",), lines(session, 500, USES["a statement"]))
        assert copy_lines(session, "copied", ("value",), map(str, range(1_000))) == 1_000
        assert session.scalar(text("select count(*) from copied")) == 1_000
