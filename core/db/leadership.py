"""One leader a loop: a Postgres advisory lock on a connection of its own, a heartbeat row, an epoch that fences writes.

        process A   take --- epoch 7 --- beat, beat, ... x (its connection dies, the lock goes with it)
        process B          take? no ... no ........... take --- epoch 8 --- beat ...

Laws
- The lock lives on a dedicated connection, never pooled: a pool might hand the lock's session to someone else.
- The lock alone does not fence a paused process. Each writing transaction calls `fence`.
- On any doubt (a beat that fails, a connection that breaks) the answer is LeadershipLostError; the process ends.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from core.db.repositories import leader
from core.db.repositories.leader import LeaderRow, LeadershipLostError

__all__ = ["LeaderRow", "Leadership", "LeadershipLostError"]

# A dead peer is noticed within about ten seconds (TCP only; a unix socket notices at once).
KEEPALIVE = {"keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
BOUNDS = {"connect_timeout": 5, "options": "-c timezone=UTC -c statement_timeout=10000"}


class Leadership:
    """The right to run the loop called `name`. Not thread-safe: take, beat and release from one thread."""

    def __init__(self, url: str, name: str, holder: str) -> None:
        """`url` is SQLAlchemy's (`postgresql+psycopg://`); `holder` says who this is (host and process id)."""
        self.name = name
        self.holder = holder
        self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args={**KEEPALIVE, **BOUNDS})
        self._connection: Connection | None = None
        self._epoch: int | None = None

    @property
    def leads(self) -> bool:
        """True from `try_take` to `release`, as far as this process knows."""
        return self._epoch is not None

    @property
    def epoch(self) -> int:
        """The epoch that this process's writes carry. Errors: LeadershipLostError when it does not lead."""
        if self._epoch is None:
            raise LeadershipLostError(self.name, 0)
        return self._epoch

    def try_take(self, now: datetime) -> bool:
        """Become the leader if nobody is; True when this process leads. Never waits. Errors: OperationalError."""
        if self.leads:
            return True
        connection = self._engine.connect()
        try:
            if leader.try_lock(connection, self.name):
                self._epoch = leader.raise_epoch(connection, self.name, self.holder, now)
                self._connection = connection
        finally:
            if self._connection is None:
                connection.close()
        return self.leads

    def beat(self, status: Mapping[str, Any], now: datetime) -> None:
        """Write the heartbeat and what the loop says of itself (JSON values). Errors: LeadershipLostError."""
        epoch = self.epoch
        if self._connection is None:
            raise LeadershipLostError(self.name, epoch)
        try:
            leader.beat(self._connection, self.name, epoch, status, now)
        except SQLAlchemyError as error:
            raise LeadershipLostError(self.name, epoch) from error

    def fence(self, session: Session) -> None:
        """Call first in each writing transaction. Errors: LeadershipLostError."""
        leader.require_epoch(session, self.name, self.epoch)

    def release(self) -> None:
        """Give the lock back at once, so that the next leader need not wait for the connection to die."""
        self._epoch = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()
