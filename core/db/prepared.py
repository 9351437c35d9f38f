"""Statements that are written with SQLAlchemy and run by the driver itself: for the calls that many
make each second, where finding, binding and reading a statement takes longer than the database does.

Laws
- A statement is compiled once, and prepared once per connection; what varies is a bindparam.
- Values come and go as the driver has them: no type of ours converts them, so that a numeric column
  is read as text. What the session holds unflushed is not seen.
- On a connection of `Database.statements` each statement is a transaction of its own. Errors are the driver's there,
  which `statements` turns into SQLAlchemy's.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from psycopg import Connection as Driver
from psycopg import Error as PsycopgError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import tuple_row
from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler

from core.db.engine import as_sqlalchemys, driver_of

Runs = Session | Driver[Any]
"""A session, whose transaction a statement is a part of; or a connection on which each is one of its own
(core.db.engine.Database.statements).
"""

_DIALECT: Final = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy types none


class Prepared:
    def __init__(self, statement: ClauseElement) -> None:
        compiled = cast("SQLCompiler", statement.compile(dialect=_DIALECT))
        self._text = compiled.string
        self._constants = {
            name: one.value for one, name in compiled.bind_names.items() if not one.required
        }

    def rows(self, db: Runs, **values: Any) -> list[tuple[Any, ...]]:
        """What the statement returns, in the session's transaction.

        Errors: SQLAlchemyError, as of any other statement.
        """
        return rows_of(db, self._text, {**self._constants, **values})


def rows_of(db: Runs, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """As `Prepared.rows`, of a statement that is written as SQL."""
    if not isinstance(db, Session):
        return _rows_alone(db, statement, values)
    cursor = driver_of(db).cursor(row_factory=tuple_row)
    try:
        cursor.execute(statement, values, prepare=True)
        return [] if cursor.rownumber is None else cursor.fetchall()
    except PsycopgError as error:
        raise as_sqlalchemys(error) from error


_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)s|%%")
# of each connection: the names of what was prepared on it, by the statement and the types of its values
_prepared: Final = WeakKeyDictionary[Driver[Any], dict[tuple[bytes, tuple[int, ...]], bytes]]()


def _rows_alone(
    driver: Driver[Any], statement: str, values: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """What psycopg's cursor does, without its generators: they take twice as long as all else.

    Errors: PsycopgError.
    """
    query, names = _numbered(statement)
    adapter, server = Transformer(driver), driver.pgconn
    given = adapter.dump_sequence([values[name] for name in names], [PyFormat.AUTO] * len(names))
    known = _prepared.setdefault(driver, {})
    name = known.get((query, adapter.types or ()))
    if name is None:
        name = b"alone_%d" % len(known)
        _require_ok(server.prepare(name, query, adapter.types), driver)
        known[query, adapter.types or ()] = name
    found = server.exec_prepared(name, given, adapter.formats)  # type: ignore[arg-type]  # None is null, as in its other calls
    _require_ok(found, driver)
    adapter.set_pgresult(found)
    return adapter.load_rows(0, found.ntuples, tuple) if found.nfields else []


def _require_ok(found: PGresult, driver: Driver[Any]) -> None:
    """Errors: PsycopgError."""
    if found.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise error_from_result(found, encoding=driver.info.encoding)


@cache
def _numbered(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """As the server takes it: $1 for the first name, wherever it stands; of this program alone."""
    names = dict[str, int]()

    def number(found: re.Match[str]) -> str:
        name = found[1]
        return "%" if name is None else f"${names.setdefault(name, len(names) + 1)}"

    return _PLACEHOLDER.sub(number, statement).encode(), tuple(names)
