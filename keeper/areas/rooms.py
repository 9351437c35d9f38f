"""The slow job `rooms`: bonds of posts that are due are returned (docs/rooms.md#the-bond)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from core.rooms.bonds import return_bonds
from keeper.schedule import Job, JobPlace

NAME: Final = "rooms"
EVERY_S: Final = 60
BONDS_A_TURN: Final = 50  # approvals wait no longer than these take
TURNS_A_RUN: Final = 20  # the rest follows in the next runs


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job(NAME, EVERY_S, lambda now: run(place, now)),)


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many bonds were returned. Errors: LeadershipLostError, the database's."""
    returned = 0
    for _ in range(TURNS_A_RUN):
        with place.database.write() as session:
            place.fence(session)
            some = return_bonds(session, now, BONDS_A_TURN)
        returned += some
        if some < BONDS_A_TURN:
            break
    return {"returned": returned}
