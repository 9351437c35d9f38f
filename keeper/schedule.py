"""Slow jobs beside a loop, in the leader's process alone.

The keeper runs `balances`, the worker the jobs of the contexts (keeper.areas).

    the lead is gained --> runs that ended with their process are marked as failed --> each job is due every_s after its last start
    due --> row "under way" --> run --> row: ok, failed or skipped, with what it did

Laws
- A job never overlaps itself, and a missed time is made up once, not as often as it was missed.
- A failure is logged and recorded, and the next run still happens.
- All writes are fenced by the leader's epoch. They are no sign of the tick: a job that goes on must
  not hide a tick that hangs.
- A run computes, and waits for others, outside of transactions: it reads a part of what there is to
  do, works it out, writes it and commits. A part is bounded by a count, the run by its time (RunTime).
- What a row keeps of an error is one sentence of our own; an error of a library is named by its
  type, since its text may hold anything.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.db.engine import Database
from core.db.leadership import LeadershipLostError
from core.earn.rules.payout import PayoutLimits
from core.errors import MandateError, OutsideError, text_of
from core.jobs import queries as rows
from core.mandate.chain.reader import VaultReader
from core.perps.venue import PerpsVenue
from core.targets.rules import TargetLimits

ERROR_CHARACTERS = 300

log = structlog.get_logger("keeper")


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
class Job:
    """Something to do every `every_s` seconds.

    `run` is given the time, and says in few words and numbers (JSON) what it did.

    Under `core.jobs.rules.ATTENTION` it may say what a person has to do. Errors of `run`:
    JobSkippedError; any other is a failure.
    """

    name: str
    every_s: int
    run: Callable[[datetime], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """What the jobs of contexts work with.

    `fence`: of the leader's epoch, to be called first in each writing transaction. `payouts`: the
    caps of what approved work is paid. `targets`: how many of a subscriber's are active. `perps`:
    None while the perpetuals leg is off.
    """

    database: Database
    reader: VaultReader
    fence: Callable[[Session], None]
    mark_retention_days: int
    intent_retention_days: int
    payouts: PayoutLimits
    targets: TargetLimits
    perps: PerpsVenue | None = None


@dataclass(slots=True, kw_only=True)
class Schedule:
    """Runs jobs while its process leads.

    `fence`: of the leader's epoch, called first in each transaction.
    """

    database: Database
    jobs: Sequence[Job]
    fence: Callable[[Session], None]
    epoch: Callable[[], int]
    holder: str
    clock: Callable[[], datetime]
    _scheduler: BackgroundScheduler = field(
        default_factory=lambda: BackgroundScheduler(timezone=UTC)
    )

    def start(self) -> None:
        """Call it once, leading. Errors: LeadershipLostError, the database's."""
        now = self.clock()
        last_starts = self._tidied(now)
        for job in self.jobs:
            due_at = (
                last_starts[job.name] + timedelta(seconds=job.every_s)
                if job.name in last_starts
                else now
            )
            self._scheduler.add_job(
                self._due,
                "interval",
                (job,),
                id=job.name,
                seconds=job.every_s,
                next_run_time=max(now, due_at),
                max_instances=1,
                coalesce=True,
                misfire_grace_time=None,
            )
        self._scheduler.start()

    def stop(self) -> None:
        """No further run begins; one that is under way ends with the process."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def _due(self, job: Job) -> None:
        """The scheduler's call.

        An outside failure is told once, by its run; a defect goes on to the scheduler's log.
        """
        try:
            self.run(job)
        except (LeadershipLostError, OperationalError) as error:
            log.warning("job cut short", job=job.name, kind=type(error).__name__)
        except OutsideError:
            return

    def run(self, job: Job) -> None:
        """One run, recorded. Errors: what the job raised; LeadershipLostError, after which the next
        leader ends the row; the database's.
        """
        started_at = self.clock()
        with self.database.write() as session:
            self.fence(session)
            run_id = rows.begin(
                session, job.name, job.every_s, self.epoch(), self.holder, started_at
            )
        try:
            did = job.run(started_at)
        except LeadershipLostError:
            raise
        except JobSkippedError as error:
            self._end(run_id, "skipped", _told(error), {})
        except Exception as error:
            log.error("job failed", job=job.name, error=text_of(error), kind=type(error).__name__)
            self._end(run_id, "failed", _told(error), {})
            raise
        else:
            self._end(run_id, "ok", None, did)

    def _tidied(self, now: datetime) -> dict[str, datetime]:
        """Last starts by job, after what earlier processes left was put in order."""
        with self.database.write() as session:
            self.fence(session)
            names = [job.name for job in self.jobs]
            abandoned = [
                ended for name in names for ended in rows.end_abandoned(session, now, name)
            ]
            last_starts = {run.name: run.started_at for run in rows.last_runs(session)}
        for name in abandoned:
            log.warning("job ended with its process", job=name)
        return last_starts

    def _end(self, run_id: int, outcome: str, error: str | None, did: Mapping[str, Any]) -> None:
        with self.database.write() as session:
            self.fence(session)
            rows.end(session, run_id, outcome, error, did, self.clock())


def _told(error: BaseException) -> str:
    """What the row keeps of an error."""
    is_ours = isinstance(error, MandateError | OutsideError | JobSkippedError)
    return text_of(error, ERROR_CHARACTERS) if is_ours else type(error).__name__
