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
  loop has been silent is in each beat (`LeaderRow.silent_s`).
- Silence is measured by the database's clock alone; `since` is the leader's own, for people.
- Row locks: the fence takes FOR KEY SHARE, a new epoch FOR UPDATE, a beat neither: a beat never
  waits for a write under way, a new epoch does. So that it need not wait for a frozen one, a fenced
  transaction is also marked by an advisory lock, by which it is found.
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

from sqlalchemy import (
    Connection,
    Integer,
    Text,
    create_engine,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.pool import NullPool

from core.db import locks
from core.db.base import Base
from core.db.engine import AS_WE_READ, KEEPALIVE
from core.db.locks import Executor
from core.db.outage import SAID, OutageError, log_outages
from core.db.refused import refused_state
from core.errors import OutsideError

BEAT_S = 0.5
SILENT_S = 2.0
HELD_UP_S = 1.0
TRY_S = 0.2  # how often a spare should try
# twice what one call to the chain may take (core.chain.nodes), and any database statement
STUCK_S = 60.0
BOUNDS = {"connect_timeout": 5, "options": f"{AS_WE_READ} -c statement_timeout=10000"}
# key of the status: whole seconds since the loop itself gave a sign, as the beat saw it
NO_PROGRESS = "no_progress_s"


class LeadershipLostError(OutsideError):
    """Another process leads, or the connection that held the lock is gone. The loop must end."""

    def __init__(self, name: str, epoch: int) -> None:
        super().__init__(f"{name}: epoch {epoch} no longer leads")
        self.name = name
        self.epoch = epoch


class LeaderRow(Base):
    """Who runs a single-writer loop.

    Every write of the loop carries the epoch; `beat_at` is its heartbeat; `status` is what it last said
    of itself, for /health/ready.
    """

    __tablename__ = "leader"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    epoch: Mapped[int]
    holder: Mapped[str] = mapped_column(Text)
    backend_pid: Mapped[int] = mapped_column(Integer)
    since: Mapped[datetime]
    beat_at: Mapped[datetime]
    status: Mapped[dict[str, Any]]

    def silent_s(self, now: datetime) -> int:
        """Whole seconds since the loop itself gave a sign: the age of the beat and what the beat
        says of the loop.
        """
        age_s = max(0, int((now - self.beat_at).total_seconds()))
        return age_s + int(self.status.get(NO_PROGRESS, 0))


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
        log_outages(self._engine)
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
                # those of an earlier epoch
                locks.end_holders_of_own(connection, fence_name(self.name), 0)
                self._begin(connection, raise_epoch(connection, self.name, self.holder, now))
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
        """The loop gets on with long work that writes nothing yet; its heartbeat reports what it
        last said. From any thread.
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
        require_epoch(session, self.name, self.epoch)
        self._sign_at = self._clock()

    def fence_beside(self, session: Session) -> None:
        """As `fence`, for work beside the loop: it is no sign of the loop.

        Errors: LeadershipLostError.
        """
        require_epoch(session, self.name, self.epoch)

    def fence_alone(self, session: Session) -> None:
        """As `fence_beside`; fenced transactions under way are waited for, and others wait for the
        end of this one: short work beside the loop, by the mark of the fence, so that beats go on.

        Errors: LeadershipLostError, OperationalError when a lock is not had in time.
        """
        locks.own(fence_name(self.name)).wait(session)
        self.fence_beside(session)

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
        """The session's lock, which goes with the connection, is taken at once or not at all."""
        lock = locks.own(f"leader:{self.name}")
        if lock.try_hold(connection):
            return True
        return end_silent_holder(connection, self.name, SILENT_S) and lock.try_hold(connection)

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
        return {**self._status, NO_PROGRESS: int(self._clock() - self._sign_at)}

    def _write_beat(self) -> None:
        with self._using:
            epoch = self.epoch
            assert self._connection is not None  # it lives as long as the epoch
            self._asked_at = self._clock()
            try:
                try:
                    write_beat(self._connection, self.name, epoch, self._said())
                except SQLAlchemyError as error:
                    if refused_state(error) is None:
                        raise
                    self._status = {}  # words that the database does not take are no lost lead
                    write_beat(self._connection, self.name, epoch, self._said())
                self._beat_at = self._clock()
                SAID.end()
            except OutageError:
                return  # who takes no write takes none of another leader: the lock is still held
            except (SQLAlchemyError, LeadershipLostError) as error:
                self._is_lost = True
                raise LeadershipLostError(self.name, epoch) from error
            finally:
                self._asked_at = None


# SQL


def end_silent_holder(db: Executor, name: str, silent_s: float) -> bool:
    """Terminate the backend that holds the lock, if there was no beat for `silent_s` (inclusive);
    True when it is gone.

    Who holds it is asked of the lock as it is terminated, not of the row: a process id is used
    again. A leader takes the lock on a fresh connection, so a younger backend has had no time to
    beat yet and is left alone.
    """
    since = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, silent_s)
    beats = select(LeaderRow.epoch).where(LeaderRow.name == name, LeaderRow.beat_at > since)
    if db.execute(beats).first() is not None:
        return False
    return locks.end_holders_of_own(db, f"leader:{name}", silent_s)


def raise_epoch(db: Executor, name: str, holder: str, now: datetime) -> int:
    """Write the new leader down and return its epoch, one above the last.

    Call it with the lock held.
    """
    fresh = {
        "holder": holder,
        "backend_pid": func.pg_backend_pid(),
        "since": now,
        "beat_at": func.clock_timestamp(),
        "status": {},
    }
    # The update below would only lock FOR NO KEY UPDATE, which a fence does not wait for. The first
    # epoch is 1.
    held = select(LeaderRow.name).where(LeaderRow.name == name).with_for_update().subquery()
    first = select(literal_column("1") + 0 * func.count()).select_from(held).scalar_subquery()
    statement = insert(LeaderRow).values(name=name, epoch=first, **fresh)
    statement = statement.on_conflict_do_update(
        index_elements=[LeaderRow.name], set_={"epoch": LeaderRow.epoch + 1, **fresh}
    )
    return db.execute(statement.returning(LeaderRow.epoch)).scalar_one()


def write_beat(db: Executor, name: str, epoch: int, status: Mapping[str, Any]) -> None:
    """Say that the loop lives. Errors: LeadershipLostError when the epoch is not the newest."""
    led = update(LeaderRow).where(LeaderRow.name == name, LeaderRow.epoch == epoch)
    beat = led.values(beat_at=func.clock_timestamp(), status=dict(status))
    if db.execute(beat.returning(LeaderRow.epoch)).first() is None:
        raise LeadershipLostError(name, epoch)


def require_epoch(db: Executor, name: str, epoch: int) -> None:
    """Fence this transaction: the epoch cannot rise before it ends. Errors: LeadershipLostError."""
    locks.own(fence_name(name)).wait_shared(db)
    led = select(LeaderRow.epoch).where(LeaderRow.name == name, LeaderRow.epoch == epoch)
    if db.execute(led.with_for_update(read=True, key_share=True)).first() is None:
        raise LeadershipLostError(name, epoch)


def leader_row(session: Session, name: str) -> LeaderRow | None:
    """The newest leader of this name, or None when there never was one."""
    return session.get(LeaderRow, name, populate_existing=True)


def fence_name(name: str) -> str:
    """Of the lock that every fenced transaction holds."""
    return f"fence:{name}"
