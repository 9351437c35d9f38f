"""The databases of a worker's tests. Each begins as its origin, a migrated template or a scene, and
is put back to that between two tests, which takes a tenth of a clone's time.

Laws
- What a test changed is what the server counted: rows per table, files of tables, ends of sequences. A backend hands
  in its counts when it ends, so all of a test's connections are ended first.
- What counts cannot put back is dropped, and the next test gets a clone: changed definitions, rights
  or settings, and a server that has restarted since.
- One connection a database stays open for that: it knows the tables already.
- Dead rows are left behind; after REUSED tests, or one that wrote more than DEAD_ROWS, a clone begins anew.
"""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Bounds, Database

FOR_TESTS = (  # no disk is waited for, and nothing works beside what a test asks for
    "fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal",
    "max_wal_senders=0", "autovacuum=off", "jit=off", "shared_buffers=24MB",
)  # fmt: skip
REUSED = 100
DEAD_ROWS = 5_000  # what a test may leave behind: plans and times of the next ones depend on it
ENDS_WITHIN_S = 5.0
# Of the catalogues' rows a test may change only what TRUNCATE does: the file of a table.
STATE = """
select c.oid, c.relkind, c.oid::regclass::text, pg_relation_filenode(c.oid),
       case c.relkind when 'S' then coalesce(pg_sequence_last_value(c.oid), s.seqstart - s.seqincrement)
            else pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
               + pg_stat_get_tuples_deleted(c.oid) end
from pg_class c left join pg_sequence s on s.seqrelid = c.oid
where c.relkind in ('r', 'S')
  and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
"""
OF_THESE = f"{STATE} and c.oid = any(%s)"
DEFINITIONS = """
select pg_postmaster_start_time()::text,
       (select sum(pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_deleted(oid)
                   + case when relname in ('pg_class', 'pg_statistic') then 0 else pg_stat_get_tuples_updated(oid) end)
        from pg_class where relkind = 'r' and relnamespace = 'pg_catalog'::regnamespace and not relisshared),
       (select md5(string_agg(concat(relacl, relowner, reloptions, relpersistence), ',' order by oid))
        from pg_class where relnamespace <> 'pg_catalog'::regnamespace),
       (select count(*) from pg_db_role_setting
        where setdatabase = (select oid from pg_database where datname = current_database()))
"""
END_OTHERS = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""


_count = itertools.count(1)


@dataclass
class Kept:
    """A database that tests share one after the other. `open`: connects anew in each test, and keeps
    what it compiled. `own`: what puts it back. `rows`: what its origin holds, as COPY writes it.
    """

    name: str
    open: Database
    own: psycopg.Connection[Any]
    rows: dict[int, bytes] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    files: dict[int, int] = field(default_factory=dict)
    definitions: tuple[Any, ...] = ()
    uses: int = 0


def clone(postgres: EmbeddedPostgres, origin: str) -> str:
    """The name of a new database, equal to `origin`, to which nobody is connected."""
    name = f"test_{next(_count)}"
    execute(postgres, "create database {} template {} strategy file_copy", name, origin)
    return name


def url_of(postgres: EmbeddedPostgres, name: str) -> str:
    return make_url(postgres.url).set(database=name).render_as_string(hide_password=False)


def execute(postgres: EmbeddedPostgres, statement: str, *names: str) -> None:
    """Run one statement outside a transaction; `names` are quoted into its braces."""
    with _connected(postgres) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _connected(postgres: EmbeddedPostgres, name: str | None = None) -> psycopg.Connection[Any]:
    url = make_url(postgres.url).set(drivername="postgresql")
    url = url if name is None else url.set(database=name)
    return psycopg.connect(
        url.render_as_string(hide_password=False), autocommit=True, prepare_threshold=0
    )


class Databases:
    """Databases on one server, by origin."""

    def __init__(self, postgres: EmbeddedPostgres) -> None:
        self._postgres = postgres
        self._free: dict[str, list[Kept]] = {}

    @contextmanager
    def begin_as(self, origin: str) -> Iterator[Kept]:
        """A database that equals `origin`, for one test."""
        free = self._free.setdefault(origin, [])
        kept = free.pop() if free else self._made(origin)
        kept.uses += 1
        try:
            yield kept
        finally:
            kept.open.close()
            if kept.uses < REUSED and self._put_back(kept):
                free.append(kept)
            else:
                kept.own.close()
                execute(self._postgres, "drop database {} with (force)", kept.name)

    def close(self) -> None:
        """No test uses one any more."""
        for kept in itertools.chain.from_iterable(self._free.values()):
            kept.own.close()

    def _made(self, origin: str) -> Kept:
        name = clone(self._postgres, origin)
        url = url_of(self._postgres, name)
        opened = Database(url, application_name="test", bounds=Bounds(lock_s=20))
        kept = Kept(name, opened, _connected(self._postgres, name))
        for table, kind, named, file, count in kept.own.execute(STATE).fetchall():
            kept.counts[table], kept.files[table] = count, file
            if kind == "r":
                with kept.own.cursor().copy(f"copy {named} to stdout (format binary)") as copy:
                    kept.rows[table] = b"".join(bytes(part) for part in copy)
        kept.definitions = _definitions(kept.own)
        return kept

    def _put_back(self, kept: Kept) -> bool:
        """Whether the database equals its origin again."""
        try:
            return _others_have_ended(kept.own) and _put_back(kept.own, kept)
        except psycopg.Error:  # its server is gone, or takes no connection to it
            return False


def _others_have_ended(connection: psycopg.Connection[Any]) -> bool:
    ends = time.monotonic() + ENDS_WITHIN_S
    while connection.execute(END_OTHERS).fetchone() != (0,):
        if time.monotonic() > ends:
            return False
        time.sleep(0.001)
    return True


def _put_back(connection: psycopg.Connection[Any], kept: Kept) -> bool:
    if _definitions(connection) != kept.definitions:
        return False
    state = connection.execute(STATE).fetchall()
    changed = [
        (one, kind, name)
        for one, kind, name, file, count in state
        if count != kept.counts.get(one) or (kind == "r" and file != kept.files.get(one))
    ]
    written = sum(count - kept.counts[one] for one, kind, _, _, count in state if kind == "r")
    if written > DEAD_ROWS:
        return False
    with connection.transaction():
        # neither foreign keys nor the ledgers' own guards look at what is put back
        connection.execute("set local session_replication_role = replica")
        for one, kind, name in changed:
            if kind == "S":
                connection.execute("select setval(%s, %s + 1, false)", (one, kept.counts[one]))
            else:
                connection.execute(f"delete from {name}")
                _fill(connection, name, kept.rows[one])
    connection.execute("select pg_stat_force_next_flush()")
    putting_back = connection.execute(OF_THESE, ([one for one, kind, _ in changed if kind == "r"],))
    for one, _, _, file, count in putting_back.fetchall():  # it was counted too
        kept.files[one], kept.counts[one] = file, count
    return True


def _fill(connection: psycopg.Connection[Any], table: str, rows: bytes) -> None:
    with connection.cursor().copy(f"copy {table} from stdin (format binary)") as copy:
        copy.write(rows)


def _definitions(connection: psycopg.Connection[Any]) -> tuple[Any, ...]:
    found: tuple[Any, ...] | None = connection.execute(DEFINITIONS).fetchone()
    assert found is not None
    return found
