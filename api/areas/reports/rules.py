"""Reports of pairs: asked for, printed beside the calls, kept (docs/reports.md).

queued --the worker takes it--> rendering --printed--> ready
            ^                       |
            '-- its process died ---'-- tried three times, or it cannot be printed --> failed

Law: an order queues a failed report again, but one that ended its process nine times stays failed:
whoever orders it cannot end processes for ever.
"""

from datetime import timedelta
from enum import StrEnum
from typing import Final

MOST_ATTEMPTS: Final = 3  # of an order
MOST_GIVEN_UP: Final = 3  # times; then no order queues it again
RENDERING_FOR: Final = timedelta(minutes=5)  # longer: its process died
BUCKET: Final = timedelta(hours=2)
KEPT_FOR: Final = timedelta(days=90)  # from the end of its two hours on, so from every order of it


class ReportState(StrEnum):
    QUEUED = "queued"
    RENDERING = "rendering"
    READY = "ready"
    FAILED = "failed"


class ReportFailure(StrEnum):
    """Why there is no PDF."""

    NO_DATA = "no_data"  # the pair was never looked at
    LIBRARY_MISSING = "library_missing"  # the server cannot print
    GAVE_UP = "gave_up"  # its process died each time


def is_spent(failure: str | None, attempts: int) -> bool:
    """Whether no order queues this failed report again."""
    return failure == ReportFailure.GAVE_UP and attempts >= MOST_ATTEMPTS * MOST_GIVEN_UP
