"""Many rows, vaults or nodes in one run: one that fails is left for the next run, while the others go
on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.db.leadership import LeadershipLostError
from core.db.refused import is_time_out, refused_state
from core.jobs.rules import ATTENTION

T = TypeVar("T")

log = structlog.get_logger("jobs")


def isolated(do: Callable[[], T], *, is_joint: bool = False, **about: object) -> T | None:
    """What `do` answers; None when it raised, which is logged with `about`.

    What the database refuses of a row, and the time-outs of its locks, are the row's own, unless the
    rows share a transaction (`is_joint`); a lost lead, a lost lock of the job and a database in
    trouble end the run.
    """
    try:
        return do()
    except LeadershipLostError:
        raise
    except SQLAlchemyError as error:
        if is_joint or (refused_state(error) is None and not is_time_out(error)):
            raise
        log.exception("skipped one item after an unexpected error", **about)
    except Exception:  # nothing that one of many rows brings may stop the others
        log.exception("skipped one item after an unexpected error", **about)
    return None


def did_of(name: str, done: Sequence[bool | None]) -> Mapping[str, Any]:
    """What a job says of its rows: how many were done, and how many were left out."""
    failed = sum(one is None for one in done)
    attention = f"{failed} of {len(done)} failed and are tried again; the log has each"
    return {name: sum(map(bool, done))} | ({ATTENTION: attention} if failed else {})
