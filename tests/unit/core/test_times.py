"""Unix seconds as text, and where a UTC day begins and ends."""

from datetime import UTC, datetime, timedelta, timezone

from core.times import next_day, start_of_day, utc_text, utc_text_or_none, utc_words
from tests.each import each


def test_time__written__is_iso_in_utc() -> None:
    assert utc_text(1_767_225_600) == "2026-01-01T00:00:00Z"
    assert utc_words(1_767_225_599) == "2025-12-31 23:59:59 UTC"


def test_unknown_time__written__stays_unknown() -> None:
    assert utc_text_or_none(None) is None
    assert utc_text_or_none(0) == "1970-01-01T00:00:00Z"


DAY, INSTANT = datetime(2026, 11, 2, tzinfo=UTC), timedelta(microseconds=1)


@each("at", [DAY, DAY + timedelta(days=1) - INSTANT, DAY.astimezone(timezone(timedelta(hours=-5)))])
def test_a_day__is_from_midnight_utc_to_the_next(at: datetime) -> None:
    assert (start_of_day(at), next_day(at)) == (DAY, DAY + timedelta(days=1))


def test_a_day__begins_at_midnight_itself() -> None:
    assert next_day(DAY - INSTANT) == DAY
