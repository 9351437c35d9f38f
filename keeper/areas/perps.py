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
from typing import Any

import structlog

from core.errors import OutsideError, text_of
from core.perps import queries as legs
from core.perps.queries import Leg
from core.perps.rules.leg import READ_S, AccountReading, Degraded
from core.perps.venue import PerpsVenue
from keeper.perps_readings import record_reading
from keeper.schedule import Job, JobPlace, JobSkippedError, RunTime

NAME = "perps"
A_RUN = 50
MOST_UNREADABLE = 5
RUN_S = 20.0

log = structlog.get_logger("keeper")


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job(NAME, READ_S, LegReadings(place).run),)


class LegReadings:
    """Give `run` to a Job. `clock`: seconds, for the length of a run."""

    def __init__(self, place: JobPlace, clock: Callable[[], float] = time.monotonic) -> None:
        self._place = place
        self._clock = clock

    def run(self, now: datetime) -> Mapping[str, Any]:
        """How many legs were read, and how many of them were degraded.

        Errors: JobSkippedError; LeadershipLostError, the database's.
        """
        venue = self._place.perps
        if venue is None:
            raise JobSkippedError("HL_URL is not set: the perpetuals leg is off")
        with self._place.database.write() as session:
            self._place.fence(session)
            due = legs.claim_due(session, now, A_RUN)
        read = degraded = unreadable = 0
        run = RunTime(RUN_S, self._clock)
        for leg in due:
            reading = _reading(venue, leg)
            self._save(leg, reading, venue.source, now)
            read, degraded = read + 1, degraded + (reading.reason is not None)
            unreadable = unreadable + 1 if reading.reason is Degraded.UNREADABLE else 0
            if unreadable == MOST_UNREADABLE or run.is_over:
                break
        return {"due": len(due), "read": read, "degraded": degraded}

    def _save(self, leg: Leg, reading: AccountReading, source: str, now: datetime) -> None:
        with self._place.database.write() as session:
            self._place.fence(session)
            record_reading(session, leg.id, reading, source, now)


def _reading(venue: PerpsVenue, leg: Leg) -> AccountReading:
    try:
        return venue.read_account(leg.owner_address, leg.agent_address, leg.dex)
    except OutsideError as error:
        log.warning("leg not read", leg=leg.id, error=text_of(error))
        return AccountReading(worth_usdc_e6=None, reason=Degraded.UNREADABLE)
