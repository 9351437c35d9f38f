"""The embedded Postgres survives what happens to processes: a kill, a second start, a neighbour, a
long path.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import text

from core.db.embedded import EmbeddedPostgres, EmbeddedPostgresError, remove, start
from core.db.engine import Bounds, Database
from tests.integration.databases import FOR_TESTS


@pytest.fixture
def data_dir(runs: Path) -> Iterator[Path]:
    folder = runs / f"embedded-{uuid4().hex[:8]}"
    yield folder
    remove(folder)


def _connect(server: EmbeddedPostgres) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True)


@pytest.mark.slow
def test_start__after_kill_9__keeps_the_data(data_dir: Path) -> None:
    server = start(data_dir)
    with _connect(server) as connection:
        connection.execute("create table kept as select 7 as number")
        killed = server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
    again = start(data_dir)
    assert again.pid not in (None, killed)
    with _connect(again) as connection:
        assert connection.execute("select number from kept").fetchone() == (7,)


@pytest.mark.slow
def test_start__of_a_running_server__is_the_same_server(data_dir: Path) -> None:
    first = start(data_dir, FOR_TESTS)
    pid = first.pid
    assert (start(data_dir, FOR_TESTS), start(data_dir).pid) == (first, pid)


@pytest.mark.slow
def test_start__beside_another_instance__shares_nothing(
    data_dir: Path, postgres: EmbeddedPostgres
) -> None:
    server = start(data_dir, FOR_TESTS)
    assert server.pid != postgres.pid
    server.stop()
    assert server.pid is None
    assert postgres.pid is not None


def test_remove__stops_a_server_that_outlived_its_stack(data_dir: Path) -> None:
    """It would end a minute later, and take the next one's socket with it."""
    with _connect(start(data_dir, FOR_TESTS)) as connection:
        remove(data_dir)
        assert not data_dir.exists()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    remove(data_dir)  # of nothing does nothing


def test_start__whatever_a_shell_says_of_other_servers__works(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "5433")
    with _connect(start(data_dir, FOR_TESTS)) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.slow
def test_server__is_reached_from_another_process(data_dir: Path) -> None:
    server = start(data_dir, FOR_TESTS)
    program = (
        "import psycopg, sys; print(psycopg.connect(sys.argv[1]).execute('select 1').fetchone())"
    )
    arguments = [sys.executable, "-c", program, server.url.replace("+psycopg", "")]
    assert (
        subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=30).stdout
        == "(1,)\n"
    )


def test_start__with_a_path_too_long_for_a_socket__says_so(data_dir: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="too long for a socket"):
        start(data_dir / ("long" * 30))


@pytest.mark.slow
def test_start__when_the_lock_file_names_another_program__works(data_dir: Path) -> None:
    server = start(data_dir, FOR_TESTS)
    server.stop()
    (data_dir / "cluster" / "postmaster.pid").write_text(
        f"{os.getppid()}\n{data_dir / 'cluster'}\n0\n5432\n\n\n"
    )
    assert start(data_dir, FOR_TESTS).pid is not None


@pytest.mark.slow
def test_start__of_a_cluster_of_another_version__says_so(data_dir: Path) -> None:
    start(data_dir, FOR_TESTS).stop()
    (data_dir / "cluster" / "PG_VERSION").write_text("16\n")
    with pytest.raises(
        EmbeddedPostgresError, match="initialized by PostgreSQL version 16, which is not compatible"
    ):
        start(data_dir, FOR_TESTS)


def test_start__where_a_file_stands_in_the_way__says_so(data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    (data_dir / "cluster").mkdir()
    (data_dir / "cluster" / "PG_VERSION").write_text("18\n")
    with pytest.raises(EmbeddedPostgresError, match="does not start"):
        start(data_dir, FOR_TESTS)
    (data_dir / "cluster" / "PG_VERSION").unlink()


def test_database__carries_its_name_and_bounds_to_the_server(postgres: EmbeddedPostgres) -> None:
    database = Database(
        postgres.url, application_name="indexer", bounds=Bounds(statement_s=7, lock_s=3)
    )
    names = ("application_name", "statement_timeout", "lock_timeout", "timezone", "datestyle")
    with database.read() as session:
        shown = [
            session.scalar(text("select current_setting(:name)"), {"name": name}) for name in names
        ]
    database.close()
    assert shown == ["indexer", "7s", "3s", "UTC", "ISO, MDY"]
