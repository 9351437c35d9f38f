"""A database that takes no writes or lends no connection: one error, told once a state, waited for."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest
import structlog
from sqlalchemy import text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InternalError, OperationalError

from api.tables import import_tables
from core.db import migrate
from core.db.copying import copy_lines
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership
from core.db.outage import SAID, OutageError, OutageKind
from core.health import views
from core.logs import configure_logs
from core.market.copying import copy_columns, integers
from tests.each import each
from tests.integration.core.rows import add_account

NOW = datetime(2026, 11, 29, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_was_said() -> Iterator[None]:
    SAID.end()
    yield
    SAID.end()


def set_read_only(database: Database, value: str) -> None:
    """As a hosted one is set when its disk is nearly full: sessions that are open know it too."""
    name = database.engine.url.database
    with database.engine.connect() as connection:
        connection.exec_driver_sql("set transaction read write")
        connection.exec_driver_sql(
            f'alter database "{name}" set default_transaction_read_only = {value}'
        )
        connection.commit()
    database.engine.dispose()


def write(database: Database) -> None:
    with database.write() as session:
        add_account(session, "agent")


def lone(url: str) -> Database:
    return Database(url, bounds=Bounds(pool_size=1, overflow=0, pool_wait_s=1))


def test_a_read_only_database__is_one_outage__and_told_once(database: Database) -> None:
    set_read_only(database, "on")
    with structlog.testing.capture_logs() as told:
        for _ in range(3):
            with pytest.raises(OutageError, match="it is read-only"):
                write(database)
        with database.read() as session:
            assert views.outage(session) is OutageKind.READ_ONLY
        set_read_only(database, "off")
        write(database)
        write(database)
    assert [(one["event"], one.get("state") or one.get("was")) for one in told] == [
        ("waiting for the database", "read-only"),
        ("the database works again", "read-only"),
    ]
    with database.read() as session:
        assert views.outage(session) is None


def test_an_outage__is_over_with_a_statement_that_wrote_by_itself(database: Database) -> None:
    """As calls are counted: a process of reads with keys alone said a second outage no more."""
    row = "insert into account (kind, name, created_at) values ('agent', 'a', now())"
    SAID.meet(OutageKind.READ_ONLY)
    with database.statements() as connection:
        connection.exec_driver_sql("select 1")
    assert SAID.is_out
    with database.statements() as connection:
        connection.exec_driver_sql(row)
    assert not SAID.is_out
    with database.statements() as connection:
        assert connection.exec_driver_sql("select count(*) from account").scalar() == 1


def test_a_full_disk__is_an_outage_that_health_names(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = text(
        "do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$"
    )
    with pytest.raises(OutageError, match="its disk is full"), database.write() as session:
        session.execute(full)
    with database.read() as session:
        assert views.outage(session) is OutageKind.FULL
        later = time.monotonic() + views.OUTAGE_IS_NEWS_S + 1
        monkeypatch.setattr("core.db.outage.time.monotonic", lambda: later)
        assert views.outage(session) is None  # of then, which nobody met since


def test_rows_that_are_copied__meet_the_same_outage(database: Database) -> None:
    """COPY runs past SQLAlchemy, whose errors nobody but it names."""
    with database.write() as session:
        session.execute(text("create table copied (a int)"))
    set_read_only(database, "on")
    with pytest.raises(OutageError, match="it is read-only"), database.write() as session:
        copy_lines(session, "copied", ["a"], ["1"])
    with pytest.raises(OutageError, match="it is read-only"), database.pinned() as session:
        copy_columns(session, "copied", {"a": integers(np.array([1]), bits=32)})
    set_read_only(database, "off")
    with pytest.raises(DataError), database.write() as session:
        copy_lines(session, "copied", ["a"], ["no number"])


def test_no_connection_that_is_free__is_an_outage(database_url: str) -> None:
    database = lone(database_url)
    with database.read() as session:
        session.execute(text("select 1"))
        with pytest.raises(OutageError, match="no free connection"):
            write(database)
        with pytest.raises(OperationalError, match="no free connection"), database.statements():
            pass
    write(database)
    assert not SAID.is_out
    database.close()


def test_a_server_without_a_free_connection__is_an_outage(
    database: Database, database_url: str
) -> None:
    name = database.engine.url.database
    with database.write() as session:
        session.execute(text("create role crowded login"))
        session.execute(text(f'grant connect on database "{name}" to crowded'))
        session.execute(text("alter role crowded connection limit 0"))
    other = Database(str(database.engine.url.set(username="crowded")))
    try:
        with pytest.raises(OutageError, match="no free connection"), other.read() as session:
            session.execute(text("select 1"))
    finally:
        other.close()
        with database.write() as session:
            session.execute(text("drop owned by crowded"))
            session.execute(text("drop role crowded"))


@each("words", ["too many clients", "remaining connection slots", "no more connections allowed"])
def test_words_of_an_outage_in_a_callers_text__are_no_outage(
    database: Database, words: str
) -> None:
    """A server's error repeats the row that it refuses, with what a caller wrote in it."""
    with database.write() as session:
        session.execute(text("drop table if exists told"))
        session.execute(text("create table told (words text unique, size int check (size > 0))"))
        session.execute(text("insert into told values (:words, 1)"), {"words": words})
    for size in (1, 0):
        with pytest.raises(IntegrityError, match=words), database.write() as session:
            session.execute(
                text("insert into told values (:words, :size)"), {"words": words, "size": size}
            )
    with pytest.raises(DataError, match=words), database.write() as session:
        session.execute(text("select cast(:words as int)"), {"words": words})
    assert not SAID.is_out


