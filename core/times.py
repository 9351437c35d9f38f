"""Time as unix seconds inside, ISO 8601 in UTC outside.

Law: nothing here reads a clock; `now` is an argument everywhere.
"""

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache

DAY_S = 86_400


def start_of_day(now: datetime) -> datetime:
    """00:00 UTC of an aware time's day."""
    return datetime.combine(now.astimezone(UTC).date(), time(0), UTC)


def next_day(now: datetime) -> datetime:
    """00:00 UTC after an aware time: when all that is counted by UTC day begins again."""
    return start_of_day(now) + timedelta(days=1)


def utc_text(at: int) -> str:
    """Write a unix second as the API does: 1_767_225_600 is `"2026-01-01T00:00:00Z"`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_text_or_none(at: int | None) -> str | None:
    """Write a unix second as the API does; unknown stays unknown."""
    return None if at is None else utc_text(at)


def utc_words(at: int) -> str:
    """Write a unix second for a sentence: 1_767_225_600 is `"2026-01-01 00:00:00 UTC"`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def whole_second(at: datetime) -> datetime:
    """The time itself, or the next whole second: who waits until what `instant_text` writes of it
    has waited long enough.
    """
    return at if at.microsecond == 0 else at.replace(microsecond=0) + timedelta(seconds=1)


def instant_text(at: datetime) -> str:
    """Write an aware time as the API does, fractions of a second cut off:
    `"2026-01-01T00:00:00Z"`.
    """
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


@lru_cache(maxsize=4_096)
def exact_instant_text(at: datetime) -> str:
    """Write an aware time as hashed records do, always with six decimals, so that equal times are
    equal text: `"2026-02-02T09:00:00.000000Z"`.
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant_text_or_none(at: datetime | None) -> str | None:
    """Write an aware time as the API does; unknown stays unknown."""
    return None if at is None else instant_text(at)
