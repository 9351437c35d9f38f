"""Engines and sessions. Reading and writing are different types, so that a read cannot write by mistake.

Laws
- A read is one snapshot (REPEATABLE READ, READ ONLY in the database itself); a write is READ COMMITTED and locks rows.
- Nothing waits for ever: statements, locks, idle transactions and the wait for a connection all have a bound.
- One transition is one transaction, committed at the edge: by `Database.write`, or by the owner of a `write_session`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session, sessionmaker


class ReadSession(Session):
    """A session whose connection refuses to write."""


class WriteSession(Session):
    """A session that may write; every function that writes asks for this type."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long and how wide. Times are seconds, 0 = no bound; the pool holds `pool_size` to `pool_size + overflow`."""

    pool_size: int = 5
    overflow: int = 15
    pool_wait_s: int = 10
    connect_s: int = 5
    statement_s: int = 30
    lock_s: int = 10
    idle_in_transaction_s: int = 60


class Database:
    """One database as seen by one process. Connects at the first use; threads may share it.

    `search_path`: the schemas, with commas, that a table's name is looked up in; None: the role's own.
    `read_url` names a replica for reads; without it both kinds share one pool. Errors: sqlalchemy.exc.OperationalError
    when the database cannot be reached or a bound is passed.
    """

    def __init__(
        self,
        url: str,
        *,
        application_name: str = "mandate",
        bounds: Bounds | None = None,
        read_url: str | None = None,
        search_path: str | None = None,
    ) -> None:
        bounds = bounds or Bounds()
        self.engine = _engine(url, application_name, bounds, search_path)
        self._reading = self.engine if read_url is None else _engine(read_url, application_name, bounds, search_path)
        snapshot = self._reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._read = sessionmaker(snapshot, class_=ReadSession, expire_on_commit=False)
        self._write = sessionmaker(self.engine, class_=WriteSession, expire_on_commit=False)

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        """A snapshot to read from; ends with the block."""
        with self._read() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        """A transaction: committed when the block ends, rolled back when it raises."""
        with self._write.begin() as session:
            yield session

    def write_session(self) -> WriteSession:
        """A session whose owner commits, rolls back and closes."""
        return self._write()

    def close(self) -> None:
        """Close the pooled connections."""
        self.engine.dispose()
        self._reading.dispose()


def _engine(url: str, application_name: str, bounds: Bounds, search_path: str | None) -> Engine:
    milliseconds = {
        "statement_timeout": bounds.statement_s * 1000,
        "lock_timeout": bounds.lock_s * 1000,
        "idle_in_transaction_session_timeout": bounds.idle_in_transaction_s * 1000,
    }
    settings = " ".join(f"-c {name}={value}" for name, value in milliseconds.items())
    path = "" if search_path is None else f"-c search_path={search_path} "
    return create_engine(
        url,
        pool_size=bounds.pool_size,
        max_overflow=bounds.overflow,
        pool_timeout=bounds.pool_wait_s,
        pool_pre_ping=True,  # a connection that the database dropped meanwhile is replaced before it is used
        connect_args={
            "application_name": application_name,
            "connect_timeout": bounds.connect_s,
            "options": f"-c timezone=UTC {path}{settings}",
        },
    )
