"""Reads from replicas that have all that was committed before the read began.

    read begins ---- primary: at 0/5A3 ---- replica: at 0/59F ... 0/5A3 ---- its snapshot, and the read
                     (one statement)        (waits, at most wait_s; else the primary answers)

Laws
- The place in the log that the primary names is the bound of staleness: nobody reads less than was
  acknowledged to anybody, by whichever process. No caller's writes need be remembered.
- A replica is asked on the connection that then reads: a balancer may have many behind one address.
- A replica that is behind, gone or promoted costs the reads that had begun their wait. From then on the
  primary answers unasked, but for one read each RETRY_S, which tries again.
Source: docs/decisions/0046.
"""

import time
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from psycopg import Connection as Driver
from psycopg import Error as PsycopgError
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

RETRY_S: Final = 1.0
FIRST_LOOK_S, LONGEST_LOOK_S = 0.001, 0.02
LAG_WAIT_S: Final = 1.0  # a healthy replica has replayed by then what the primary named

_AT: Final = "select pg_current_wal_lsn()::text"
_HAS: Final = "select pg_last_wal_replay_lsn() >= %s::pg_lsn and pg_is_in_recovery()"
_AGE: Final = (
    "select extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8"
)


class Lender(Protocol):
    """Whoever has a replica for a read that begins now."""

    def lend(self) -> Connection | None: ...


@dataclass(frozen=True, slots=True)
class ReplicaPlace:
    """Where replicas are, how long a read waits for one, and how far behind one is in trouble."""

    url: str
    wait_s: float
    most_lag_s: int


class Replicas:
    """`engine` leads to replicas, `primary` to the one that they follow. Threads may share it."""

    def __init__(self, engine: Engine, primary: Engine, place: ReplicaPlace) -> None:
        self.most_lag_s = place.most_lag_s
        self._engine = engine
        self._primary = primary
        self._wait_s = place.wait_s
        self._rests_until = 0.0

    def lend(self) -> Connection | None:
        """A connection whose next snapshot has all that was committed until now; its borrower
        closes it. None: the primary is to answer.
        """
        if (now := time.monotonic()) < self._rests_until:
            return None
        if self._rests_until:
            self._rests_until = now + RETRY_S  # this read tries again; no other waits with it
        try:
            at = self._primary_at()
            connection = self._engine.connect()
            try:
                if _has_replayed(connection, at, self._wait_s):
                    self._rests_until = 0.0
                    return connection
            except (SQLAlchemyError, PsycopgError):
                connection.close()
                raise
            connection.invalidate()  # the next one may be another replica's
            connection.close()
        except (SQLAlchemyError, PsycopgError):
            pass  # the primary says what is wrong with itself
        self._rests_until = time.monotonic() + RETRY_S
        return None

    def lag_s(self) -> float | None:
        """Seconds that the replica which answers is behind the primary; None: none answers.

        Errors: SQLAlchemyError, of the primary.
        """
        try:
            at = self._primary_at()
        except PsycopgError as error:
            raise DBAPIError.instance(None, None, error, PsycopgError) from error
        try:
            with self._engine.connect() as connection:
                if _has_replayed(connection, at, LAG_WAIT_S):
                    return 0.0
                age_s = _asked(connection, _AGE, ())
                connection.invalidate()
        except (SQLAlchemyError, PsycopgError):
            return None
        return None if age_s is None else max(LAG_WAIT_S, float(age_s))

    def close(self) -> None:
        self._engine.dispose()

    def _primary_at(self) -> str:
        with self._primary.connect() as connection:
            return str(_asked(connection, _AT, ()))


def _has_replayed(connection: Connection, at: str, wait_s: float) -> bool:
    """A promoted or foreign server never has."""
    until, look_s = time.monotonic() + wait_s, FIRST_LOOK_S
    while not _asked(connection, _HAS, (at,)):
        if time.monotonic() + look_s > until:
            return False
        time.sleep(look_s)
        look_s = min(2 * look_s, LONGEST_LOOK_S)
    return True


def _asked(connection: Connection, statement: str, values: tuple[str, ...]) -> Any:
    """One statement that is a transaction of its own: no snapshot stays open."""
    driver = cast("Driver[Any]", connection.connection.dbapi_connection)
    driver.autocommit = True
    try:
        row = driver.execute(statement, values).fetchone()
    finally:
        if not driver.closed:
            driver.autocommit = False
    return None if row is None else row[0]
