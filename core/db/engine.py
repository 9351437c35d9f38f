"""Engines and sessions.

Reading and writing are different types, so that a read cannot write by mistake.

Laws
- A read is one snapshot (REPEATABLE READ, READ ONLY in the database itself); a write is READ
  COMMITTED and locks rows.
- A read ends by commit: at a rollback psycopg throws away all that it has prepared on the connection.
- Nothing waits for ever: statements, locks, idle transactions and the wait for a connection all
  have a bound.
- A connection that rested is asked before it is used, so that a database that restarted meanwhile
  costs no call.
- A database that takes no writes or lends no connection is one error (core/db/outage.py), and errors of
  the driver leave a block of a session as SQLAlchemy's.
- One transition is one transaction, committed at the edge: by `Database.write`, or by the owner of
  what is `pinned`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, TypeVar

import msgspec
from psycopg import Connection as Driver
from psycopg import Error as PsycopgError
from psycopg import IsolationLevel
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import QueuePool

from core.db.outage import SAID, Connections, log_outages, outage_of
from core.db.replicas import ReplicaPlace, Replicas

Found = TypeVar("Found")
# A dead peer is noticed within about ten seconds (TCP only; a unix socket notices at once).
KEEPALIVE = {
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# How instants are written, whatever role and database say: psycopg reads no other form.
AS_WE_READ: Final = "-c timezone=UTC -c datestyle=ISO,MDY"


class ReadSession(Session):
    """A session whose connection refuses to write, and that has no methods to do so.

    The names are Session's; each is None, so that mypy refuses its call and so does Python.
    """

    add: None = None  # type: ignore[assignment]  # as all of these: taken away
    add_all: None = None  # type: ignore[assignment]
    bulk_insert_mappings: None = None  # type: ignore[assignment]
    bulk_save_objects: None = None  # type: ignore[assignment]
    bulk_update_mappings: None = None  # type: ignore[assignment]
    commit: None = None  # type: ignore[assignment]
    delete: None = None  # type: ignore[assignment]
    merge: None = None  # type: ignore[assignment]


@event.listens_for(ReadSession, "after_begin")
def _begin_snapshot(session: Session, transaction: Any, connection: Connection) -> None:
    """Say how the transaction is to begin; psycopg sends it with the first statement.

    The pool takes it back. A savepoint is in a snapshot that has begun.
    """
    if not transaction.nested:
        driver = driver_of(connection)
        driver.isolation_level, driver.read_only = IsolationLevel.REPEATABLE_READ, True


class _FollowingSession(ReadSession):
    """Of a replica, chosen with the first statement; of the primary where none is lent."""

    def __init__(self, primary: Engine, replicas: Replicas) -> None:
        super().__init__(expire_on_commit=False)
        self._primary = primary
        self._replicas = replicas
        self._lent: Connection | None = None
        self._asked = False

    @property
    def is_of_replica(self) -> bool:
        return self._lent is not None

    def get_bind(self, *_: Any, **__: Any) -> Engine | Connection:
        if not self._asked:
            self._asked, self._lent = True, self._replicas.lend()
        return self._primary if self._lent is None else self._lent

    def close(self) -> None:
        super().close()
        if self._lent is not None:
            self._lent.close()


class WriteSession(Session):
    """A session that may write; every function that writes asks for this type."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long and how wide.

    Times are seconds, 0 = no bound; the pool holds `pool_size` to `pool_size + overflow`.

    `trust_s`: how long a connection may have rested and be used unasked; 0: each is asked, at the
    price of a round trip.
    """

    pool_size: int = 5
    overflow: int = 15
    pool_wait_s: int = 10
    connect_s: int = 5
    statement_s: int = 30
    lock_s: int = 10
    idle_in_transaction_s: int = 60
    trust_s: float = 0


class Database:
    """One database as seen by one process. Connects at the first use; threads may share it.

    `pooled_url`: the same database through a pooler that lends a connection for each transaction;
    what belongs to a connection goes past it. `replica`: for what `reading` runs.
    `synchronous_commit` false: a crash of the server may lose the last second's commits, the newest
    first. It is of no effect through a pooler, whose server says it.
    Errors: sqlalchemy.exc.OperationalError when the database cannot be reached or a bound is
    passed.
    """

    def __init__(
        self,
        url: str,
        *,
        application_name: str = "mandate",
        bounds: Bounds | None = None,
        pooled_url: str | None = None,
        replica: ReplicaPlace | None = None,
        synchronous_commit: bool = True,
    ) -> None:
        bounds = bounds or Bounds()
        self.direct = _engine(url, application_name, bounds, synchronous_commit=synchronous_commit)
        self.engine, self.replicas = self.direct, None
        if pooled_url is not None:
            self.engine = _engine(pooled_url, application_name, bounds, is_pooled=True)
        if replica is not None:
            # not asked before use: where it is in the log is asked each time, within a bound
            follows = _engine(replica.url, application_name, replace(bounds, trust_s=inf))
            self.replicas = Replicas(follows, self.engine, replica)
        self._alone = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._read = sessionmaker(self.engine, class_=ReadSession, expire_on_commit=False)
        self._write = sessionmaker(self.engine, class_=WriteSession, expire_on_commit=False)

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        """A snapshot of the primary to read from; ends with the block."""
        with _errors_of_sqlalchemy(), self._read.begin() as session:
            yield session

    def reading(self, work: Callable[[ReadSession], Found]) -> Found:
        """`work` on a snapshot that has all that was committed before: a replica's, else the
        primary's.

        `work` runs once more, on the primary, when the replica goes away or cancels it.
        """
        if self.replicas is None:
            with self.read() as session:
                return work(session)
        with _FollowingSession(self.engine, self.replicas) as following:
            try:
                with following.begin():
                    return work(following)
            except (SQLAlchemyError, PsycopgError):
                if not following.is_of_replica:
                    raise
        with self.read() as session:
            return work(session)

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        """A transaction: committed when the block ends, rolled back when it raises."""
        with _errors_of_sqlalchemy(), self._write.begin() as session:
            yield session

    @contextmanager
    def pinned(self) -> Iterator[WriteSession]:
        """A session whose transactions all run on one connection, so that a lock of the connection
        spans them. Its owner commits.
        """
        with (
            _errors_of_sqlalchemy(),
            self.direct.connect() as connection,
            WriteSession(connection, expire_on_commit=False) as session,
        ):
            yield session

    @contextmanager
    def statements(self) -> Iterator[Connection]:
        """A connection on which each statement is a transaction of its own, committed when it has run:
        one round trip, for the one statement that every call makes.

        After an outage it is one transaction, which alone says whether it wrote.
        """
        alone = self.engine if SAID.is_out else self._alone
        with alone.begin() as connection:
            yield connection

    @property
    def connections_in_use(self) -> int:
        """Connections that are lent out now, of the pool that writes."""
        pool = self.engine.pool
        assert isinstance(pool, QueuePool)
        return pool.checkedout()

    def close(self) -> None:
        """Close the pooled connections."""
        self.engine.dispose()
        self.direct.dispose()
        if self.replicas is not None:
            self.replicas.close()


def _engine(
    url: str,
    application_name: str,
    bounds: Bounds,
    *,
    synchronous_commit: bool = True,
    is_pooled: bool = False,
) -> Engine:
    settings = {
        "statement_timeout": bounds.statement_s * 1000,
        "lock_timeout": bounds.lock_s * 1000,
        "idle_in_transaction_session_timeout": bounds.idle_in_transaction_s * 1000,
        **({} if synchronous_commit else {"synchronous_commit": "off"}),
    }
    options = " ".join((AS_WE_READ, *(f"-c {name}={value}" for name, value in settings.items())))
    # Through a pooler a statement that one connection prepared is unknown to the next, and what
    # `options` would set is the pooler's to set.
    asked: dict[str, Any] = {"prepare_threshold": None} if is_pooled else {"options": options}
    engine = create_engine(
        url,
        poolclass=Connections,
        hide_parameters=True,  # what an error says is logged
        pool_size=bounds.pool_size,
        max_overflow=bounds.overflow,
        pool_timeout=bounds.pool_wait_s,
        # as exact as json.loads, in a third of the time: a ledger's state is 4 KB
        json_deserializer=msgspec.json.decode,
        connect_args={
            "application_name": application_name,
            "connect_timeout": bounds.connect_s,
            **KEEPALIVE,
            **asked,
        },
    )
    log_outages(engine)
    _ask_before_use(engine, bounds.trust_s)
    return engine


def driver_of(db: Session | Connection) -> Driver[Any]:
    """psycopg's own connection, under the session's transaction."""
    connection = db.connection() if isinstance(db, Session) else db
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, Driver)
    return driver


def as_sqlalchemys(error: PsycopgError) -> SQLAlchemyError:
    """The error as SQLAlchemy raises it, without statement and parameters."""
    found = outage_of(error) or DBAPIError.instance(None, None, error, PsycopgError)
    assert isinstance(found, SQLAlchemyError)
    return found


@contextmanager
def _errors_of_sqlalchemy() -> Iterator[None]:
    """Of what asks the driver itself too, as COPY does."""
    try:
        yield
    except PsycopgError as error:
        raise as_sqlalchemys(error) from error


def _ask_before_use(engine: Engine, trust_s: float) -> None:
    """As SQLAlchemy's pre-ping, but for connections alone that rested longer than `trust_s`
    seconds.

    What comes back to the pool is as it was made: the modes that a reader set are undone.
    """

    @event.listens_for(engine, "checkin")
    def rest(driver: Driver[Any] | None, record: Any) -> None:
        record.info["rests_since"] = time.monotonic()
        if driver is not None and driver.read_only and not driver.closed:
            driver.isolation_level = driver.read_only = None

    @event.listens_for(engine, "checkout")
    def ask(driver: Any, record: Any, proxy: Any) -> None:
        rests_since = record.info.get("rests_since")
        if rests_since is None or time.monotonic() - rests_since < trust_s:
            return
        try:
            engine.dialect.do_ping(driver)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error  # the pool takes a new one in its place
