"""The slow job `rooms`: bonds of posts that are due are returned (docs/rooms.md#the-bond)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from api.areas.rooms.writes.bonds import return_bonds
from api.kernel.jobs import AreaJob, JobPlace

NAME: Final = "rooms"
EVERY_S: Final = 60
LIMIT_S: Final = 300
BONDS_A_TURN: Final = 50  # approvals wait no longer than these take
TURNS_A_RUN: Final = 20  # the rest follows in the next runs


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many bonds were returned. Errors: the database's."""
    returned = 0
    for _ in range(TURNS_A_RUN):
        with place.database.write() as session:
            some = return_bonds(session, now, BONDS_A_TURN)
        returned += some
        if some < BONDS_A_TURN:
            break
    return {"returned": returned}


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, run),)
