"""The slow job `payouts`: pays what waits of approved work (docs/payouts.md#the-queue).

Approvals drain the queue as well; the job pays when nobody approves anything, and so after each
midnight of UTC, when all caps begin again.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from api.areas.earn.ledger import awards
from api.areas.earn.views.limits import payout_limits
from api.kernel.jobs import AreaJob, JobPlace

NAME: Final = "payouts"
EVERY_S: Final = 30
LIMIT_S: Final = 300
LOOKS_A_RUN: Final = 100  # what is left follows in the next run


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many items were paid, and how much. Errors: the database's."""
    paid_credits = items = 0
    for _ in range(LOOKS_A_RUN):
        with place.database.write() as session:
            drained = awards.drain(session, payout_limits(place.limits), now, looks=1)
        paid_credits += drained.paid_credits
        items += drained.items
        if drained.is_done:
            break
    return {"items": items, "paid_credits": paid_credits}


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, run),)
