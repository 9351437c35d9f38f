"""Two-hour figures against the statistics module; health; bursts."""

import math
import statistics
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.research import (
    BurstFacts,
    BurstSample,
    BurstTrigger,
    FeedStatus,
    burst_summary,
    burst_trigger,
    feed_status,
    middle_slip,
    rank,
    slips_of,
)
from tests.each import each

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_a_percentile__is_a_middle_rank() -> None:
    assert rank(3, [1, 2, 3, 4]) == 62.5
    assert rank(1, [1, 1, 1]) == 50.0
    assert rank(0, [1]) == 0.0
    assert rank(2, [1]) == 100.0
    assert rank(3, []) is None


def test_a_book_that_ends_before__is_dearer_than_any_and_equal_to_its_like() -> None:
    slips = slips_of([120, 120, 0, 120, None], [8.0, None, None, 5.0, None])
    assert slips == [8.0, math.inf, 5.0]
    assert rank(math.inf, slips) == 100 * 2.5 / 3
    assert rank(math.inf, [1.0, 9.0, math.inf, math.inf]) == 75.0
    assert rank(9.0, [1.0, 9.0, math.inf, math.inf]) == 37.5


@each(
    ("counts", "slips", "middle"),
    [
        ([1, 1, 1], [8.0, None, 5.0], 8.0),
        ([1, 1, 1], [8.0, None, None], None),
        ([1, 1], [8.0, None], None),
        ([1, 0, 0], [8.0, None, None], 8.0),
        ([0], [None], None),
        ([], [], None),
    ],
)
def test_the_middle_slip__counts_books_that_end_before(
    counts: list[int], slips: list[float | None], middle: float | None
) -> None:
    assert middle_slip(counts, slips) == middle


@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_a_rank_and_its_mirror__are_100_together(among: list[int], value: int) -> None:
    one, other = rank(value, among), rank(-value, [-x for x in among])

    assert one is not None
    assert other is not None
    assert one + other == pytest.approx(100.0)


CALM = BurstFacts(
    return_bps=50.0,
    sigma_bps=10.0,
    spread_bps=30.0,
    spread_median_bps=10.0,
    depth_usd=40.0,
    depth_median_usd=100.0,
)


@each(
    ("facts", "trigger"),
    [
        (CALM, None),
        (replace(CALM, return_bps=50.1), BurstTrigger.MOVE),
        (replace(CALM, return_bps=-50.1), BurstTrigger.MOVE),
        (replace(CALM, return_bps=60.0, sigma_bps=15.0), None),
        (replace(CALM, return_bps=60.1, sigma_bps=15.0), BurstTrigger.MOVE),
        (replace(CALM, spread_bps=30.1), BurstTrigger.SPREAD),
        (replace(CALM, depth_usd=39.9), BurstTrigger.DEPTH),
    ],
)
def test_a_burst__is_triggered_past_its_bounds(
    facts: BurstFacts, trigger: BurstTrigger | None
) -> None:
    assert burst_trigger(facts, None, NOW) is trigger


def test_a_burst__waits_ten_minutes_for_the_next() -> None:
    wild = replace(CALM, return_bps=500.0)

    assert burst_trigger(wild, NOW - timedelta(seconds=599), NOW) is None
    assert burst_trigger(wild, NOW - timedelta(seconds=600), NOW) is BurstTrigger.MOVE


def samples(*mids: float) -> list[BurstSample]:
    return [
        BurstSample(NOW + timedelta(seconds=second), mid, mid / 10, mid)
        for second, mid in enumerate(mids)
    ]


def test_a_burst__recovers_when_nothing_would_trigger_any_more() -> None:
    found = burst_summary(BurstTrigger.MOVE, CALM, samples(100, 102, 100, 101, 100.4, 100))

    assert found.max_move_bps == pytest.approx(200)
    assert (found.max_spread_bps, found.min_depth_usd) == (10.2, 100)
    assert (found.recovery_s, found.samples) == (4, 6)


def test_a_burst_that_goes_on__has_no_recovery() -> None:
    assert burst_summary(BurstTrigger.MOVE, CALM, samples(100, 100, 102)).recovery_s is None


def health(
    received: list[int], *, skews: list[float] | None = None, rejected: int = 0
) -> FeedStatus:
    """Of the hour before now; the minutes in which a book came."""
    since = NOW - 60 * MINUTE
    staleness = NOW - (since + received[-1] * MINUTE) if received else None
    skew_ms = statistics.median(skews) if skews else None
    coverage = len(received) / 60
    return feed_status(len(received), rejected, coverage, staleness, MINUTE, skew_ms)


WHOLE = list(range(1, 61))


@each(
    ("received", "status"),
    [
        ([], FeedStatus.NO_DATA),
        (WHOLE, FeedStatus.OK),
        (WHOLE[:58], FeedStatus.OK),
        (WHOLE[:57], FeedStatus.STALE),
        (WHOLE[12:], FeedStatus.OK),
        (WHOLE[13:], FeedStatus.DEGRADED),
    ],
)
def test_health__is_told_by_what_came(received: list[int], status: FeedStatus) -> None:
    assert health(received) is status


def test_health__is_told_by_clocks_and_refusals() -> None:
    assert health(WHOLE, rejected=3) is FeedStatus.OK
    assert health(WHOLE, rejected=4) is FeedStatus.DEGRADED
    assert health(WHOLE, skews=[5_000.0]) is FeedStatus.OK
    assert health(WHOLE, skews=[-5_001.0, -5_001.0, 0.0]) is FeedStatus.DEGRADED
