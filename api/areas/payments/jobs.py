"""The slow job `settlements`: what payments that a key of ours settled cost, by the chain, where no
call came to see the receipt.

    open, the oldest first --A_RUN a run, on from where the last one ended--> receipt --> its cost in place of what was reserved

Laws
- Whoever never comes again is accounted for all the same; a payer that does is judged by its own
  call (api.payments.gas).
- Unknown is never zero: what has no receipt goes on to count with the most that it can cost, and is
  looked for again each time round.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from api.kernel.jobs import AreaJob, JobPlace
from core.chain.errors import RpcUnreachableError
from core.errors import OutsideError, text_of
from core.payments import settlements
from core.payments.chain import cost_of
from core.payments.rules import Sent

NAME = "settlements"
EVERY_S = 60
LIMIT_S = 600
A_RUN = 100
PATIENCE = timedelta(minutes=1)  # while the call that sent it still waits

log = structlog.get_logger("worker")


class Settlements:
    """Give `run` to a job: it keeps how far the round is."""

    def __init__(self) -> None:
        self._seen_id = 0

    def run(self, place: JobPlace, now: datetime) -> Mapping[str, Any]:
        """How many were looked for, and how many of them are accounted for now.

        Errors: RpcUnreachableError, the database's.
        """
        with place.database.read() as session:
            sent = settlements.open_after(session, self._seen_id, now - PATIENCE, A_RUN)
        closed = sum(_is_closed(place, one) for one in sent)
        self._seen_id = sent[-1].id if len(sent) == A_RUN else 0
        return {"open": len(sent), "closed": closed}


def _is_closed(place: JobPlace, one: Sent) -> bool:
    """What a node refuses of one holds up no other."""
    try:
        cost = cost_of(place.reader, one)
    except RpcUnreachableError:
        raise
    except OutsideError as error:
        log.warning(
            "skipped a settlement: its cost cannot be read", settlement=one.id, error=text_of(error)
        )
        return False
    if cost is None:
        return False
    with place.database.write() as session:
        return settlements.close(session, one.id, cost)


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, Settlements().run),)