def test_a_reader_that_writes__is_a_defect_and_no_outage(database: Database) -> None:
    with pytest.raises(InternalError) as refused, database.read() as session:
        session.execute(text("create table written (a int)"))
    assert not isinstance(refused.value, OutageError)
    assert not SAID.is_out


def test_an_empty_transaction__says_nothing_of_writes(database: Database) -> None:
    set_read_only(database, "on")
    with pytest.raises(DBAPIError):
        write(database)
    with database.write() as session:
        session.execute(text("select 1"))
    assert SAID.is_out
    set_read_only(database, "off")


def test_a_leader__keeps_its_lead_while_nobody_can_write(
    database: Database, database_url: str
) -> None:
    leadership = Leadership(database_url, "outage", "here")
    assert leadership.try_take(NOW)
    with database.write() as session:
        # its own session, as a reload of the server's configuration would reach it
        session.execute(text("select 1"))
    assert leadership._connection is not None
    leadership._connection.exec_driver_sql("set default_transaction_read_only = on")
    leadership.beat({"state": "working"})
    assert leadership.leads and leadership.epoch == 1
    leadership._connection.exec_driver_sql("set default_transaction_read_only = off")
    leadership.beat({"state": "working"})
    assert leadership.epoch == 1 and not SAID.is_out
    leadership.release()


def test_nobody_leads_a_database_that_takes_no_writes__and_it_is_tried_again(
    database: Database, database_url: str
) -> None:
    set_read_only(database, "on")
    leadership = Leadership(database_url, "outage", "here")
    for _ in range(2):
        with pytest.raises(OutageError):
            leadership.try_take(NOW)
    set_read_only(database, "off")
    assert leadership.try_take(NOW)
    leadership.release()


def test_migrate__names_what_is_wrong(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with database.write() as session:
        session.execute(text("delete from alembic_version"))
    set_read_only(database, "on")
    assert migrate.main(["upgrade", database_url], import_tables) == 1
    said = capsys.readouterr().err
    set_read_only(database, "off")
    assert said.startswith("The database is unavailable: it is read-only")
    assert "Traceback" not in said


def test_who_meets_an_outage__logs_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    logs = structlog.get_config()
    try:
        configure_logs("json")
        for error in (OutageError(OutageKind.FULL, ValueError()), ValueError()):
            try:
                raise error
            except (OutageError, ValueError) as raised:
                structlog.get_logger("keeper").error("tick failed", kind=type(raised).__name__)
        said = capsys.readouterr().out
    finally:
        structlog.configure(**logs)
    assert said.count("tick failed") == 1 and "ValueError" in said
