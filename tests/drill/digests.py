"""What stands in a database, table by table: how many rows, and a digest of them all.

Laws
- A digest does not depend on the order of rows: it is two sums of 64 bits of each row's MD5.
- While the tables are frozen nobody writes them, and everybody reads: what had been committed is
  counted, what waits comes after. Waiting is short, and ours always gives up first.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, create_engine, pool, text
from sqlalchemy.exc import OperationalError

from api.tables import import_tables
from core.db.base import Base
from tests.append_only import append_only

LOCK_MS = 400  # shorter than Postgres's search for a deadlock: no writer is ever the one to give up
TRIES = 100
HEARTBEATS = "leader"


@dataclass(frozen=True, slots=True)
class TableDigest:
    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class TablesStanding:
    """What stood at `at`, a time after the last commit that counts and before the next one."""

    at: datetime
    lsn: str
    tables: dict[str, TableDigest]


def all_tables() -> list[str]:
    """Of every context and area, but for the heartbeats: those are of processes and not of the record."""
    import_tables()
    return sorted(set(Base.metadata.tables) - {HEARTBEATS})


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = create_engine(
        url,
        poolclass=pool.NullPool,
        connect_args={"application_name": "drill", "options": "-c timezone=UTC"},
    )
    with engine.connect() as connection:
        yield connection


def append_only_of(found: dict[str, TableDigest]) -> dict[str, TableDigest]:
    kept = append_only()
    return {name: one for name, one in found.items() if name in kept}


def frozen_standing(url: str, tables: Sequence[str]) -> TablesStanding:
    """Hold all writers for a moment, and look. Errors: OperationalError when they never let go."""
    for left in reversed(range(TRIES)):
        try:
            with connected(url) as connection:
                return _standing(connection, tables)
        except OperationalError:
            if not left:
                raise
            time.sleep(0.1)  # a writer is at work: it goes first
    raise AssertionError("unreachable")


def _standing(connection: Connection, tables: Sequence[str]) -> TablesStanding:
    connection.execute(text(f"set local lock_timeout = {LOCK_MS}"))
    names = ", ".join(f'"{name}"' for name in tables)
    connection.execute(text(f"lock table {names} in share mode"))
    found = digests(connection, tables)
    at, lsn = connection.execute(
        text("select clock_timestamp(), pg_current_wal_insert_lsn()::text")
    ).one()
    return TablesStanding(at, lsn, found)


def digests(connection: Connection, tables: Sequence[str]) -> dict[str, TableDigest]:
    return {name: _digest(connection, name) for name in tables}


def _digest(connection: Connection, table: str) -> TableDigest:
    """Of a table, with all its partitions."""
    half = "sum(('x' || substr(md5(row::text), {at}, 16))::bit(64)::bigint::numeric)"
    rows, first, second = connection.execute(
        text(f'select count(*), {half.format(at=1)}, {half.format(at=17)} from "{table}" as row')
    ).one()
    return TableDigest(rows, f"{first or 0}:{second or 0}")


def differing(one: dict[str, TableDigest], other: dict[str, TableDigest]) -> list[str]:
    """A sentence for each table that is not the same in both."""
    return [
        f"{name}: {one[name].rows} rows, and {other[name].rows}"
        if one[name].rows != other[name].rows
        else f"{name}: {one[name].rows} rows in both, and their content differs"
        for name in sorted(one)
        if one[name] != other[name]
    ]
