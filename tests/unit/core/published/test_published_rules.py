"""When a published day gets another version, and why (docs/market-store.md#published-days)."""

from datetime import UTC, datetime, timedelta
from typing import Any

from core.published.rules import (
    PublishCause,
    PublishedSeries,
    PublishedVersion,
    as_of,
    cause_of,
)
from tests.each import each

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOON + timedelta(microseconds=1)
SERIES = PublishedSeries(
    "rates", "v2", lambda figures: figures["rate"] is not None, lambda figures: figures["rate"]
)


def before(rate: float | None, rules: str = "v2") -> PublishedVersion:
    cause = PublishCause.FIRST
    return PublishedVersion("rates", NOON.date(), 1, NOON, NOON, cause, rules, {"rate": rate})


@each(
    ("old", "fresh"),
    [(None, True), (before(None), True), (before(0.0), False), (before(0.5), False)],
)
def test_the_moment_of_a_day__is_that_of_its_first_figure(old: Any, fresh: bool) -> None:
    assert as_of(SERIES, old, LATER) == (LATER if fresh else NOON)


@each(
    ("old", "at", "figures", "cause"),
    [
        (None, LATER, {"rate": None}, "first"),
        (None, LATER, {"rate": 0.5}, "first"),
        (before(0.5), NOON, {"rate": 0.5, "note": "not compared"}, None),
        (before(0.5), NOON, {"rate": 0.6}, "late_inputs"),
        (before(0.5), NOON, {"rate": None}, "late_inputs"),
        (before(0.5, "v1"), NOON, {"rate": 0.6}, "correction"),
        (before(0.5, "v1"), NOON, {"rate": 0.5}, None),
        (before(0.5), LATER, {"rate": 0.6}, None),
        (before(None), LATER, {"rate": None, "why": "still nothing"}, None),
        (before(None), LATER, {"rate": 0.6}, "late_inputs"),
        (before(None, "v1"), LATER, {"rate": 0.6}, "correction"),
    ],
)
def test_a_version__is_written_when_a_figure_of_the_moment_changed(
    old: Any, at: datetime, figures: dict[str, Any], cause: str | None
) -> None:
    assert cause_of(SERIES, old, at, figures) == cause
