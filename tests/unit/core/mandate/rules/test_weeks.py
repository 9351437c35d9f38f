from datetime import UTC, datetime, timedelta

import pytest

from core.errors import InvalidParameterError
from core.mandate.rules.weeks import IsoWeek, week_from_text, week_of
from tests.each import each

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)


def test_week__one_or_two_digits__are_the_same_week() -> None:
    assert week_from_text("2026-W5", NOW) == week_from_text("2026-W05", NOW) == IsoWeek(2026, 5)
    assert IsoWeek(2026, 5).label == "2026-W05"


def test_week__is_monday_to_monday_in_utc() -> None:
    week = IsoWeek(2026, 5)
    assert (week.start_at, week.end_at) == (
        datetime(2026, 1, 26, tzinfo=UTC),
        datetime(2026, 2, 2, tzinfo=UTC),
    )


def test_week_of__the_last_second_and_the_next__are_neighbours() -> None:
    end = IsoWeek(2026, 5).end_at
    assert (week_of(end - timedelta(microseconds=1)), week_of(end)) == (
        IsoWeek(2026, 5),
        IsoWeek(2026, 6),
    )


def test_week_of__new_years_day__may_lie_in_the_old_iso_year() -> None:
    assert week_of(datetime(2027, 1, 1, tzinfo=UTC)) == IsoWeek(2026, 53)
    assert week_of(datetime(2024, 12, 30, tzinfo=UTC)) == IsoWeek(2025, 1)


def test_week__53_exists_in_long_years_only() -> None:
    assert week_from_text("2026-W53", NOW) == IsoWeek(2026, 53)
    with pytest.raises(InvalidParameterError, match="2025 has weeks 1 to 52"):
        week_from_text("2025-W53", NOW)


def test_week__the_running_one_is_fine_and_the_next_is_refused() -> None:
    assert week_from_text("2027-W01", NOW) == IsoWeek(2027, 1)
    with pytest.raises(
        InvalidParameterError, match="2027-W02 has not begun; the newest week is 2027-W01"
    ):
        week_from_text("2027-W02", NOW)


BAD = [
    "",
    "2026",
    "2026-05",
    "2026W05",
    "2026-w05",
    "2026-W",
    "2026-W0",
    "2026-W00",
    "2026-W54",
    "2026-W005",
    "26-W05",
    " 2026-W05",
    "2026-W05\n",
    "٢٠٢٦-W05",
    "0000-W01",
    "9999-W52",
]


@each("text", BAD)
def test_week__bad_text__is_refused_naming_the_field(text: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        week_from_text(text, NOW)
    assert refused.value.field == "week"


def test_week__of_the_last_year_there_is__is_one_that_has_not_begun() -> None:
    with pytest.raises(InvalidParameterError, match="9998-W01 has not begun"):
        week_from_text("9998-W01", NOW)
