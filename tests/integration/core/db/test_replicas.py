"""Reads that may go to a replica, where there is none that may be used: the primary answers. Real
replicas: tests/cluster.
"""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from core.db.engine import Database, ReadSession
from core.db.replicas import ReplicaPlace

GONE = "postgresql+psycopg://nobody@127.0.0.1:1/none"
Opened = Callable[[str], Database]


@pytest.fixture
def opened(database_url: str) -> Iterator[Opened]:
    made: list[Database] = []

    def open_(replica_url: str) -> Database:
        made.append(Database(database_url, replica=ReplicaPlace(replica_url, 0.01, 30)))
        return made[-1]

    yield open_
    for database in made:
        database.close()


def who_answers(session: ReadSession) -> int:
    return int(session.execute(text("select pg_backend_pid()")).scalar_one())


def test_a_replica_that_is_gone__costs_no_read(opened: Opened) -> None:
    database = opened(GONE)
    assert database.reading(who_answers) > 0
    assert database.replicas is not None
    assert database.replicas.lag_s() is None


def test_a_promoted_server__is_no_replica(opened: Opened, database_url: str) -> None:
    database = opened(database_url)
    assert database.replicas is not None
    assert database.replicas.lend() is None
    assert database.reading(who_answers) > 0


class Stub:
    """Lends any server as if it had all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.lent = 0

    def lend(self) -> Connection | None:
        self.lent += 1
        return self._database.direct.connect()


@pytest.fixture
def lending(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Database:
    database = opened(GONE)
    monkeypatch.setattr(database, "replicas", Stub(database))
    return database


def test_a_replica_that_goes_away_in_the_middle__is_replaced_by_the_primary(
    lending: Database, database: Database
) -> None:
    asked: list[int] = []

    def work(session: ReadSession) -> int:
        asked.append(who_answers(session))
        if len(asked) == 1:
            with database.write() as other:
                other.execute(text("select pg_terminate_backend(:pid, 5000)"), {"pid": asked[0]})
        return who_answers(session)

    answered = lending.reading(work)
    assert len(asked) == 2
    assert answered == asked[1] != asked[0]


def test_an_error_of_the_work_itself__is_raised_by_the_primary_too(lending: Database) -> None:
    with pytest.raises(DBAPIError):
        lending.reading(lambda session: session.execute(text("select 1 / 0")).scalar_one())


def test_a_read_of_a_replica__is_a_snapshot_that_refuses_writes(lending: Database) -> None:
    def isolation(session: ReadSession) -> tuple[str, str]:
        row = session.execute(
            text(
                "select current_setting('transaction_isolation'), current_setting('transaction_read_only')"
            )
        ).one()
        return row[0], row[1]

    assert lending.reading(isolation) == ("repeatable read", "on")


def test_a_read_that_asks_nothing__takes_no_connection(lending: Database) -> None:
    assert lending.reading(lambda session: 7) == 7
    assert isinstance(lending.replicas, Stub)
    assert lending.replicas.lent == 0


def test_a_connection_that_was_lent__comes_back_as_it_was(lending: Database) -> None:
    for _ in range(30):  # more than the pool has
        lending.reading(who_answers)
    with lending.write() as session:
        session.execute(text("create temp table kept (id int) on commit drop"))
