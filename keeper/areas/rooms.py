"""The slow job `rooms`: bonds of posts that are due are returned (docs/rooms.md#the-bond)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from core.rooms.bonds import return_bonds
from keeper.schedule import Job, JobPlace

NAME: Final = "rooms"
EVERY_S: Final = 60
BONDS_A_RUN: Final = 1_000  # the rest follows in the next runs


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job(NAME, EVERY_S, lambda now: run(place, now)),)


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Errors: LeadershipLostError, the database's."""
    with place.database.write() as session:
        place.fence(session)
        return {"returned": return_bonds(session, now, BONDS_A_RUN)}
