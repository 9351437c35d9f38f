"""ISO weeks in UTC: `2026-W05` is Monday 2026-01-26 00:00:00 to the Monday after, end exclusive."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from core.errors import InvalidParameterError

_WEEK = re.compile(r"(\d{4})-W(\d{1,2})", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 2000, 9998  # datetime ends with 9999


@dataclass(frozen=True, slots=True)
class IsoWeek:
    """`year` is the ISO year: 2026-01-01 lies in 2026-W01, 2027-01-01 in 2026-W53."""

    year: int
    week: int

    @property
    def start_at(self) -> datetime:
        """Monday 00:00:00 UTC, inclusive."""
        return datetime.combine(
            date.fromisocalendar(self.year, self.week, 1), datetime.min.time(), UTC
        )

    @property
    def end_at(self) -> datetime:
        """The next Monday 00:00:00 UTC, exclusive."""
        return self.start_at + timedelta(days=7)

    @property
    def label(self) -> str:
        return f"{self.year:04d}-W{self.week:02d}"


def week_from_text(text: str, now: datetime, field: str = "week") -> IsoWeek:
    """Read `2026-W5` or `2026-W05`. A week that has not begun is refused.

    Errors: InvalidParameterError. Source: docs/rules.md#weeks-and-days.
    """
    matched = _WEEK.fullmatch(text)
    if matched is None:
        raise InvalidParameterError(field, "write an ISO week such as 2026-W05")
    year, number = int(matched[1]), int(matched[2])
    if not _FIRST_YEAR <= year <= _LAST_YEAR or not 1 <= number <= weeks_in(year):
        rule = (
            f"{year:04d} has weeks 1 to {weeks_in(year)}"
            if _FIRST_YEAR <= year <= _LAST_YEAR
            else "write a year from 2000 to 9998"
        )
        raise InvalidParameterError(field, rule)
    week = IsoWeek(year, number)
    if week.start_at > now:
        raise InvalidParameterError(
            field, f"{week.label} has not begun; the newest week is {week_of(now).label}"
        )
    return week


def week_of(at: datetime) -> IsoWeek:
    """The week that an instant lies in."""
    year, number, _ = at.astimezone(UTC).isocalendar()
    return IsoWeek(year, number)


def weeks_in(year: int) -> int:
    """52 or 53: 28 December always lies in the last week of its year."""
    return date(year, 12, 28).isocalendar()[1]
