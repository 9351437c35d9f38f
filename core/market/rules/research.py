"""What is made of a pair's two-hour figures (core/market/rollups.py) and minutes: percentiles, health,
bursts (docs/market.md#research).

Laws
- A percentile is a middle rank: 50 where all values are equal.
- A book that ends before 10,000 dollars is dearer than any figure: its slip counts as infinite, and is
  shown as None.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

import numpy as np

GAP_FROM: Final = timedelta(minutes=3)
GAP_LOOKS: Final = 3
HEALTHY_COVERAGE: Final = 0.8
MOST_REJECTED: Final = 0.05
MOST_SKEW_MS: Final = 5_000
BURST_COOLDOWN: Final = timedelta(minutes=10)
BURST_SAMPLES: Final = 60
LEAST_MOVE_BPS: Final = 50.0
_BPS: Final = 10_000.0


@dataclass(frozen=True, slots=True)
class PairPercentiles:
    """Of the newest value; 0 to 100. None: nothing to compare with."""

    own: float | None
    peers: float | None


class BurstTrigger(StrEnum):
    MOVE = "move"
    SPREAD = "spread"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class BurstFacts:
    """Of the newest minute against the 24 hours before. return_bps: None: the minute before it was
    not measured, so no move is known. sigma_bps: of one-minute returns.
    """

    return_bps: float | None
    sigma_bps: float
    spread_bps: float
    spread_median_bps: float
    depth_usd: float
    depth_median_usd: float


@dataclass(frozen=True, slots=True)
class BurstSample:
    at: datetime
    mid: float
    spread_bps: float
    depth_usd: float


@dataclass(frozen=True, slots=True)
class BurstSummary:
    """recovery_s: from the first sample to the first from which on nothing would trigger; None: not
    within the capture.
    """

    trigger: BurstTrigger
    began_at: datetime
    max_move_bps: float
    max_spread_bps: float
    min_depth_usd: float
    recovery_s: float | None
    samples: int


class FeedStatus(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    STALE = "stale"
    NO_DATA = "no_data"


def slips_of(counts: Sequence[int | None], slips: Sequence[float | None]) -> list[float]:
    """Of the buckets that were measured, in their order; infinite where the middle book ends before."""
    pairs = zip(counts, slips, strict=True)
    return [math.inf if slip is None else slip for n, slip in pairs if n]


def middle_slip(counts: Sequence[int | None], slips: Sequence[float | None]) -> float | None:
    """The median over buckets; None: none was measured, or the middle book ends before."""
    found = slips_of(counts, slips)
    middle = median(found) if found else math.inf
    return middle if math.isfinite(middle) else None


def rank(value: float, among: Sequence[float]) -> float | None:
    """None: there is none to compare with."""
    values = np.asarray(among)
    below, equal = np.count_nonzero(values < value), np.count_nonzero(values == value)
    return middle_rank(below, equal, len(among))


def middle_rank(below: int, equal: int, count: int) -> float | None:
    """100 (below + equal / 2) / all. None: of none."""
    return 100 * (below + equal / 2) / count if count else None


def burst_trigger(
    facts: BurstFacts, last_began_at: datetime | None, now: datetime
) -> BurstTrigger | None:
    """None: nothing unusual, or less than ten minutes after the last capture began."""
    if last_began_at is not None and now - last_began_at < BURST_COOLDOWN:
        return None
    move = facts.return_bps
    if move is not None and abs(move) > max(LEAST_MOVE_BPS, 4 * facts.sigma_bps):
        return BurstTrigger.MOVE
    if facts.spread_bps > 3 * facts.spread_median_bps:
        return BurstTrigger.SPREAD
    return BurstTrigger.DEPTH if facts.depth_usd < 0.4 * facts.depth_median_usd else None


def burst_summary(
    trigger: BurstTrigger, facts: BurstFacts, samples: Sequence[BurstSample]
) -> BurstSummary:
    """`samples`: at least one, in the order of time. Moves are counted from the first."""
    first = samples[0]
    threshold = max(LEAST_MOVE_BPS, 4 * facts.sigma_bps)
    moves = [_BPS * abs(one.mid / first.mid - 1) for one in samples]
    is_calm = [
        move <= threshold
        and one.spread_bps <= 3 * facts.spread_median_bps
        and one.depth_usd >= 0.4 * facts.depth_median_usd
        for move, one in zip(moves, samples, strict=True)
    ]
    calm_from = len(samples)
    while calm_from > 0 and is_calm[calm_from - 1]:
        calm_from -= 1
    return BurstSummary(
        trigger=trigger,
        began_at=first.at,
        max_move_bps=max(moves),
        max_spread_bps=max(one.spread_bps for one in samples),
        min_depth_usd=min(one.depth_usd for one in samples),
        recovery_s=None
        if calm_from == len(samples)
        else (samples[calm_from].at - first.at).total_seconds(),
        samples=len(samples),
    )


def gap_from(cadence: timedelta) -> timedelta:
    """From when on nothing received is a gap: three looks, at least three minutes; inclusive."""
    return max(GAP_FROM, GAP_LOOKS * cadence)


def feed_status(
    received: int,
    rejected: int,
    coverage: float | None,
    staleness: timedelta | None,
    cadence: timedelta,
    skew_ms: float | None,
) -> FeedStatus:
    """Stale: nothing since `gap_from`. Degraded: less than 80 % of the samples, more than 5 %
    rejected, or a clock that is off by more than 5 seconds. `staleness` None: never measured;
    `coverage` None: nothing was expected; `skew_ms` None: the venue gives no time.
    """
    if not received:
        return FeedStatus.NO_DATA
    if staleness is None or staleness >= gap_from(cadence):
        return FeedStatus.STALE
    is_short = coverage is not None and coverage < HEALTHY_COVERAGE
    is_rejected = rejected > MOST_REJECTED * (received + rejected)
    is_skewed = skew_ms is not None and abs(skew_ms) > MOST_SKEW_MS
    return FeedStatus.DEGRADED if is_short or is_rejected or is_skewed else FeedStatus.OK
