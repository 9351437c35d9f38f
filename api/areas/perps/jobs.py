"""The slow job `perps`: reads the bound accounts at the perpetuals venue that are due, without a
key (docs/perpetuals.md).

    claim those that are due --> commit --> ask the venue, one by one --> the leg, and the owner's alert

Laws
- A leg that cannot be read holds up no other: it is asked for less and less often.
- A venue that is down or slow is not asked for every leg: after MOST_UNREADABLE in a row, or RUN_S,
  the run ends, and the rest is due at the next one.
"""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import structlog

from api.kernel.jobs import AreaJob, JobPlace
from core.errors import OutsideError, text_of
from core.jobs.schedule import JobSkippedError, RunTime
from core.perps import queries as legs
from core.perps.queries import Leg
from core.perps.readings import record_reading
from core.perps.rules.leg import READ_S, AccountReading, Degraded
from core.perps.venue import PerpsVenue

NAME = "perps"
A_RUN = 50
MOST_UNREADABLE = 5
RUN_S = 20.0
LIMIT_S = 60

log = structlog.get_logger("worker")


def run(
    place: JobPlace, now: datetime, clock: Callable[[], float] = time.monotonic
) -> Mapping[str, Any]:
    """How many legs were read, and how many of them were degraded. `clock`: seconds, for the length
    of a run.

    Errors: JobSkippedError; the database's.
    """
    venue = place.perps
    if venue is None:
        raise JobSkippedError("HL_URL is not set: the perpetuals leg is off")
    with place.database.write() as session:
        due = legs.claim_due(session, now, A_RUN)
    read = degraded = unreadable = 0
    time_of_run = RunTime(RUN_S, clock)
    for leg in due:
        reading = _reading(venue, leg)
        with place.database.write() as session:
            record_reading(session, leg.id, reading, venue.source, now)
        read, degraded = read + 1, degraded + (reading.reason is not None)
        unreadable = unreadable + 1 if reading.reason is Degraded.UNREADABLE else 0
        if unreadable == MOST_UNREADABLE or time_of_run.is_over:
            break
    return {"due": len(due), "read": read, "degraded": degraded}


def _reading(venue: PerpsVenue, leg: Leg) -> AccountReading:
    try:
        return venue.read_account(leg.owner_address, leg.agent_address, leg.dex)
    except OutsideError as error:
        log.warning("leg not read", leg=leg.id, error=text_of(error))
        return AccountReading(worth_usdc_e6=None, reason=Degraded.UNREADABLE)


JOBS: Final = (AreaJob(NAME, READ_S, LIMIT_S, run),)
