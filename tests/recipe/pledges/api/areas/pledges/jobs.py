"""The slow job `pledges`: pledges that nobody withdrew in time have lapsed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from api.areas.pledges.queries import lapse
from api.areas.pledges.rules import lapsed_before

from api.kernel.jobs import AreaJob, JobPlace

A_RUN = 1_000


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Errors: the database's."""
    with place.database.write() as session:
        return {"lapsed": lapse(session, lapsed_before(now), A_RUN)}


JOBS: Final = (AreaJob("pledges", 3_600, 300, run),)
