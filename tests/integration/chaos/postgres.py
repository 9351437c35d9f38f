"""A Postgres that may be crashed: apart from the other tests' server, and with commits that survive
a crash.
"""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from core.db import migrate
from core.db.embedded import EmbeddedPostgres, start
from tests.integration.conftest import RUNS, remove_dead_runs

TEMPLATE = "chaos_template"

_count = itertools.count(1)


def dsn_of(server: EmbeddedPostgres, name: str) -> str:
    """psycopg's form of the address of one of the server's databases."""
    return (
        make_url(server.url)
        .set(drivername="postgresql", database=name)
        .render_as_string(hide_password=False)
    )


def url_of(server: EmbeddedPostgres, name: str) -> str:
    return make_url(server.url).set(database=name).render_as_string(hide_password=False)


@contextmanager
def crashable_server(suite: str, triggers: str) -> Iterator[EmbeddedPostgres]:
    """A durable server with a migrated template, in which the SQL `triggers` was run: they hold and
    watch the commit points.
    """
    folder = RUNS / suite
    folder.mkdir(parents=True, exist_ok=True)
    remove_dead_runs(folder)
    data_dir = folder / str(os.getpid())
    server = start(data_dir)
    with psycopg.connect(dsn_of(server, "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
    migrate.upgrade(url_of(server, TEMPLATE))
    with psycopg.connect(dsn_of(server, TEMPLATE)) as connection:
        connection.execute(triggers)
    yield server
    server.stop()
    shutil.rmtree(data_dir)


@contextmanager
def cloned(server: EmbeddedPostgres) -> Iterator[str]:
    """The name of a database of the test's own."""
    name = f"chaos_{next(_count)}"
    _execute(server, "create database {} template {} strategy file_copy", name, TEMPLATE)
    yield name
    start(server.data_dir)  # It may have been left crashed.
    _execute(server, "drop database {} with (force)", name)


def _execute(server: EmbeddedPostgres, statement: str, *names: str) -> None:
    with psycopg.connect(dsn_of(server, "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
