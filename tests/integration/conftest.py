"""What integration tests stand on: one embedded Postgres a worker, and a fresh, migrated database a
test.

The server lives in mandate-tests-<user id>/<process id>, in memory where there is room (a clone is ten times
faster), else in /tmp: its own account must be able to reach it. What a killed run left there is
stopped and removed by the next one.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import certifi
import pytest

from api.tables import import_tables
from core.db import migrate
from core.db.embedded import EmbeddedPostgres, remove, start
from core.db.engine import Database, WriteSession
from tests.integration.chain_fixtures import *  # noqa: F403 (the chain's fixtures, for every test below this folder)
from tests.integration.databases import FOR_TESTS, Databases, Kept, execute, url_of
from tests.integration.scenes import Scenes
from tests.watching import AlertWatch

import_tables()  # tests write rows of any table, and name them as parameters

MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 * 1024**3
RUNS = (
    MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES else Path("/tmp")
) / f"mandate-tests-{os.getuid()}"  # an account cannot write into another's
TEMPLATE = "mandate_template"
ENDS = "-----END CERTIFICATE-----\n"


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What clients of HTTP trust: each reads its authorities, all of them in 40 ms, and tests make
    thousands of clients, none of which leaves the machine.
    """
    authorities = Path(certifi.where()).read_text()
    file = tmp_path_factory.mktemp("trusted") / "authority.pem"
    file.write_text(authorities[: authorities.index(ENDS) + len(ENDS)])
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session")
def runs() -> Path:
    """A folder for servers, which any account may pass; every test removes what it makes there."""
    return RUNS


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The run's server. It skips fsync: nothing in it outlives the run."""
    remove_dead_runs(RUNS)
    data_dir = RUNS / str(os.getpid())
    remove(data_dir)  # of a killed run whose number this process has
    server = start(data_dir, FOR_TESTS)
    yield server
    remove(data_dir)


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres) -> str:
    """The name of a migrated database that tests clone."""
    execute(postgres, "create database {}", TEMPLATE)
    migrate.upgrade(url_of(postgres, TEMPLATE))
    return TEMPLATE


@pytest.fixture
def origin(template: str) -> str:
    """The name of the database that the test's own begins as; see scenes.py for others."""
    return template


@pytest.fixture(scope="session")
def scenes(postgres: EmbeddedPostgres) -> Scenes:
    return Scenes(postgres)


@pytest.fixture(scope="session")
def databases(postgres: EmbeddedPostgres) -> Iterator[Databases]:
    databases = Databases(postgres)
    yield databases
    databases.close()


@pytest.fixture
def kept_database(databases: Databases, origin: str) -> Iterator[Kept]:
    with databases.begin_as(origin) as kept:
        yield kept


@pytest.fixture
def database_url(postgres: EmbeddedPostgres, kept_database: Kept) -> str:
    """A migrated database of the test's own while it runs."""
    return url_of(postgres, kept_database.name)


@pytest.fixture
def database(kept_database: Kept) -> Database:
    return kept_database.open


@pytest.fixture
def watch(tmp_path: Path) -> AlertWatch:
    """What a Prometheus would fire of what the test scrapes."""
    return AlertWatch(tmp_path)


@pytest.fixture
def write(database: Database) -> Iterator[WriteSession]:
    """A write session that the test commits itself when it needs to; otherwise it is rolled
    back.
    """
    with WriteSession(database.engine, expire_on_commit=False) as session:
        yield session


def remove_dead_runs(runs: Path) -> None:
    """Stop and remove the servers of killed runs; each stands in a folder named by its process."""
    for run in runs.glob("[0-9]*"):
        if not Path(f"/proc/{run.name}").exists():
            with suppress(FileNotFoundError):  # another worker is removing it too
                remove(run)
