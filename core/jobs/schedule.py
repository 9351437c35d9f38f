"""Slow jobs on APScheduler: when each runs, who runs it, and the row of each run.

    due --> the job's lock --> row "under way" --> run --> row: ok, failed or skipped, with what it did
               |    +-- another process ran it meanwhile: due every_s after that start
               +------- another process runs it

Laws
- A job never overlaps itself, in one process or in two, and a missed time is made up once.
- What a run writes is committed on the connection that holds the job's lock: whoever lost the lock
  can commit nothing more, so that any number of workers need no leader. The server ends a connection
  that is silent for twice the job's limit, as that of a frozen process is.
- With the lock, what is still under way was left by a process that ended: it is marked as failed.
- A run computes, and waits for others, outside of transactions: it reads a part of what there is to
  do, works it out, writes it and commits. A part is bounded by a count, the run by its time (RunTime).
- What a row keeps of an error is one sentence of our own; an error of a library is named by its
  type, since its text may hold anything.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeAlias, TypeVar

import structlog
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from psycopg import Error as PsycopgError
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DisconnectionError, OperationalError

from core.db import locks
from core.db.engine import Database, ReadSession, WriteSession, as_sqlalchemys
from core.errors import MandateError, OutsideError, text_of
from core.jobs import queries as rows
from core.watchdog import Watchdog

ERROR_CHARACTERS: Final = 300
EARLY: Final = timedelta(seconds=1)  # timers are not exact
SIGN_S: Final = 1
STUCK_S: Final = 60  # of the scheduler itself
DEFAULTS: Final = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}

PlaceT = TypeVar("PlaceT")
log = structlog.get_logger("jobs")


class JobSkippedError(Exception):
    """There is nothing for the job to do here; its text says why."""


class RunTime:
    """The seconds that one run of a job may take. What it has not done by then waits for the next one,
    so that it asks after each part, and never before the first.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._until = clock, clock() + seconds

    @property
    def is_over(self) -> bool:
        return self._clock() >= self._until


@dataclass(frozen=True, slots=True)
class LockedDatabase:
    """Writes on the connection that holds a job's lock, and never on another."""

    database: Database
    holder: Connection

    def read(self) -> AbstractContextManager[ReadSession]:
        return self.database.read()

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        """A transaction, committed when the block ends. Errors: the database's."""
        if self.holder.invalidated:  # SQLAlchemy would connect again
            raise DisconnectionError("the connection that holds the job's lock is gone")
        try:
            with WriteSession(self.holder, expire_on_commit=False) as session, session.begin():
                yield session
        except PsycopgError as error:
            raise as_sqlalchemys(error) from error


JobDatabase: TypeAlias = Database | LockedDatabase
"""What a run reads and writes by."""


@dataclass(frozen=True)  # generic: frozen with slots is refused by typing
class Job(Generic[PlaceT]):
    """Something to do every `every_s` seconds, within `limit_s`.

    `run` is given what it works with and the time, and says in few words and numbers (JSON) what it
    did. Under `core.jobs.rules.ATTENTION` it may say what a person has to do. Errors of `run`:
    JobSkippedError; any other is a failure.
    """

    name: str
    every_s: int
    limit_s: int
    run: Callable[[PlaceT, datetime], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Schedule(Generic[PlaceT]):
    """Runs jobs between `start` and `stop`.

    `place`: what a job works with, around the database of its run. `holder`: who this is, for the
    rows. `ends_process`: whether a run past twice its limit, or a scheduler that hangs, ends it.
    """

    database: Database
    jobs: Sequence[Job[PlaceT]]
    place: Callable[[JobDatabase], PlaceT]
    holder: str
    clock: Callable[[], datetime]
    ends_process: bool
    _scheduler: BackgroundScheduler = field(
        default_factory=lambda: BackgroundScheduler(timezone=UTC, job_defaults=DEFAULTS)
    )

    def start(self) -> None:
        """Every job is tried at once; one that is not due waits until it is."""
        now = self.clock()
        for job in self.jobs:
            of_job = {"id": job.name, "seconds": job.every_s, "next_run_time": now}
            self._scheduler.add_job(self._due, "interval", (job,), **of_job)
        if self.ends_process:
            watchdog = Watchdog(STUCK_S)
            self._scheduler.add_executor(DebugExecutor(), "scheduler's own thread")
            of_sign = {"seconds": SIGN_S, "executor": "scheduler's own thread"}
            self._scheduler.add_job(watchdog.sign, "interval", **of_sign)
            watchdog.start()
        self._scheduler.start()

    def stop(self) -> None:
        """No further run begins; the process ends with the last one that is under way."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def run(self, job: Job[PlaceT]) -> None:
        """One run, recorded, unless another process runs the job or ran it just now.

        Errors: what the job raised; the database's, after which the next run ends the row.
        """
        with self.database.direct.connect() as connection:
            lock = locks.own(f"job:{job.name}")
            with connection.begin():
                if not lock.try_hold(connection):
                    return
                silent_s = func.set_config("idle_session_timeout", f"{2 * job.limit_s}s", False)
                connection.execute(select(silent_s))
            try:
                self._run_locked(job, LockedDatabase(self.database, connection))
            finally:
                if not connection.invalidated:
                    lock.release(connection)
                    connection.commit()

    def _due(self, job: Job[PlaceT]) -> None:
        """The scheduler's call.

        An outside failure is logged once, by its run; a defect goes on to the scheduler's log.
        """
        with Watchdog(2 * job.limit_s, job=job.name) if self.ends_process else nullcontext():
            try:
                self.run(job)
            except (DisconnectionError, OperationalError) as error:
                log.warning("job cut short", job=job.name, kind=type(error).__name__)
            except OutsideError:
                return

    def _run_locked(self, job: Job[PlaceT], database: LockedDatabase) -> None:
        started_at, run_id = self.clock(), None
        with database.write() as session:
            abandoned = rows.end_abandoned(session, started_at, job.name)
            last = rows.last_start(session, job.name)
            period = timedelta(seconds=job.every_s)
            due_at = started_at if last is None else last + period
            if last is None or abs(started_at - last) >= period - EARLY:
                run_id = rows.begin(session, job.name, job.every_s, self.holder, started_at)
        for name in abandoned:
            log.warning("job ended with its process", job=name)
        if run_id is None:
            if self._scheduler.running:
                self._scheduler.modify_job(job.name, next_run_time=due_at)
            return
        outcome, did = "ok", dict[str, Any]()
        reason: str | None = None
        try:
            did |= job.run(self.place(database), started_at)
        except JobSkippedError as error:
            outcome, reason = "skipped", _kept_of(error)
        except Exception as error:
            log.error("job failed", job=job.name, error=text_of(error), kind=type(error).__name__)
            outcome, reason = "failed", _kept_of(error)
            raise
        finally:
            with database.write() as session:
                rows.end(session, run_id, outcome, reason, did, self.clock())


def _kept_of(error: BaseException) -> str:
    """What the row keeps of an error."""
    is_ours = isinstance(error, MandateError | OutsideError | JobSkippedError)
    return text_of(error, ERROR_CHARACTERS) if is_ours else type(error).__name__
