"""A database that takes no writes or lends no connection: logged once per state, and waited for.

    read-only   default_transaction_read_only is on, as hosted databases set it when the disk is nearly full; or
                it is a standby, as the old primary is after a failover
    full        no room is left on its disk
    busy        no connection is free, at the server or of this process's own

Laws
- Each is one error, OutageError, whatever SQLAlchemy, psycopg or the pool calls it; it is an
  OperationalError, which everybody waits for.
- A connection to a standby is given up, since the name may lead to the new primary by now.
- A process says it once, and once that a write went through again. Whoever meets it logs nothing of
  it (core/logs.py).
"""

import threading
import time
from enum import StrEnum
from typing import Any, Final

import structlog
from psycopg import OperationalError as PsycopgOperationalError
from psycopg.errors import DiskFull, ReadOnlySqlTransaction, TooManyConnections
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

log = structlog.get_logger("database")


class OutageKind(StrEnum):
    READ_ONLY = "read-only"
    FULL = "full"
    BUSY = "busy"


SAYS: Final = {
    OutageKind.READ_ONLY: "it is read-only: make room on its disk, or ask who set "
    "default_transaction_read_only (`show default_transaction_read_only`); if it is a standby "
    "(`select pg_is_in_recovery()`), name the primary",
    OutageKind.FULL: "its disk is full: make room there",
    OutageKind.BUSY: "it has no free connection: raise max_connections or the role's limit, or end who "
    "holds them (`select * from pg_stat_activity`)",
}
# libpq names no SQLSTATE of a connection that was refused, and PgBouncer one of this class: by their
# words, which other errors may repeat from a row that a caller wrote.
_CONNECTION: Final = "08"
_REFUSALS: Final = (
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "no more connections allowed",
)
_WROTE: Final = "select pg_current_xact_id_if_assigned() is not null"


class OutageError(OperationalError):
    def __init__(self, kind: OutageKind, cause: BaseException) -> None:
        super().__init__(None, None, cause)
        self.kind = kind

    def __str__(self) -> str:
        return f"The database is unavailable: {SAYS[self.kind]}."


class _OutageSaid:
    """What this process said last of its database, and when it met it last."""

    def __init__(self) -> None:
        self._kind: OutageKind | None = None
        self._met_at = 0.0
        self._lock = threading.Lock()

    @property
    def is_out(self) -> bool:
        return self._kind is not None

    def meet(self, kind: OutageKind) -> None:
        with self._lock:
            is_new, self._kind, self._met_at = kind is not self._kind, kind, time.monotonic()
        if is_new:
            log.error("waiting for the database", state=kind.value, note=SAYS[kind])

    def look(self, connection: Connection) -> None:
        """Whether the connection's transaction, which commits now, wrote."""
        if self.is_out and connection.exec_driver_sql(_WROTE).scalar():
            self.end()

    def end(self) -> None:
        with self._lock:
            was, self._kind = self._kind, None
        if was is not None:
            log.info("the database works again", was=was.value)

    def within(self, seconds: float) -> OutageKind | None:
        return self._kind if time.monotonic() - self._met_at <= seconds else None


SAID: Final = _OutageSaid()


def outage_of(error: BaseException) -> OutageError | None:
    """Of psycopg's error, or the pool's; None: it says something else. It is logged, once."""
    kind = _kind_of(error)
    if kind is None:
        return None
    SAID.meet(kind)
    return OutageError(kind, error)


def no_database(error: SQLAlchemyError) -> str:
    """For a person, without the statement and its values."""
    if isinstance(error, OutageError):
        return str(error)
    return (
        "The database does not answer; check DATABASE_URL and that it is migrated "
        f"({type(error).__name__})."
    )


def _kind_of(error: BaseException) -> OutageKind | None:
    match error:
        case ReadOnlySqlTransaction():
            return OutageKind.READ_ONLY
        case DiskFull():
            return OutageKind.FULL
        case TooManyConnections() | PoolTimeoutError():
            return OutageKind.BUSY
        case PsycopgOperationalError() if (error.sqlstate or _CONNECTION).startswith(_CONNECTION):
            return OutageKind.BUSY if any(words in str(error) for words in _REFUSALS) else None
    return None


class Connections(QueuePool):
    """A pool whose last connection is lent: busy too."""

    def connect(self) -> PoolProxiedConnection:
        try:
            return super().connect()
        except PoolTimeoutError as error:
            raise outage_of(error) or error from None


def log_outages(engine: Engine) -> None:
    """Log the engine's errors, and its first write after one."""

    @event.listens_for(engine, "handle_error")
    def name(context: Any) -> OutageError | None:
        driver = None if context.connection is None else context.connection.connection
        if getattr(driver, "read_only", None) and isinstance(
            context.original_exception, ReadOnlySqlTransaction
        ):
            return None  # a session of ours that only reads was to write: a defect
        found = outage_of(context.original_exception)
        if found is not None and found.kind is OutageKind.READ_ONLY and _is_of_standby(driver):
            context.is_disconnect = True
        return found

    event.listen(engine, "commit", SAID.look)


def _is_of_standby(connection: Any) -> bool:
    """As the server says it unasked (Postgres 14 and newer)."""
    driver = getattr(connection, "dbapi_connection", None)
    return driver is not None and driver.info.parameter_status("in_hot_standby") == "on"
