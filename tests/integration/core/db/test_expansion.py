"""A migration leaves the release before it what that uses: both run side by side while an upgrade
rolls.
"""

from collections.abc import Iterator

import pytest
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, text

from core.db import migrate
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from tests.integration.core.db.expansion import schema_of, taken
from tests.integration.databases import execute, url_of

TABLES = """
create table account (id int primary key, name text, n int not null default 0,
kind text not null constraint kind check (kind in ('a', 'b')), code text constraint code unique)
"""


def migrations() -> list[Script]:
    """The oldest first."""
    return list(ScriptDirectory(str(migrate.MIGRATIONS)).walk_revisions())[::-1]


@pytest.mark.slow
def test_each_migration__leaves_what_the_release_before_it_uses(postgres: EmbeddedPostgres) -> None:
    """Where this fails: expand first, and contract in a later release, with UNUSED_SINCE."""
    execute(postgres, "create database {}", "expansion")
    url, found = url_of(postgres, "expansion"), dict[str, list[str]]()
    database = Database(url)
    try:
        baseline, *later = migrations()
        migrate.upgrade(url, baseline.revision)
        for one in later:
            with database.engine.connect() as connection:
                before = schema_of(connection)
            migrate.upgrade(url, one.revision)
            with database.engine.connect() as connection:
                after = schema_of(connection)
            unused = getattr(one.module, "UNUSED_SINCE", {})
            found[one.revision] = taken(before, after, unused)
    finally:
        database.close()
        execute(postgres, "drop database {} with (force)", "expansion")
    assert {revision: words for revision, words in found.items() if words} == {}


def test_what_a_migration_takes_away__was_unused_in_an_earlier_release() -> None:
    names = [one.revision for one in migrations()]
    for place, one in enumerate(migrations()):
        for what, since in getattr(one.module, "UNUSED_SINCE", {}).items():
            assert since in names[:place], f"{one.revision}: {what} is used until {since}"


@pytest.fixture
def tables(database: Database) -> Iterator[Connection]:
    with database.engine.connect() as connection:
        connection.execute(text("create schema small"))
        connection.execute(text("set search_path to small"))
        connection.execute(text(TABLES))
        yield connection


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("alter table account drop column name", ["account.name: it is gone"]),
        (
            "alter table account rename column name to called",
            ["account.name: it is gone"],
        ),
        ("drop table account", ["account: the table is gone"]),
        ("alter table account alter name set not null", ["account.name: it may be null no more"]),
        (
            "alter table account add more int not null",
            ["account.more: it is new and required, and has no default"],
        ),
        ("alter table account alter n drop default", ["account.n: it has a default no more"]),
        (
            "alter table account alter n type text",
            ["account.n: it was integer and is text"],
        ),
        (
            "alter table account add constraint few check (n < 9)",
            ["account.few: it refuses what was written before"],
        ),
        (
            "create unique index one_name on account (name)",
            ["account.one_name: it refuses what was written before"],
        ),
        (
            "alter table account drop constraint kind, add constraint kind check (kind in ('a', 'c'))",
            ["account.kind: it refuses what was written before"],
        ),
        (
            "alter table account add constraint known foreign key (n) references account (id)",
            ["account.known: it refuses what was written before"],
        ),
        (
            "alter table account drop constraint code",
            ["account.code: an `on conflict` of its columns fails"],
        ),
        (
            "alter table account drop constraint code; create unique index codes on account (code)",
            [],
        ),
        ("create table more (id int primary key, name text not null)", []),
        ("alter table account add more int", []),
        ("alter table account add more int not null default 1 check (more > 0)", []),
        ("alter table account alter n type bigint", []),
        ("alter table account alter name set default 'x'", []),
        (
            "alter table account drop constraint kind, add constraint kind check (kind in ('a', 'b', 'c'))",
            [],
        ),
        ("create index names on account (name)", []),
    ],
)
def test_what_is_taken__by_a_statement(
    tables: Connection, statement: str, expected: list[str]
) -> None:
    before = schema_of(tables)
    tables.execute(text(statement))
    after = schema_of(tables)
    assert taken(before, after) == expected
    names = [line.partition(":")[0] for line in expected]
    assert taken(before, after, names) == []
