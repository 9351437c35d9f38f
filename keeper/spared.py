"""The one place of the tick where whatever goes wrong is held: with one vault, one request or one
row, while the others go on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.db.leadership import LeadershipLostError
from core.db.refused import is_time_out, refused_state
from core.jobs.rules import ATTENTION

T = TypeVar("T")

log = structlog.get_logger("keeper")


def spared(do: Callable[[], T], **about: object) -> T | None:
    """What `do` answers; None when it raised, which is told with `about`.

    A lost lead and a database in trouble are everybody's.
    """
    try:
        return do()
    except (LeadershipLostError, SQLAlchemyError):
        raise
    except Exception:  # nothing that one of many vaults brings may stop the others
        log.exception("skipped one item after an unexpected error", **about)
        return None


def spared_row(do: Callable[[], T], **about: object) -> T | None:
    """As `spared`, of a row whose transaction is its own: what the database refuses of it, and the
    time-outs of its locks, are the row's as well.
    """
    try:
        return spared(do, **about)
    except SQLAlchemyError as error:
        if refused_state(error) is None and not is_time_out(error):
            raise
        log.exception("skipped one item after an unexpected error", **about)
        return None


def did_of(name: str, done: Sequence[bool | None]) -> Mapping[str, Any]:
    """What a job says of its rows: how many were done, and how many were left out."""
    failed = sum(one is None for one in done)
    attention = f"{failed} of {len(done)} failed and are tried again; the log has each"
    return {name: sum(map(bool, done))} | ({ATTENTION: attention} if failed else {})
