"""Refuses the calls of a network address without a key that are more than its operation's figure
allows in 60 seconds (docs/rules.md#client-address).

    calls since the first of the 60 s    0 ........ most-1 | most
    the next call                        is served         | rate_limited until the 60 s are over

The 60 seconds of an address begin with its first call after the last 60. All processes count in one
row of Postgres, what one of them kept (kept_answers.py) like what it reads.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request

from api.kernel.http import beside, busy, credentials_of
from api.kernel.operation import Deps, Operation, Refusal
from api.kernel.outcome import Outcome
from api.kernel.refusals import refused
from api.kernel.workers import BusyError
from core.identity import calls
from core.times import instant_text, whole_second

WINDOW: Final = timedelta(seconds=60)


async def over_rate(request: Request, operation: Operation, deps: Deps) -> Outcome | None:
    """The refusal; None: the call is counted, or need not be. Whoever sends a key is held to the
    ceiling of its day instead.
    """
    name, credentials = operation.bounds.per_minute, credentials_of(request)
    if name is None or credentials.key is not None:
        return None
    most, now = int(getattr(deps.limits, name)), deps.clock()
    try:
        again_at = await beside(
            request, deps, partial(_count, deps, name, credentials.client, most, now)
        )
    except BusyError as error:
        return refused(busy(deps, error), operation, {}, now, deps.catalogue)
    except SQLAlchemyError:  # what is kept is served all the same, all else is refused by who asks
        return None
    if again_at is None:
        return None
    with deps.metrics.serving(operation.key) as served:
        at = whole_second(again_at)
        detail = (
            f"A network address may make {most} of these calls per minute without a key; call "
            f"again from {instant_text(at)} on, or send an agent's key in X-SVC-User-Key."
        )
        refusal = Refusal("rate_limited", detail, retry_at=at, next_calls=("identity.connect",))
        outcome = refused(refusal, operation, {}, now, deps.catalogue)
        served.answered(outcome.status, outcome.body)
    return outcome


def _count(deps: Deps, name: str, client: str, most: int, now: datetime) -> datetime | None:
    """Count one more call; not None: there were `most` already, and from then on there is room."""
    with deps.database.statements() as connection:
        number, since = calls.count_address(connection, name, client, now, WINDOW, most)
    return since + WINDOW if number > most else None
