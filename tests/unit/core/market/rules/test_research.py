"""Two-hour figures against the statistics module; health; bursts."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.research import (
    BUCKET_US,
    BurstFacts,
    BurstSample,
    BurstTrigger,
    FeedGap,
    FeedStatus,
    MinuteColumns,
    PairPercentiles,
    burst_summary,
    burst_trigger,
    data_health,
    kpi_2h,
    percentiles,
    rank,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MINUTE_US = 60_000_000


def minutes(
    ts_us: Sequence[int], mid: Sequence[float], flags: Sequence[float] | None = None
) -> MinuteColumns:
    numbers = np.array(mid, dtype=np.float64)
    flag = np.array(flags if flags is not None else [math.nan] * len(mid))
    return MinuteColumns(
        np.array(ts_us, dtype=np.int64),
        numbers,
        numbers / 10,
        numbers * 2,
        numbers * 3,
        np.full(len(mid), math.nan),
        numbers / 5,
        numbers * 4,
        flag,
        flag,
    )


def test_a_bucket__has_its_beginning_and_not_its_end() -> None:
    found = kpi_2h(minutes([0, BUCKET_US - 1, BUCKET_US], [1.0, 2.0, 3.0]))

    assert [(one.begins_us, one.n) for one in found] == [(0, 2), (BUCKET_US, 1)]


def test_buckets__begin_at_even_hours_of_utc() -> None:
    at = int(datetime(2026, 3, 1, 13, 59, tzinfo=UTC).timestamp()) * 1_000_000
    (found,) = kpi_2h(minutes([at], [1.0]))

    assert datetime.fromtimestamp(found.begins_us / 1e6, UTC) == NOW


def test_what_is_not_known__is_none_and_in_no_share() -> None:
    (found,) = kpi_2h(minutes([0, 1, 2], [1.0, 2.0, 4.0], [1.0, math.nan, 0.0]))

    assert found.slip_1k_bps is None
    assert (found.deposit_open, found.withdraw_open) == (0.5, 0.5)
    (unknown,) = kpi_2h(minutes([0], [1.0]))
    assert unknown.deposit_open is None


def test_a_minute_without_a_book__is_none() -> None:
    (found,) = kpi_2h(minutes([0, 1, 2], [1.0, math.nan, 4.0]))

    assert (found.n, found.open, found.close, found.coverage) == (2, 1.0, 4.0, 2 / 120)
    assert found.rv == pytest.approx(math.log(4))
    assert kpi_2h(minutes([0], [math.nan])) == ()
    assert kpi_2h(minutes([], [])) == ()


@given(st.dictionaries(st.integers(0, 400), st.floats(0.5, 2_000), min_size=1, max_size=60))
def test_a_bucket__is_what_the_statistics_module_says(drawn: dict[int, float]) -> None:
    ts = sorted(drawn)
    found = kpi_2h(minutes([t * MINUTE_US for t in ts], [drawn[t] for t in ts]))

    assert sum(one.n for one in found) == len(ts)
    for one in found:
        mids = [drawn[t] for t in ts if t * MINUTE_US // BUCKET_US * BUCKET_US == one.begins_us]
        assert (one.open, one.close) == (mids[0], mids[-1])
        assert (one.low, one.high) == (min(mids), max(mids))
        assert one.spread_p50_bps == pytest.approx(statistics.median(mids) / 10)
        assert one.depth_2_usd == pytest.approx(statistics.median(mids) * 3)
        returns = [math.log(b / a) for a, b in pairwise(mids)]
        assert one.rv == pytest.approx(math.sqrt(sum(r * r for r in returns)), abs=1e-9)
        assert one.spread_p5_bps <= one.spread_p50_bps <= one.spread_p95_bps


def test_a_percentile__is_a_middle_rank() -> None:
    assert rank(3, [1, 2, 3, 4]) == 62.5
    assert rank(1, [1, 1, 1]) == 50.0
    assert rank(0, [1]) == 0.0
    assert rank(2, [1]) == 100.0
    assert percentiles(3, [1, 2, 3, 4], []) == PairPercentiles(62.5, None)


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


@pytest.mark.parametrize(
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
    return data_health(
        [since + n * MINUTE for n in received], skews or [], {"crossed": rejected}, since, NOW
    ).status


WHOLE = list(range(1, 61))


@pytest.mark.parametrize(
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


def test_gaps__are_three_minutes_and_more() -> None:
    since = NOW - 10 * MINUTE
    at = [since + n * MINUTE for n in (1, 3, 6, 7, 8, 9, 10)]
    found = data_health(at, [], {}, since, NOW)

    assert found.gaps == (FeedGap(since + 3 * MINUTE, since + 6 * MINUTE),)
    assert (found.expected, found.received, found.coverage) == (10, 7, 0.7)
    assert found.staleness_s == 0
