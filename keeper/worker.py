"""The worker's process: the slow jobs of all contexts (keeper.areas), beside the keeper and without
its keys. `python -m keeper.main work`

    settings --> lead `worker`, or wait to --> jobs of keeper/areas/*.py, each when it is due (keeper.schedule) --> a row a run

Laws
- A job that hangs, fails or eats memory holds up no stop: the keeper is another process.
- One worker leads; a spare takes over as a keeper's does. Each write is fenced by the leader's
  epoch.
"""

import os
import socket
import threading
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path

import structlog
from sqlalchemy.exc import OperationalError

from core.chain.nodes import Nodes
from core.db.engine import Database
from core.db.leadership import TRY_S, Leadership, LeadershipLostError
from core.earn.limits import payout_limits
from core.errors import OutsideError, text_of
from core.jobs import queries as job_runs
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.perps.venue import PerpsVenue
from core.targets.limits import target_limits
from core.watchdog import Watchdog
from keeper import funds, perps_closing
from keeper.schedule import Job, JobPlace, Schedule

NAME = "worker"
AREAS = Path(__file__).parent / "areas"
SIGN_S = 1.0
WATCHDOG_S = 60
KEEPERS = (funds.NAME, perps_closing.NAME)  # jobs of the keeper's process
CALLS_PER_S = 5  # of each node: slow jobs leave the rest of its budget to the keeper

# Objects. A build of the Hall makes a hundred thousand rows that die together: the
# collector's default looks at them over and over, and takes a third of its time.
COLLECT_AFTER = 200_000

log = structlog.get_logger(NAME)


def jobs_of(place: JobPlace) -> tuple[Job, ...]:
    """Every slow job of the contexts.

    Errors: ValueError when two have one name: their runs are found by it; and when a module has
    none.
    """
    modules = {
        name: import_module(name)
        for file in sorted(AREAS.glob("*.py"))
        if file.stem != "__init__"
        for name in (f"keeper.areas.{file.stem}",)
    }
    for name, module in modules.items():
        if not callable(getattr(module, "jobs", None)):
            raise ValueError(f"{name} must export jobs(place) (CONTRIBUTING.md#a-slow-job)")
    found = tuple(job for module in modules.values() for job in module.jobs(place))
    names = [job.name for job in found]
    twice = {name for name in names if names.count(name) > 1} | (set(KEEPERS) & set(names))
    if twice:
        raise ValueError(f"two slow jobs are named {', '.join(sorted(twice))}; rename one")
    return found


class Worker:
    """`run` until `end`. `place`: what jobs work with, but for the fence, which the lead gives."""

    def __init__(
        self,
        *,
        database_url: str,
        rpc_urls: list[str],
        contracts: dict[str, str],
        chain_id: int,
        clock: Callable[[], datetime],
        mark_retention_days: int,
        intent_retention_days: int,
        limits: CallerLimits,
        perps: PerpsVenue | None = None,
    ) -> None:
        self._clock = clock
        self._chain_id = chain_id
        self._database = Database(database_url, application_name=NAME)
        self._reader = VaultReader(Nodes(rpc_urls, calls_per_s=CALLS_PER_S), contracts)
        self._leadership = Leadership(database_url, NAME, f"{socket.gethostname()}:{os.getpid()}")
        self._place = JobPlace(
            database=self._database,
            reader=self._reader,
            fence=self._leadership.fence_beside,
            mark_retention_days=mark_retention_days,
            intent_retention_days=intent_retention_days,
            perps=perps,
            payouts=payout_limits(limits),
            targets=target_limits(limits),
        )
        self._watchdog = Watchdog(WATCHDOG_S)
        self._schedule: Schedule | None = None
        self._ended = threading.Event()
        self.exit_code = 0

    def end(self, exit_code: int = 0) -> None:
        """Ask the loop to end. Safe in a signal handler."""
        self.exit_code = exit_code
        self._ended.set()

    def run(self) -> None:
        self._watchdog.start()
        while not self._ended.wait(SIGN_S if self._leadership.leads else TRY_S):
            self._step()
            self._watchdog.sign()
        if self._schedule is not None:
            self._schedule.stop()
        self._leadership.release()
        self._database.close()
        self._reader.rpc.close()

    def _step(self) -> None:
        try:
            if not self._leadership.try_take(self._clock()):
                return
            self._schedule = self._schedule or self._started()
            self._leadership.beat({"state": "working"})
        except LeadershipLostError as error:
            log.error("no longer leading", error=str(error))
            self.end(exit_code=1)
        except (OutsideError, OperationalError) as error:
            log.error("slow jobs not started", error=text_of(error), kind=type(error).__name__)

    def _started(self) -> Schedule:
        self._reader.rpc.keep_to(self._chain_id)
        jobs = jobs_of(self._place)
        with self._database.write() as session:
            self._place.fence(session)
            job_runs.forget_others(session, [*(job.name for job in jobs), *KEEPERS])
        schedule = Schedule(
            database=self._database,
            jobs=jobs,
            fence=self._place.fence,
            epoch=lambda: self._leadership.epoch,
            holder=self._leadership.holder,
            clock=self._clock,
        )
        schedule.start()
        log.info("working", jobs=[job.name for job in jobs], epoch=self._leadership.epoch)
        return schedule
