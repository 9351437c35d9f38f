"""Reads from replicas that have all that was committed before the read began.

    read begins ---- primary: at 0/5A3 ---- replica: at 0/59F ... 0/5A3 ---- its snapshot, and the read
                     (one statement)        (waits, at most wait_s; else the primary answers)

Laws
- The place in the log that the primary names is the bound of staleness: nobody reads less than was
  acknowledged to anybody, by whichever process. No caller's writes need be remembered.
- A replica is asked on the connection that then reads: a balancer may have many behind one address.
- A replica that is behind, gone, promoted or of another database costs one read its wait; for RETRY_S
  the primary answers unasked, and then one read at a time looks again.
- One that is connected and says nothing is gone after ANSWER_S: its machine may hang, and answer even
  the kernel's questions.
- Places in the log of two databases can't be compared: a replica shows its primary's identity first.
Source: docs/decisions/0046.
"""

import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

from psycopg import Connection as Driver
from psycopg import Error as PsycopgError
from psycopg import OperationalError
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from core.errors import OutsideError

RETRY_S: Final = 1.0
FIRST_LOOK_S, LONGEST_LOOK_S = 0.001, 0.02
ANSWER_S: Final = 0.5  # beyond its wait, that it may take to say where it is
LAG_WAIT_S: Final = 1.0  # a healthy replica has replayed by then what the primary named

_AT: Final = text("select pg_current_wal_lsn()::text")
_HAS: Final = "select pg_last_wal_replay_lsn() >= $1::pg_lsn and pg_is_in_recovery()"
_AGE: Final = (
    "select extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8"
)
_WHOSE: Final = text("select system_identifier::text from pg_control_system()")
_KNOWN: Final = "identity"  # in what SQLAlchemy keeps of a connection


class ForeignReplicaError(OutsideError):
    """What answers as a replica follows another database."""


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
        self._primary = primary.execution_options(isolation_level="AUTOCOMMIT")  # no snapshot stays
        self._wait_s = place.wait_s
        self._rests_until = 0.0
        self._identity: str | None = None  # the primary's, as soon as it is known
        self._looking = threading.Lock()  # held by the one read that looks whether it is back
        self._is_well = True

    def lend(self) -> Connection | None:
        """A connection whose next snapshot has all that was committed until now; its borrower
        closes it. None: the primary is to answer.
        """
        if time.monotonic() < self._rests_until:
            return None
        if self._is_well:
            return self._lent()
        if not self._looking.acquire(blocking=False):
            return None
        try:
            return self._lent()
        finally:
            self._looking.release()

    def _lent(self) -> Connection | None:
        try:
            at = self._primary_at()
            with self._asking(self._wait_s) as (connection, until):
                if _has_replayed(connection, at, self._wait_s, until):
                    self._is_well = True
                    return connection
                connection.invalidate()  # the next one may be another replica's
                connection.close()
        except (SQLAlchemyError, PsycopgError, ForeignReplicaError):
            self._engine.dispose()  # what rests leads to the same; the primary speaks for itself
        self._is_well, self._rests_until = False, time.monotonic() + RETRY_S
        return None

    def lag_s(self) -> float | None:
        """Seconds that the replica which answers is behind the primary; None: none answers.

        Errors: ForeignReplicaError; SQLAlchemyError, of the primary.
        """
        at = self._primary_at()
        try:
            with self._asking(LAG_WAIT_S) as (connection, until), connection:
                if _has_replayed(connection, at, LAG_WAIT_S, until):
                    return 0.0
                age_s = _answer(connection, _AGE, (), until + ANSWER_S)
                connection.invalidate()
        except (SQLAlchemyError, PsycopgError):
            return None
        return None if age_s is None else max(LAG_WAIT_S, float(age_s))

    @contextmanager
    def _asking(self, wait_s: float) -> Iterator[tuple[Connection, float]]:
        """A connection to a replica of ours, and until when it may say where it is. It is closed for
        good when anything fails.
        """
        connection = self._engine.connect()
        until, is_answered = time.monotonic() + wait_s + ANSWER_S, False
        try:
            whose = connection.info.get(_KNOWN) or _answer(connection, _WHOSE.text, (), until)
            if whose != self._identity:
                raise ForeignReplicaError("the replica follows another database")
            connection.info[_KNOWN] = whose
            yield connection, until
            is_answered = True
        finally:
            if not is_answered:
                connection.invalidate()
                connection.close()

    def close(self) -> None:
        self._engine.dispose()

    def _primary_at(self) -> str:
        with self._primary.connect() as connection:
            if self._identity is None:
                self._identity = str(connection.scalar(_WHOSE))
            return str(connection.scalar(_AT))


def _has_replayed(connection: Connection, at: str, wait_s: float, until: float) -> bool:
    """A promoted server never has."""
    waits_until, look_s = time.monotonic() + wait_s, FIRST_LOOK_S
    while _answer(connection, _HAS, (at,), until) != "t":
        if time.monotonic() + look_s > waits_until:
            return False
        time.sleep(look_s)
        look_s = min(2 * look_s, LONGEST_LOOK_S)
    return True


def _answer(
    connection: Connection, statement: str, values: tuple[str, ...], until: float
) -> str | None:
    """What one statement says, in a transaction of its own, by then; the driver alone would wait for
    ever. The connection is of no use after an error.
    """
    wire = cast("Driver[Any]", connection.connection.dbapi_connection).pgconn
    wire.send_query_params(statement.encode(), [one.encode() for one in values])
    arrived = select.poll()
    arrived.register(wire.socket, select.POLLIN)
    found: PGresult | None = None
    while True:
        while wire.flush() or wire.is_busy():
            if not arrived.poll(max(0.0, until - time.monotonic()) * 1_000):
                raise OperationalError("a replica says nothing")
            wire.consume_input()
        result = wire.get_result()
        if result is None:
            break
        found = result
    if found is None or found.status != ExecStatus.TUPLES_OK:
        raise OperationalError("a replica refuses to say where it is")
    value = found.get_value(0, 0)
    return None if value is None else value.decode()
