"""Two databases read in turn, so that what the machine does meanwhile bears on both."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import make_url

from core.db import migrate
from core.db.embedded import EmbeddedPostgres, start
from core.db.engine import Bounds, Database

ROUNDS: Final = 5
CALLS: Final = 2_000


def p99_ratio(few: Callable[[], None], many: Callable[[], None], calls: int = CALLS) -> float:
    """The 99th percentile of `many` by that of `few`: the median of rounds, each of `calls` calls to
    either, in turn.
    """
    ratios = []
    for turn in range(ROUNDS + 1):
        times: dict[Callable[[], None], list[float]] = {few: [], many: []}
        gc.collect()
        gc.disable()
        for _ in range(calls if turn else calls // 10):
            for call in (few, many):
                began = time.perf_counter()
                call()
                times[call].append(time.perf_counter() - began)
        gc.enable()
        if turn:  # the first one warms up
            in_few, in_many = (statistics.quantiles(times[call], n=100)[98] for call in (few, many))
            print(f"p99 {in_few * 1000:.2f} ms, {in_many * 1000:.2f} ms over many", flush=True)
            ratios.append(in_many / in_few)
    return round(statistics.median(ratios), 2)


@contextmanager
def migrated(server: EmbeddedPostgres, name: str) -> Iterator[Database]:
    """A database of its own."""
    with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    url = make_url(server.url).set(database=name).render_as_string(hide_password=False)
    migrate.upgrade(url)
    database = Database(url, bounds=Bounds(trust_s=5))
    try:
        yield database
    finally:
        database.close()


@contextmanager
def served() -> Iterator[EmbeddedPostgres]:
    """A server that writes to disk, as the service's does."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = start(Path(folder) / "postgres")
        try:
            yield server
        finally:
            server.stop()
