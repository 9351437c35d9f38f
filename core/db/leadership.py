"""One leader a loop: a Postgres advisory lock on a connection of its own, a heartbeat row, an epoch
that fences writes.

    process A   take --- epoch 7 --- beat, beat, ... x  killed: its connection goes, and the lock with it, at once
                                                     =  frozen: connection and lock stay, the beats do not
    process B          take? no ... no ................ silent for SILENT_S: A's backend is terminated
                                                         take --- epoch 8 --- beat ...
    process A                                              (wakes) beat or fence: LeadershipLostError, it ends

    last beat ... at most BEAT_S ... frozen ... at most SILENT_S ... at most TRY_S ... taken: within 3 s

Laws
- The lock lives on a dedicated connection, never pooled: a pool might hand the lock's session to
  someone else.
- The lock alone does not fence a paused process. Each writing transaction calls `fence`. Whoever
  takes the lock ends the transactions that an earlier leader still has open, and raises the epoch;
  both before it writes anything.
- A thread beats, since one step of the loop may take longer than a spare waits. It speaks for the
  loop only while that gives signs (`beat`, `fence`): after STUCK_S without one it falls silent, and
  a spare takes over from a loop that hangs as it does from a process that is frozen. How long the
  loop has been silent stands in each beat (`LeaderRow.silent_s`).
- On any doubt (a beat that fails, a connection that breaks) the answer is LeadershipLostError; the
  process ends. A database that takes no writes leaves none: the lead is kept until it does again, and
  the epoch says whose it is then.
- A spare needs no more than the leader's own database role: it may terminate its own sessions.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from core.db import leader
from core.db.engine import AS_WE_READ, KEEPALIVE
from core.db.leader import LeaderRow, LeadershipLostError
from core.db.outage import SAID, OutageError, tell_outages
from core.db.refused import refused_state

__all__ = ["LeaderRow", "Leadership", "LeadershipLostError"]

BEAT_S = 0.5
SILENT_S = 2.0
HELD_UP_S = 1.0
TRY_S = 0.4  # how often a spare should try
# twice what one call to the chain may take (core.chain.nodes), and any database statement
STUCK_S = 60.0
BOUNDS = {"connect_timeout": 5, "options": f"{AS_WE_READ} -c statement_timeout=10000"}


class Leadership:
    """The right to run the loop called `name`. Take, beat and release from one thread at a time."""

    def __init__(
        self,
        url: str,
        name: str,
        holder: str,
        *,
        stuck_s: float = STUCK_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`url` is SQLAlchemy's (`postgresql+psycopg://`); `holder` says who this is (host and
        process id).
        """
        self.name = name
        self.holder = holder
        self._engine = create_engine(
            url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={**KEEPALIVE, **BOUNDS},
        )
        tell_outages(self._engine)
        self._stuck_s = stuck_s
        self._clock = clock
        self._connection: Connection | None = None
        self._epoch: int | None = None
        self._status: Mapping[str, Any] = {}
        self._sign_at = self._beat_at = 0.0
        self._asked_at: float | None = None  # when the beat that is under way began
        self._using = threading.Lock()  # the connection, by loop and thread
        self._released = threading.Event()
        self._heart: threading.Thread | None = None
        self._is_lost = False

    @property
    def leads(self) -> bool:
        """True from `try_take` to `release`, as far as this process knows."""
        return self._epoch is not None

    @property
    def epoch(self) -> int:
        """The epoch that this process's writes carry.

        Errors: LeadershipLostError when it does not lead.
        """
        if self._epoch is None or self._is_lost:
            raise LeadershipLostError(self.name, self._epoch or 0)
        return self._epoch

    def try_take(self, now: datetime) -> bool:
        """Become the leader if nobody is, or who is has fallen silent; True when this process
        leads. Never waits long.

        A spare calls it every TRY_S. Errors: OperationalError.
        """
        if self.leads:
            return True
        connection = self._engine.connect()
        try:
            if self._locked(connection):
                leader.end_fenced(connection, self.name)
                self._begin(connection, leader.raise_epoch(connection, self.name, self.holder, now))
        finally:
            if self._connection is None:
                connection.close()
        return self.leads

    def take_within(
        self, seconds: float, now: Callable[[], datetime], has_ended: Callable[[float], bool]
    ) -> bool:
        """Try every TRY_S for so long; `has_ended` waits as long as it is given, and True ends it.

        Errors: as `try_take`.
        """
        until = time.monotonic() + seconds
        while not self.try_take(now()):
            if time.monotonic() + TRY_S > until or has_ended(TRY_S):
                return False
        return True

    def beat(self, status: Mapping[str, Any]) -> None:
        """The loop's own sign, with what it says of itself (JSON values), written at once.

        Errors: LeadershipLostError.
        """
        self._status = dict(status)
        self._sign_at = self._clock()
        self._write_beat()

    def sign(self) -> None:
        """The loop gets on with long work that writes nothing yet; its heartbeat tells what it last
        said. From any thread.
        """
        self._sign_at = self._clock()

    def is_held_up(self) -> bool:
        """The database does not answer a beat for HELD_UP_S. From any thread."""
        asked_at = self._asked_at
        return asked_at is not None and self._clock() - asked_at > HELD_UP_S

    def fence(self, session: Session) -> None:
        """Call first in each writing transaction; a sign of the loop too.

        Errors: LeadershipLostError.
        """
        leader.require_epoch(session, self.name, self.epoch)
        self._sign_at = self._clock()

    def fence_beside(self, session: Session) -> None:
        """As `fence`, for work beside the loop: it is no sign of the loop.

        Errors: LeadershipLostError.
        """
        leader.require_epoch(session, self.name, self.epoch)

    def release(self) -> None:
        """Give the lock back at once, so that the next leader need not wait for the connection to
        die.
        """
        self._released.set()
        if self._heart is not None:
            self._heart.join()
        self._heart = self._epoch = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def _locked(self, connection: Connection) -> bool:
        if leader.try_lock(connection, self.name):
            return True
        return leader.end_silent_holder(connection, self.name, SILENT_S) and leader.try_lock(
            connection, self.name
        )

    def _begin(self, connection: Connection, epoch: int) -> None:
        self._connection, self._epoch, self._is_lost = connection, epoch, False
        self._status, self._sign_at = {}, self._clock()
        self._released.clear()
        self._heart = threading.Thread(
            target=self._beat_on, name=f"{self.name} heartbeat", daemon=True
        )
        self._heart.start()

    def _beat_on(self) -> None:
        """Beats where the loop itself has not for BEAT_S."""
        wait_s = BEAT_S
        while not self._released.wait(wait_s):
            wait_s = self._beat_at + BEAT_S - self._clock()
            if wait_s > 0:
                continue
            wait_s = BEAT_S
            if self._clock() - self._sign_at > self._stuck_s:
                continue
            try:
                self._write_beat()
            except LeadershipLostError:
                return  # the loop meets it at its next beat or fence

    def _said(self) -> dict[str, Any]:
        return {**self._status, leader.NO_PROGRESS: int(self._clock() - self._sign_at)}

    def _write_beat(self) -> None:
        with self._using:
            epoch = self.epoch
            assert self._connection is not None  # it lives as long as the epoch
            self._asked_at = self._clock()
            try:
                try:
                    leader.beat(self._connection, self.name, epoch, self._said())
                except SQLAlchemyError as error:
                    if refused_state(error) is None:
                        raise
                    self._status = {}  # words that the database does not take are no lost lead
                    leader.beat(self._connection, self.name, epoch, self._said())
                self._beat_at = self._clock()
                SAID.end()
            except OutageError:
                return  # who takes no write takes none of another leader: the lock is still held
            except (SQLAlchemyError, LeadershipLostError) as error:
                self._is_lost = True
                raise LeadershipLostError(self.name, epoch) from error
            finally:
                self._asked_at = None
