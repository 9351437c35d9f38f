"""What those who follow a mandate cost: `make bench-events`. The last line is one JSON object.

    product   1,000 streams of the real process, on 1,000 mandates of one owner and on one mandate
    plain     1,000 streams of a Starlette answer that sleeps, under plain uvicorn: the bound

Of both: memory (proportional set size) and threads before and with all streams open, and CPU while nothing happens. Of
the product: from a commit to the last of those who follow that mandate. Figures are shown, not judged.
"""

import asyncio
import json
import os
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx

from api.kernel.tokens import token_hash
from core.db import embedded, migrate
from core.db.engine import Database
from core.identity import queries as identity
from core.mandate.chain.lens import LENS
from core.mandate.ledger import writer as mandate_ledger
from scripts._ports import free_port
from tests.bench import asleep
from tests.integration.core.rows import add_account, add_mandate, note

ROOT = Path(__file__).resolve().parents[2]
STREAMS, FILES = 1_000, 8_192
QUIET_S = 30.0  # two heartbeats
ROUNDS = 20
UP_S = 180.0
PEPPER = "p" * 32
TOKEN = "own_" + secrets.token_hex(32)


# One process, measured from outside


class Process:
    def __init__(self, pid: int) -> None:
        self._folder = Path("/proc") / str(pid)

    def memory_mib(self) -> float:
        rollup = (self._folder / "smaps_rollup").read_text()
        pss = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
        return int(pss.split()[1]) / 1024

    def threads(self) -> int:
        return len(list((self._folder / "task").iterdir()))

    def cpu_s(self) -> float:
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(arguments: list[str], port: int, path: str, more: Mapping[str, str]) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=os.environ | dict(more),
        stdout=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + UP_S
        while True:
            try:
                with httpx.stream("GET", f"http://127.0.0.1:{port}{path}", timeout=2):
                    break
            except httpx.HTTPError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(15)


# Those who follow


class Listeners:
    """Sockets that read; `heard` counts the rows that each was told."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.heard: list[int] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, path: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        writer.write(head.encode())
        status = await reader.readline()
        assert status.split()[1] == b"200", status
        while b"retry" not in await reader.readline():
            pass
        number = len(self.heard)
        self.heard.append(0)
        self._writers.append(writer)
        self._tasks.append(asyncio.ensure_future(self._read(reader, number)))

    async def _read(self, reader: asyncio.StreamReader, number: int) -> None:
        while line := await reader.readline():
            if line.startswith(b"event: step"):
                self.heard[number] += 1

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def cost_of(process: Process, listeners: Listeners, paths: list[str]) -> dict[str, float]:
    await listeners.open(paths[0])  # what the first one begins is no listener's
    await asyncio.sleep(1)
    memory, threads = process.memory_mib(), process.threads()
    for path in paths[1:]:
        await listeners.open(path)
    await asyncio.sleep(3)
    used = process.cpu_s()
    await asyncio.sleep(QUIET_S)
    return {
        "mib_more": round(process.memory_mib() - memory, 1),
        "threads_more": process.threads() - threads,
        "cpu_percent_while_quiet": round((process.cpu_s() - used) / QUIET_S * 100, 2),
    }


# The service's world


def people(database: Database) -> tuple[list[tuple[int, str]], datetime]:
    """An owner with a session, and as many mandates as streams, (id, public id) each."""
    now = datetime.now(UTC)
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    with database.write() as session:
        owner_id = add_account(session)
        account = identity.find_account(session, owner_id)
        assert account is not None
        account.wallet_address = bytes.fromhex("22" * 20)
        hashed = token_hash(PEPPER.encode(), TOKEN)
        identity.add_session(session, "owner", owner_id, hashed, now, now + timedelta(hours=5))
        made = []
        for number in range(STREAMS):
            public_id = "m_aaaaaaa" + "".join(letters[number >> shift & 31] for shift in (10, 5, 0))
            made.append((add_mandate(session, public_id, owner_id=owner_id), public_id))
            mandate_ledger.append(session, made[-1][0], note(0), now)
    return made, now


async def told_ms(database: Database, mandate_id: int, listeners: Listeners) -> list[float]:
    """From each commit to the last of those who follow."""
    times = []
    for number in range(1, ROUNDS + 1):
        before = sum(listeners.heard)
        with database.write() as session:
            mandate_ledger.append(session, mandate_id, note(number), datetime.now(UTC))
        begun = time.perf_counter()
        while sum(listeners.heard) < before + len(listeners.heard):
            assert time.perf_counter() - begun < 30, "a row was not told"
            await asyncio.sleep(0.001)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def environment(folder: Path, url: str, port: int) -> dict[str, str]:
    record = folder / "deployment.json"
    lens = {"name": LENS, "address": "0x" + "11" * 20}
    facts = {"chain_id": 84532, "block": 1, "commit": "", "contracts": [lens]}
    record.write_text(json.dumps(facts))
    return {
        "DATABASE_URL": url,
        "RPC_URLS": "http://127.0.0.1:1",
        "DEPLOYMENT_FILE": str(record),
        "PORT": str(port),
        "KEY_PEPPER": PEPPER,
        "LOG_FORMAT": "json",
        "EVENT_STREAMS": str(2 * STREAMS),
        "EVENT_STREAMS_PER_CALLER": str(STREAMS),
    }


async def _of_plain() -> dict[str, float]:
    port = free_port()
    with running(["tests.bench.asleep", str(port)], port, asleep.PATH, {}) as pid:
        listeners = Listeners(port)
        try:
            return await cost_of(Process(pid), listeners, [asleep.PATH] * STREAMS)
        finally:
            await listeners.close()


async def _of_product(folder: Path, url: str) -> dict[str, Any]:
    database, port = Database(url), free_port()
    mandates, _ = people(database)
    more = environment(folder, url, port)
    with running(["api.main"], port, "/health/live", more) as pid:
        each, one = Listeners(port), Listeners(port)
        try:
            paths = [f"/mandate-wallet/mandates/{name}/events" for _, name in mandates]
            found: dict[str, Any] = await cost_of(Process(pid), each, paths)
            await each.close()
            await asyncio.sleep(2)
            for _ in range(STREAMS):
                await one.open(paths[0])
            times = await told_ms(database, mandates[0][0], one)
        finally:
            await each.close()
            await one.close()
            database.close()
    return found | {
        "told_1000_ms_median": round(statistics.median(times), 1),
        "told_1000_ms_worst": round(max(times), 1),
    }


def measure() -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    folder = Path(mkdtemp(prefix="bench-events-", dir="/tmp"))
    folder.chmod(0o755)  # the database runs under an account of its own
    server = embedded.start(folder / "postgres")
    try:
        migrate.upgrade(server.url)
        figures = {
            "plain": asyncio.run(_of_plain()),
            "product": asyncio.run(_of_product(folder, server.url)),
        }
    finally:
        server.stop()
        shutil.rmtree(folder)
    for name, found in figures.items():
        print(f"{STREAMS} streams, {name}: {found}")
    return {"events": figures}


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
