"""What a database's revision means for the code, said by each process before it starts."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import structlog
from alembic.script import ScriptDirectory
from sqlalchemy import text
from structlog.testing import capture_logs

from core import startup
from core.db import revisions
from core.db.engine import Database
from core.db.migrate import MIGRATIONS
from core.errors import InvalidParameterError
from core.startup import require_database
from tests.slow import few

ROOT = Path(__file__).resolve().parents[4]


def test_the_numbers_of_the_files__are_the_revisions() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert revisions.known() == {one.revision for one in scripts.walk_revisions()}
    assert revisions.newest() == scripts.get_current_head()


BEHIND = {
    "drop table alembic_version": "it was never migrated: run `mandate-wallet migrate upgrade",
    "delete from alembic_version": "it was never migrated: run",
    "update alembic_version set version_num = '0003'": "it is at 0003, of before 0.1.0: bring it to 0070",
    "update alembic_version set version_num = '0070'": (
        "it is at 0070, the last migration before 0.1.0: end its processes and run `mandate-wallet migrate adopt`"
    ),
    "insert into alembic_version values ('0003')": "at once, half of a migration: restore it",
}


@pytest.mark.parametrize("statement", BEHIND)
def test_a_database_that_is_behind__is_refused(
    database: Database, database_url: str, statement: str
) -> None:
    require_database(database_url)
    with database.write() as session:
        session.execute(text(statement))
    with pytest.raises(InvalidParameterError, match="DATABASE_URL") as refused:
        require_database(database_url)
    assert BEHIND[statement] in str(refused.value)


def test_a_database_that_is_ahead__is_worked_on(database: Database, database_url: str) -> None:
    with database.write() as session:
        session.execute(text("update alembic_version set version_num = '9999'"))
    require_database(database_url)


def test_a_database_out_of_reach__is_waited_for_by_who_needs_it() -> None:
    require_database("postgresql+psycopg://nobody@127.0.0.1:1/none")


PROCESSES = [
    ["indexer.main", "run"], ["indexer.main", "scan"], ["keeper.main", "run"], ["api.worker"], ["api.main"],
]  # fmt: skip


@pytest.mark.parametrize("command", few(PROCESSES, plain=0), ids=" ".join)
def test_a_process__ends_with_the_sentence(
    database: Database, database_url: str, command: list[str]
) -> None:
    with database.write() as session:
        session.execute(text("update alembic_version set version_num = '0003'"))
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={
            "PATH": os.defpath,
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": database_url,
            "RPC_URLS": "http://127.0.0.1:1",
            "DEPLOYMENT_FILE": "/none",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    said = done.stdout.strip().splitlines()
    assert len(said) == 1
    assert "it is at 0003, of before 0.1.0: bring it to 0070" in said[0]
    assert "Traceback" not in done.stderr


@pytest.fixture
def own_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A logger that no earlier test has bound to where it wrote."""
    monkeypatch.setattr(startup, "log", structlog.get_logger("startup"))


@pytest.mark.usefixtures("own_log")
@pytest.mark.parametrize(("off_s", "says"), [(300, "300 s ahead of"), (-300, "300 s behind")])
def test_a_clock_off_by_five_minutes__is_told_at_the_start(
    database_url: str, monkeypatch: pytest.MonkeyPatch, off_s: int, says: str
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + off_s)
    with capture_logs() as told:
        require_database(database_url)
    (line,) = told
    assert (line["event"], line["log_level"]) == ("the clock is off", "error")
    assert f"This machine's clock is {says} the database's: sync both with NTP" in line["note"]


@pytest.mark.usefixtures("own_log")
def test_a_clock_that_is_right__is_not_told(database_url: str) -> None:
    with capture_logs() as told:
        require_database(database_url)
    assert told == []
