"""The slow job `pledges`: pledges that nobody withdrew in time have lapsed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.pledges.queries import lapse
from core.pledges.rules import lapsed_before

from keeper.schedule import Job, JobPlace

A_RUN = 1_000


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job("pledges", 3_600, lambda now: run(place, now)),)


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Errors: LeadershipLostError, the database's."""
    with place.database.write() as session:
        place.fence(session)
        return {"lapsed": lapse(session, lapsed_before(now), A_RUN)}
