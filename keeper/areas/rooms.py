"""The slow job `rooms`: bonds of posts that are due are returned (docs/rooms.md#the-bond)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from core.rooms.bonds import return_bonds
from keeper.schedule import Job, JobPlace

NAME: Final = "rooms"
EVERY_S: Final = 60
BONDS_A_RUN: Final = 1_000  # the rest follows in the next runs
BONDS_A_TURN: Final = 100  # as long as payouts wait for it


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job(NAME, EVERY_S, lambda now: run(place, now)),)


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Errors: LeadershipLostError, the database's."""
    returned = 0
    while returned < BONDS_A_RUN:
        with place.database.write() as session:
            place.fence(session)
            some = return_bonds(session, now, min(BONDS_A_TURN, BONDS_A_RUN - returned))
        if not some:
            break
        returned += some
    return {"returned": returned}
