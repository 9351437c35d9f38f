"""The slow jobs `gold`, which says of values that were known to be wrong that they are
(docs/mining.md#gold), and `superseded`, which ends what an approved value conflicts with.

    pending gold --five proofs are in, or 24 hours are over--> rejected as value_wrong; its re-observers are paid or owe
    pending entry beside a fact that conflicts with it --> rejected as superseded

Law: each entry is a transaction of its own, so that no review waits for more than one, and one that
fails is left for the next run, while the others go on.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from core.mining import queries, reviews
from core.mining.gold import PROOFS
from core.mining.rules.review import MiningReviewer
from core.tasks import views as tasks
from keeper.schedule import Job, JobPlace
from keeper.spared import did_of, spared_row

EVERY_S: Final = 60
A_RUN: Final = 1_000


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (
        Job("gold", EVERY_S, lambda now: run(place, now)),
        Job("superseded", EVERY_S, lambda now: supersede(place, now)),
    )


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many entries were rejected. Errors: LeadershipLostError, the database's."""
    with place.database.read() as session:
        pending = queries.pending_gold(session, A_RUN)
        proofs = tasks.proofs_of(session, [gold.entry_id for gold in pending])
    due = [
        (gold.entry_id, MiningReviewer(gold.made_by, gold.operator))
        for gold in pending
        if proofs[gold.entry_id] >= PROOFS or gold.rejects_at <= now
    ]
    done = [
        spared_row(partial(_reject, place, entry_id, by, now), gold=entry_id)
        for entry_id, by in due
    ]
    return did_of("rejected", done)


def _reject(place: JobPlace, entry_id: int, reviewer: MiningReviewer, now: datetime) -> bool:
    with place.database.write() as session:
        place.fence(session)
        return reviews.reject_gold(session, entry_id, reviewer, place.payouts, now)


def supersede(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many entries were superseded. Errors: LeadershipLostError, the database's."""
    with place.database.read() as session:
        due = queries.entries_to_supersede(session, A_RUN)
    done = [
        spared_row(partial(_supersede, place, entry_id, now), superseded=entry_id)
        for entry_id in due
    ]
    with place.database.write() as session:
        place.fence(session)
        queries.end_clearing(session)
    return did_of("superseded", done)


def _supersede(place: JobPlace, entry_id: int, now: datetime) -> bool:
    with place.database.write() as session:
        place.fence(session)
        return reviews.supersede(session, entry_id, place.payouts, now)
