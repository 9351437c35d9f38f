"""Statements that are written with SQLAlchemy and run by the driver itself: for the calls that many
make each second, where finding, binding and reading a statement takes longer than the database does.

Laws
- A statement is compiled once, and prepared once per connection; what varies is a bindparam. One that
  returns objects of the session says so by `.execution_options(prepared=True)`.
- Values come and go as the driver has them: no type of ours converts them, so that a numeric column
  is read as text. What the session holds is flushed first.
- On a connection of `Database.statements` each statement is a transaction of its own. Errors are the driver's there,
  which `statements` turns into SQLAlchemy's.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, cast

from psycopg import Connection as Driver
from psycopg import Error as PsycopgError
from psycopg.rows import tuple_row
from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler

from core.db.engine import WriteSession, as_sqlalchemys, driver_of

Runs = Session | Driver[Any]
"""A session, whose transaction a statement is a part of; or a connection on which each is one of its own
(core.db.engine.Database.statements).
"""

_DIALECT: Final = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy types none


class Prepared:
    """Compiled when it first runs: a process that never runs it starts without."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement

    def rows(self, db: Runs, **values: Any) -> list[tuple[Any, ...]]:
        """What the statement returns, in the session's transaction.

        Errors: SQLAlchemyError, as of any other statement.
        """
        text, constants = self._compiled
        return rows_of(db, text, {**constants, **values})

    @cached_property
    def _compiled(self) -> tuple[str, dict[str, Any]]:
        compiled = cast("SQLCompiler", self._statement.compile(dialect=_DIALECT))
        constants = {
            name: one.value for one, name in compiled.bind_names.items() if not one.required
        }
        return compiled.string, constants


def rows_of(db: Runs, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """As `Prepared.rows`, of a statement that is written as SQL."""
    if isinstance(db, WriteSession):
        db.flush()
    driver = driver_of(db) if isinstance(db, Session) else db
    cursor = driver.cursor(row_factory=tuple_row)
    try:
        cursor.execute(statement, values, prepare=True)
        return [] if cursor.rownumber is None else cursor.fetchall()
    except PsycopgError as error:
        if driver is db:
            raise
        raise as_sqlalchemys(error) from error
