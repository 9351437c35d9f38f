"""The worker's process: the slow jobs of all areas (api/areas/<area>/jobs.py), beside the keeper and
without its keys. `python -m api.worker`

    settings --> nodes of another chain are left out --> each job when it is due (core.jobs.schedule)

Laws
- A job that hangs, fails or eats memory holds up no stop: the keeper is another process.
- Any number of workers stand side by side; each job has one run at a time over all of them.
- It loads nothing of what serves HTTP.
"""

import gc
import os
import signal
import socket
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import structlog
from sqlalchemy.exc import OperationalError

from api.kernel.jobs import JobPlace, area_jobs
from api.tables import import_tables
from core.chain.nodes import Nodes
from core.db.engine import Bounds, Database
from core.errors import OutsideError, text_of
from core.jobs import queries as job_runs
from core.jobs.rules import KEEPERS
from core.jobs.schedule import Schedule
from core.mandate.chain.reader import VaultReader
from core.perps.hyperliquid_desk import HyperliquidDesk
from core.startup import read_settings, refusals
from core.watchdog import Watchdog

NAME: Final = "worker"
BOUNDS: Final = Bounds(overflow=25)  # of ten runs at once: the job's lock, and what each reads by
CALLS_PER_S: Final = 5  # of each node: slow jobs leave the rest of its budget to the keeper
RETRY_S: Final = 1.0
START_S: Final = 120.0

# Objects. A build of the Hall makes a hundred thousand rows that die together: the collector's default
# looks at them over and over, and takes a third of its time. Ten times as many would let the garbage of
# small jobs pile up for ten minutes: 25 MiB.
COLLECT_AFTER: Final = 10_000

log = structlog.get_logger(NAME)


def main() -> None:
    """Run the slow jobs until SIGTERM."""
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    gc.set_threshold(COLLECT_AFTER)
    import_tables()
    settings = read_settings()
    with refusals():
        contracts = settings.deployment().contracts
    database = Database(settings.database_url, application_name=NAME, bounds=BOUNDS)
    nodes = Nodes(list(settings.rpc_urls), calls_per_s=CALLS_PER_S)
    place = JobPlace(
        database=database,
        reader=VaultReader(nodes, contracts),
        mark_retention_days=settings.keeper_mark_retention_days,
        intent_retention_days=settings.keeper_intent_retention_days,
        perps=None if settings.hl_url is None else HyperliquidDesk(settings.hl_url),
        limits=settings,
    )
    schedule = Schedule(
        database=database,
        jobs=area_jobs(),
        place=lambda of_run: replace(place, database=of_run),
        holder=f"{socket.gethostname()}:{os.getpid()}",
        clock=lambda: datetime.now(UTC),
        ends_process=True,
    )
    names = [job.name for job in schedule.jobs]
    while not ended.is_set():
        with Watchdog(START_S):
            if _is_ready(nodes, settings.chain_id, database, names):
                log.info("working", jobs=names)
                schedule.start()
                break
        ended.wait(RETRY_S)
    ended.wait()
    schedule.stop()
    log.info("stopped")


def _is_ready(nodes: Nodes, chain_id: int, database: Database, names: list[str]) -> bool:
    """Whether a node and the database answered; jobs that exist no more are forgotten."""
    try:
        nodes.keep_to(chain_id)
        with database.write() as session:
            job_runs.forget_others(session, [*names, *KEEPERS])
    except (OutsideError, OperationalError) as error:
        log.error("slow jobs not started", error=text_of(error), kind=type(error).__name__)
        return False
    return True


if __name__ == "__main__":
    main()
