"""A series of two-hour figures for charts, coarser where it is long (docs/board.md#a-token).

two hours   |0  |2  |4  |6  |8  |10 |12 ...        points of 12 hours begin at 00:00 and 12:00 UTC
a point     |------- at, open, high .. close ------|
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from statistics import fmean, median
from typing import Any, Final

MOST_POINTS: Final = 252  # 21 days of two hours, about 55,000 characters of JSON
HOURS: Final = (2, 4, 6, 8, 12, 24)  # of a point; each divides the day


@dataclass(frozen=True, slots=True)
class SeriesFigures:
    """From `at` on. Prices in the quote currency; None: nobody knows."""

    at: datetime
    open: float | None
    high: float | None
    low: float | None
    close: float | None
    spread_p50_bps: float | None
    depth_1_usd: float | None
    depth_2_usd: float | None
    volume_24h_usd: float | None
    coverage: float | None


def hours_of(buckets: int) -> int:
    """Of a point, so that so many buckets of two hours become MOST_POINTS points at most (one more
    where the first day is cut).
    """
    return next((one for one in HOURS if buckets * HOURS[0] <= MOST_POINTS * one), HOURS[-1])


def series_of(rows: Iterable[Any], hours: int) -> list[SeriesFigures]:
    """`rows`: two-hour figures in the order of time."""
    whole_s = hours * 3600
    return [
        _point(datetime.fromtimestamp(number * whole_s, UTC), list(some))
        for number, some in groupby(rows, key=lambda row: int(row.bucket.timestamp()) // whole_s)
    ]


def _point(at: datetime, rows: Sequence[Any]) -> SeriesFigures:
    opens, closes = _known(rows, "open"), _known(rows, "close")
    expected = sum(row.expected for row in rows)
    return SeriesFigures(
        at=at,
        open=opens[0] if opens else None,
        high=_of(max, rows, "high"),
        low=_of(min, rows, "low"),
        close=closes[-1] if closes else None,
        spread_p50_bps=_of(median, rows, "spread_p50_bps"),
        depth_1_usd=_of(median, rows, "depth_1_usd"),
        depth_2_usd=_of(median, rows, "depth_2_usd"),
        volume_24h_usd=_of(fmean, rows, "volume_24h_usd"),
        coverage=rows[0].coverage
        if len(rows) == 1
        else (sum(row.n for row in rows) / expected if expected else None),
    )


def _known(rows: Iterable[Any], name: str) -> list[float]:
    return [value for row in rows if (value := getattr(row, name)) is not None]


def _of(whole: Callable[[list[float]], float], rows: Iterable[Any], name: str) -> float | None:
    known = _known(rows, name)
    return whole(known) if known else None
