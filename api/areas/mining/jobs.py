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

from api.areas.earn.views.limits import payout_limits
from api.areas.mining import queries
from api.areas.mining.rules.review import MiningReviewer
from api.areas.mining.writes import reviews
from api.areas.mining.writes.gold import PROOFS
from api.areas.tasks import views as tasks
from api.kernel.jobs import AreaJob, JobPlace
from core.jobs.each import did_of, isolated

EVERY_S: Final = 60
LIMIT_S: Final = 300
A_RUN: Final = 1_000


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many entries were rejected. Errors: the database's."""
    with place.database.read() as session:
        pending = queries.pending_gold(session, A_RUN)
        proofs = tasks.proofs_of(session, [gold.entry_id for gold in pending])
    due = [
        (gold.entry_id, MiningReviewer(gold.made_by, gold.operator))
        for gold in pending
        if proofs[gold.entry_id] >= PROOFS or gold.rejects_at <= now
    ]
    done = [
        isolated(partial(_reject, place, entry_id, by, now), gold=entry_id) for entry_id, by in due
    ]
    return did_of("rejected", done)


def _reject(place: JobPlace, entry_id: int, reviewer: MiningReviewer, now: datetime) -> bool:
    with place.database.write() as session:
        return reviews.reject_gold(session, entry_id, reviewer, payout_limits(place.limits), now)


def supersede(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many entries were superseded. Errors: the database's."""
    with place.database.read() as session:
        due = queries.entries_to_supersede(session, A_RUN)
    done = [
        isolated(partial(_supersede, place, entry_id, now), superseded=entry_id) for entry_id in due
    ]
    with place.database.write() as session:
        queries.end_clearing(session)
    return did_of("superseded", done)


def _supersede(place: JobPlace, entry_id: int, now: datetime) -> bool:
    with place.database.write() as session:
        return reviews.supersede(session, entry_id, payout_limits(place.limits), now)


JOBS: Final = (
    AreaJob("gold", EVERY_S, LIMIT_S, run),
    AreaJob("superseded", EVERY_S, LIMIT_S, supersede),
)
