"""Where things are measured: a Postgres that writes to disk, processes on it, and agents with keys."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
from sqlalchemy import make_url, text

from core.db import embedded, migrate
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Bounds, Database
from core.mandate.chain.lens import LENS
from scripts._ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
KEY: Final = "X-SVC-User-Key"
PEPPER: Final = "p" * 32
CHAIN_ID: Final = 84532
CENT, USDC = 10_000, 1_000_000
HEAP: Final = str(10**9)  # of calls, credits or registrations: never used up
UP_S: Final = 300.0  # whatever else the machine does


@contextmanager
def folder() -> Iterator[Path]:
    """The database runs under an account of its own, which looks into it."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def served(*settings: str) -> Iterator[EmbeddedPostgres]:
    """A server that writes to disk, as the service's does, unless `settings` say otherwise."""
    with folder() as path:
        server = embedded.start(path / "postgres", settings)
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def migrated(server: EmbeddedPostgres, name: str = "bench") -> Iterator[Database]:
    """A database of its own."""
    with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    url = make_url(server.url).set(database=name).render_as_string(hide_password=False)
    migrate.upgrade(url)
    database = Database(url, bounds=Bounds(trust_s=5))
    try:
        yield database
    finally:
        database.close()


@contextmanager
def a_database() -> Iterator[Database]:
    with served() as server, migrated(server) as database:
        yield database


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def begun(
    environment: Mapping[str, str], *module: str, log: Path | None = None
) -> subprocess.Popen[bytes]:
    """`python -m module`. `log`: where what it says goes; None: nowhere."""
    with Path(os.devnull if log is None else log).open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=out,
            stderr=out,
        )


@contextmanager
def running(
    port: int, environment: Mapping[str, str], *module: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The same, from when its port is listened on to the block's end."""
    process = begun(environment, *module)
    try:
        until(lambda: listens(port))
        yield process
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(condition: Callable[[], object], pause_s: float = 0.005) -> float:
    """Seconds until it holds."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > UP_S:
            raise SystemExit(f"it did not happen within {UP_S:.0f} s")
        time.sleep(pause_s)
    return time.monotonic() - began


@dataclass(frozen=True, slots=True)
class Agent:
    id: int
    key: str


@dataclass(frozen=True, slots=True)
class Place:
    """A process of the product on a database."""

    database_url: str
    port: int
    pid: int

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}{path}"
        sent = urllib.request.Request(
            url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return dict(json.load(answer))

    def agents(self, count: int) -> list[Agent]:
        made = (
            self.post("/auth/agent/connect", {"agent_name": f"bench-{n}"}) for n in range(count)
        )
        return [Agent(int(one["user_id"]), str(one["api_key"])) for one in made]

    def counted(self, table: str = "request_count", figure: str = "coalesce(sum(n), 0)") -> int:
        """Calls of all keys, as Postgres has them, or another figure of a table."""
        with psycopg.connect(self.database_url.replace("+psycopg", "")) as connection:
            row = connection.execute(f"select {figure} from {table}".encode()).fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def product(
    database_url: str,
    settings: Mapping[str, str] | None = None,
    contracts: Mapping[str, str] | None = None,
) -> Iterator[Place]:
    """Ceilings are out of the way, all else is as it comes, unless `settings` say otherwise. Without
    `contracts` no chain is ever asked.
    """
    port = free_port()
    addresses = contracts or dict.fromkeys((LENS, "factory", "usdc"), "0x" + "11" * 20)
    with folder() as path:
        record = path / "deployment.json"
        named = [{"name": name, "address": address} for name, address in addresses.items()]
        facts = {"chain_id": CHAIN_ID, "block": 0, "commit": "0" * 40, "contracts": named}
        record.write_text(json.dumps(facts))
        unlimited = (
            "DAILY_CEILING",
            "REGISTRATIONS_PER_MINUTE",
            "REGISTRATIONS_PER_DAY",
            "WELCOME_PER_ADDRESS_PER_DAY",
        )
        environment = {
            "DATABASE_URL": database_url,
            "RPC_URLS": "http://127.0.0.1:9",
            "DEPLOYMENT_FILE": str(record),
            "KEY_PEPPER": PEPPER,
            "LOG_FORMAT": "json",
            "PORT": str(port),
            **dict.fromkeys(unlimited, HEAP),
        }
        with running(port, {**environment, **(settings or {})}, "api.main") as process:
            place_ = Place(database_url, port, process.pid)
            urllib.request.urlopen(f"http://127.0.0.1:{port}/prices", timeout=60).read()
            yield place_


@contextmanager
def place(settings: Mapping[str, str] | None = None) -> Iterator[Place]:
    """The product on a database of its own."""
    with (
        served() as server,
        migrated(server) as database,
        product(url_of(database), settings) as made,
    ):
        yield made


@contextmanager
def twin(database_url: str) -> Iterator[tuple[int, int]]:
    """The plain application on a database (twin.py): its port and its process."""
    port = free_port()
    environment = {"DATABASE_URL": database_url}
    with running(port, environment, "tests.bench.twin", str(port)) as process:
        yield port, process.pid


def vacuum(database: Database, tables: str = "") -> None:
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"vacuum analyze {tables}"))


def cpu_s(pid: int) -> float:
    """Seconds that a process and its children, also those that are gone, have computed for."""
    found = 0.0
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            found += sum(process.cpu_times()[:4])
    return found


def tree(pid: int) -> list[psutil.Process]:
    """The process and everything below it, as far as it is still there."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def pss_mb(process: psutil.Process) -> float:
    """In 10^6 bytes: a page that n processes share counts 1/n in each."""
    return float(process.memory_full_info().pss / 1e6)


def peak_mb(pid: int) -> int:
    """The most memory that the process ever held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024


def percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
