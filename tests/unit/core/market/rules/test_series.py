"""A long series is coarser, and says the same of its days."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from core.market.rules.series import MOST_POINTS, hours_of, series_of
from tests.each import each

DAY = datetime(2026, 11, 1, tzinfo=UTC)


def row(number: int, **fields: Any) -> SimpleNamespace:
    known = {
        "open": 1.0, "high": 2.0, "low": 0.5, "close": 1.5, "spread_p50_bps": 3.0,
        "depth_1_usd": 10.0, "depth_2_usd": 20.0, "volume_24h_usd": 100.0, "coverage": 0.5,
        "expected": 10, "n": 5,
    }  # fmt: skip
    return SimpleNamespace(bucket=DAY + timedelta(hours=2 * number), **(known | fields))


@each(
    ("buckets", "hours"),
    [(0, 2), (7 * 12, 2), (MOST_POINTS, 2), (MOST_POINTS + 1, 4), (42 * 12, 4), (90 * 12, 12)],
)
def test_a_point__is_of_as_many_hours_as_make_the_series_short(buckets: int, hours: int) -> None:
    assert hours_of(buckets) == hours


def test_a_series_of_two_hours__is_its_rows() -> None:
    (point,) = series_of([row(0)], 2)
    assert (point.at, point.open, point.close, point.coverage) == (DAY, 1.0, 1.5, 0.5)


def test_a_coarser_point__begins_with_the_first_and_ends_with_the_last() -> None:
    rows = [
        row(0, open=None, close=None, high=None, low=None, n=0),
        row(1, open=4.0, high=9.0, low=3.0, volume_24h_usd=200.0),
        row(2, low=0.1, close=7.0, depth_2_usd=40.0),
        row(6, open=8.0),
    ]
    first, second = series_of(rows, 12)
    assert (first.open, first.high, first.low, first.close) == (4.0, 9.0, 0.1, 7.0)
    assert (first.coverage, first.depth_2_usd) == (10 / 30, 20.0)
    assert (second.at, second.open) == (DAY + timedelta(hours=12), 8.0)
