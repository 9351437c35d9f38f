"""Which migrations a database has, and what is wrong with that: asked by preflight, by the health page
and by each process before it starts.

Laws
- Nothing here runs or loads a migration: a file's number is its revision.
- Numbers begin at the one migration that 0.1.0 is: those of databases from before are lower.
- A database that is ahead of the code is right for it: a release leaves what the one before it uses
  (docs/operations.md#upgrading).
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Connection, create_engine, pool, text
from sqlalchemy.exc import ProgrammingError

VERSIONS = Path(__file__).parent / "migrations" / "versions"
COMMAND = "mandate-wallet migrate upgrade"
ADOPT = "mandate-wallet migrate adopt"
LAST_BEFORE = "0070"  # of the databases from before 0.1.0
MAY_NOT_ASK = (
    "its role may not read alembic_version: name the role that the migrations grant what it needs, "
    f"mandate_app; if it was made after them, run `{COMMAND}` as their owner "
    "once more (docs/operations.md#quickstart)"
)
CONNECT_S, STATEMENT_MS = 5, 5_000
_NOW = text("select extract(epoch from clock_timestamp())::float8")


@cache
def known() -> frozenset[str]:
    """All that this version of the code knows."""
    return frozenset(file.name.split("_")[0] for file in VERSIONS.glob("[0-9]*.py"))


def newest() -> str:
    return max(known())


def oldest() -> str:
    return min(known())


def recorded(connection: Connection) -> list[str]:
    """The revisions that the database says it is at: one, but for a migration that was broken off or
    a hand that wrote there. Empty: it was never migrated.

    Errors: ProgrammingError for a role that may not ask.
    """
    if connection.scalar(text("select to_regclass('alembic_version')")) is None:
        return []
    found = text("select version_num from alembic_version order by version_num")
    return [str(one) for one in connection.scalars(found)]


def behind(found: Collection[str]) -> str | None:
    """Why this code can't work on a database at these revisions, and what to do; None: it can."""
    if not found:
        return f"it was never migrated: run `{COMMAND}`"
    if len(found) > 1:
        return (
            f"it is at {' and '.join(found)} at once, half of a migration: restore it from a backup, or "
            "ask who wrote into alembic_version"
        )
    (one,) = found
    if one == LAST_BEFORE:
        return (
            f"it is at {one}, the last migration before 0.1.0: end its processes and run `{ADOPT}`"
        )
    if one < oldest():
        return (
            f"it is at {one}, of before 0.1.0: bring it to {LAST_BEFORE} with the code of before 0.1.0, "
            f"then end its processes and run `{ADOPT}` (docs/operations.md#from-before-010)"
        )
    if one != newest() and one in known():
        return f"it is at {one}, this code needs {newest()}: run `{COMMAND}`"
    return None


def ahead(found: Collection[str]) -> str | None:
    """That the database is at a revision which this code does not know; None: it knows it."""
    unknown = [one for one in found if one not in known()]
    if not unknown:
        return None
    return (
        f"it is at {unknown[0]}, which this code does not know (it knows {newest()}): start the code "
        "that migrated it"
    )


@dataclass(frozen=True, slots=True)
class DatabaseSays:
    """`revisions` None: the role may not ask. `now`: its clock, in unix seconds."""

    revisions: list[str] | None
    now: float


def said_by(url: str) -> DatabaseSays:
    """Errors: SQLAlchemyError when it is out of reach."""
    bounds = {"connect_timeout": CONNECT_S, "options": f"-c statement_timeout={STATEMENT_MS}"}
    engine = create_engine(url, poolclass=pool.NullPool, connect_args=bounds)
    try:
        with engine.connect() as connection:
            now = float(connection.execute(_NOW).scalar_one())
            try:
                return DatabaseSays(recorded(connection), now)
            except ProgrammingError as error:
                if isinstance(error.orig, InsufficientPrivilege):
                    return DatabaseSays(None, now)
                raise
    finally:
        engine.dispose()
