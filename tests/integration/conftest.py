"""What integration tests stand on: one embedded Postgres a worker, and a fresh, migrated database a
test.

The server lives in mandate-tests/<process id>, in memory where there is room (a clone is ten times
faster), else in /tmp: its own account must be able to reach it. What a killed run left there is
stopped and removed by the next one.
"""

import functools
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import starlette.routing
from sqlalchemy import Dialect, Engine, create_engine
from sqlalchemy.util import LRUCache

from core.db import engine, migrate
from core.db.embedded import EmbeddedPostgres, start
from core.db.engine import Bounds, Database, WriteSession
from tests.integration.chain_fixtures import *  # noqa: F403 (the chain's fixtures, for every test below this folder)
from tests.integration.databases import Databases, execute, url_of
from tests.watching import AlertWatch

MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 * 1024**3
RUNS = (
    MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES else Path("/tmp")
) / "mandate-tests"
TEMPLATE = "mandate_template"

# Clients of HTTP share what they trust: to read the authorities' certificates takes 30 ms, and
# tests make thousands of clients.
trust = functools.cache(httpx.create_ssl_context)
httpx._transports.default.create_ssl_context = trust  # type: ignore[attr-defined]  # httpx's own import

# Applications share the patterns of their routes: each test of the API builds all 180.
starlette.routing.compile_path = functools.cache(starlette.routing.compile_path)

# Engines share their compiled statements, as all calls of one process do: compiling them for each
# test took a third of its time. The key of a compiled statement has its dialect, so they also share
# one dialect, which `template` has initialised.
_statements: Any = LRUCache(5_000)
_dialects: list[Dialect] = []


def _create_engine(*arguments: Any, **named: Any) -> Engine:
    created = create_engine(*arguments, **named)
    if _dialects:
        created.dialect = _dialects[0]
        created.update_execution_options(compiled_cache=_statements)
    return created


engine.create_engine = _create_engine  # type: ignore[attr-defined]  # SQLAlchemy's, imported there


@pytest.fixture(scope="session")
def runs() -> Path:
    """A folder for servers, which any account may pass; every test removes what it makes there."""
    return RUNS


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The run's server. It skips fsync: nothing in it outlives the run."""
    remove_dead_runs(RUNS)
    data_dir = RUNS / str(os.getpid())
    server = start(data_dir, durable=False)
    yield server
    server.stop()
    shutil.rmtree(data_dir)


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres) -> str:
    """The name of a migrated database that tests clone."""
    execute(postgres, "create database {}", TEMPLATE)
    url = url_of(postgres, TEMPLATE)
    migrate.upgrade(url)
    first = Database(url)
    with first.read() as session:
        session.connection()
    first.close()
    _dialects.append(first.engine.dialect)
    return TEMPLATE


@pytest.fixture
def origin(template: str) -> str:
    """The name of the database that the test's own begins as; see scenes.py for others."""
    return template


@pytest.fixture(scope="session")
def databases(postgres: EmbeddedPostgres) -> Databases:
    return Databases(postgres)


@pytest.fixture
def database_url(postgres: EmbeddedPostgres, databases: Databases, origin: str) -> Iterator[str]:
    """A migrated database of the test's own while it runs."""
    with databases.begin_as(origin) as name:
        yield url_of(postgres, name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, application_name="test", bounds=Bounds(lock_s=20))
    yield database
    database.close()


@pytest.fixture
def watch(tmp_path: Path) -> AlertWatch:
    """What a Prometheus would fire of what the test scrapes."""
    return AlertWatch(tmp_path)


@pytest.fixture
def write(database: Database) -> Iterator[WriteSession]:
    """A write session that the test commits itself when it needs to; otherwise it is rolled
    back.
    """
    with database.write_session() as session:
        yield session


def remove_dead_runs(runs: Path) -> None:
    """Stop and remove the servers of killed runs; each stands in a folder named by its process."""
    for run in runs.glob("[0-9]*"):
        if not Path(f"/proc/{run.name}").exists():
            with suppress(FileNotFoundError):  # another worker is removing it too
                EmbeddedPostgres(url="", data_dir=run).stop()
            shutil.rmtree(run, ignore_errors=True)
