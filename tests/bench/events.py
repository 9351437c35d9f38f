"""What those who follow a mandate cost: `make bench-events`. The last line is one JSON object.

    product   1,000 streams of the real process, on 1,000 mandates of one owner and on one mandate
    plain     1,000 streams of an answer that sleeps, under plain uvicorn (twin.py): the bound

Of both: memory (proportional set size) and threads before and with all streams open, and CPU while nothing happens. Of
the product: from a commit to the last of those who follow that mandate. Figures are shown, not judged.
"""

import asyncio
import json
import resource
import statistics
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import psutil

from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from tests.bench.load import request
from tests.bench.mandates import add_mandates, note, owner_session
from tests.bench.place import (
    Place,
    a_database,
    cpu_s,
    product,
    pss_mb,
    twin,
    url_of,
)

STREAMS, FILES = 1_000, 8_192
QUIET_S = 30.0  # two heartbeats
ROUNDS = 20


# Those who follow


class Listeners:
    """Sockets that read; `heard` counts the rows that each was told."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._port, self._headers = port, headers
        self.heard: list[int] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, path: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(request("GET", path, self._headers).encode())
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


async def cost_of(pid: int, listeners: Listeners, paths: list[str]) -> dict[str, float]:
    process = psutil.Process(pid)
    await listeners.open(paths[0])  # what the first one begins is no listener's
    await asyncio.sleep(1)
    memory, threads = pss_mb(process), process.num_threads()
    for path in paths[1:]:
        await listeners.open(path)
    await asyncio.sleep(3)
    used = cpu_s(pid)
    await asyncio.sleep(QUIET_S)
    return {
        "mb_more": round(pss_mb(process) - memory, 1),
        "threads_more": process.num_threads() - threads,
        "cpu_percent_while_quiet": round((cpu_s(pid) - used) / QUIET_S * 100, 2),
    }


async def told_ms(database: Database, mandate_id: int, listeners: Listeners) -> list[float]:
    """From each commit to the last of those who follow."""
    times = []
    for number in range(1, ROUNDS + 1):
        before = sum(listeners.heard)
        with database.write() as session:
            now = datetime.now(UTC)
            mandate_ledger.append(session, mandate_id, note(number, now), now)
        begun = time.perf_counter()
        while sum(listeners.heard) < before + len(listeners.heard):
            assert time.perf_counter() - begun < 30, "a row was not told"
            await asyncio.sleep(0.001)
        times.append((time.perf_counter() - begun) * 1000)
    return times


async def _of_plain(port: int, pid: int) -> dict[str, float]:
    listeners = Listeners(port, {})
    try:
        return await cost_of(pid, listeners, ["/asleep"] * STREAMS)
    finally:
        await listeners.close()


async def _of_product(database: Database, where: Place) -> dict[str, Any]:
    mandates, owner_id = add_mandates(database, where.agents(1)[0].id, STREAMS)
    session = owner_session(database, owner_id)
    each, one = Listeners(where.port, session), Listeners(where.port, session)
    paths = [f"/mandate-wallet/mandates/{mandate.public_id}/events" for mandate in mandates]
    try:
        found: dict[str, Any] = await cost_of(where.pid, each, paths)
        await each.close()
        await asyncio.sleep(2)
        for _ in range(STREAMS):
            await one.open(paths[0])
        times = await told_ms(database, mandates[0].id, one)
    finally:
        await each.close()
        await one.close()
    return found | {
        "told_1000_ms_median": round(statistics.median(times), 1),
        "told_1000_ms_worst": round(max(times), 1),
    }


def measure() -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    settings = {"EVENT_STREAMS": str(2 * STREAMS), "EVENT_STREAMS_PER_CALLER": str(STREAMS)}
    with (
        a_database() as database,
        product(url_of(database), settings) as where,
        twin(url_of(database)) as plain,
    ):
        figures = {
            "plain": asyncio.run(_of_plain(*plain)),
            "product": asyncio.run(_of_product(database, where)),
        }
    for name, found in figures.items():
        print(f"{STREAMS} streams, {name}: {found}")
    return {"events": figures}


if __name__ == "__main__":
    print(json.dumps(measure()))
