"""The one place of the tick where whatever goes wrong is held: with one vault or one request, while
the others go on.
"""

from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.db.leadership import LeadershipLostError

T = TypeVar("T")

log = structlog.get_logger("keeper")


def isolated(do: Callable[[], T], **about: object) -> T | None:
    """What `do` answers; None when it raised, which is logged with `about`.

    A lost lead and a database in trouble are everybody's.
    """
    try:
        return do()
    except (LeadershipLostError, SQLAlchemyError):
        raise
    except Exception:  # nothing that one of many vaults brings may stop the others
        log.exception("skipped one item after an unexpected error", **about)
        return None
