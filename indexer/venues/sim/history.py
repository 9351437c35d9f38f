"""The simulator's past in two-hour steps, for an import in bulk.

A bucket is looked at `SAMPLES` times, evenly; `n` and `expected` count those, so that what is
imported says what it stands on. 500 pairs for 90 days take about three seconds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from core.market.rules.ordering import ordered, picked
from indexer.venues.sim.columns import Bools, Rows, columns
from indexer.venues.sim.noise import Floats, Seconds
from indexer.venues.sim.world import HISTORY, SimWorld

BUCKET_S: Final = 7_200
SAMPLES: Final = 4


@dataclass(frozen=True)
class SimBuckets:
    """(rows, buckets) each; NaN: unknown. Medians of a bucket's samples, the worse side of slips,
    the smaller side of depths; the names of the roll-up of two hours (docs/market.md).
    """

    rows: Rows
    starts_s: Seconds
    n: Rows
    expected: int
    rejected: Rows
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    usd_per_quote: Floats
    spread_p5_bps: Floats
    spread_p50_bps: Floats
    spread_p95_bps: Floats
    depth_1_usd: Floats
    depth_2_usd: Floats
    slip_1k_bps: Floats
    slip_10k_bps: Floats
    volume_24h_usd: Floats
    rv: Floats
    deposit_share: Floats
    withdraw_share: Floats
    truncated_share: Floats
    has_st_tag: Bools
    has_caution: Bools


def bucket_starts(world: SimWorld) -> Seconds:
    """Of the scripted history: on whole two hours, those that end at or before the origin."""
    ends_s = world.origin_s // BUCKET_S * BUCKET_S
    return np.arange(ends_s - int(HISTORY.total_seconds()), ends_s, BUCKET_S)


def buckets(world: SimWorld, starts_s: Seconds, rows: Rows) -> SimBuckets:
    offsets = BUCKET_S // SAMPLES // 2 + np.arange(SAMPLES) * (BUCKET_S // SAMPLES)
    at_s = (starts_s.reshape(-1, 1) + offsets.reshape(1, -1)).reshape(-1)
    found = columns(world, at_s, rows)
    is_good = found.has_book & ~found.is_crossed

    def by_bucket(grid: Floats) -> Floats:
        """(rows, buckets, samples), with what is no book unknown."""
        return np.where(is_good, grid, np.nan).reshape(rows.size, starts_s.size, SAMPLES)

    n = is_good.reshape(rows.size, starts_s.size, SAMPLES).sum(axis=2)
    crossed = (found.has_book & found.is_crossed).reshape(rows.size, starts_s.size, SAMPLES)
    mids = by_bucket(found.mid)
    spreads = _ordered(by_bucket(found.spread_bps))
    slips = {
        size: np.maximum(found.slip_bps(size, is_buy=True), found.slip_bps(size, is_buy=False))
        for size in (1_000.0, 10_000.0)
    }
    depths = {
        within: np.minimum(
            found.depth_usd(within, is_bid=True), found.depth_usd(within, is_bid=False)
        )
        for within in (0.01, 0.02)
    }
    first, last, high, low, moves = _path(mids, n)
    return SimBuckets(
        rows=rows,
        starts_s=starts_s,
        n=n,
        expected=SAMPLES,
        rejected=crossed.sum(axis=2),
        open=first,
        high=high,
        low=low,
        close=last,
        usd_per_quote=found.usd_per_quote.reshape(mids.shape)[:, :, -1],
        spread_p5_bps=_quantile(spreads, n, 0.05),
        spread_p50_bps=_quantile(spreads, n, 0.5),
        spread_p95_bps=_quantile(spreads, n, 0.95),
        depth_1_usd=_median(by_bucket(depths[0.01]), n),
        depth_2_usd=_median(by_bucket(depths[0.02]), n),
        slip_1k_bps=_finite(_median(by_bucket(slips[1_000.0]), n)),
        slip_10k_bps=_finite(_median(by_bucket(slips[10_000.0]), n)),
        volume_24h_usd=_median(by_bucket(found.volume_24h_usd), n),
        rv=moves,
        deposit_share=_share(found.can_deposit.reshape(mids.shape)),
        withdraw_share=_share(found.can_withdraw.reshape(mids.shape)),
        truncated_share=np.where(n > 0, found.is_truncated.reshape(mids.shape)[:, :, -1], np.nan),
        has_st_tag=found.has_st_tag.reshape(mids.shape)[:, :, -1],
        has_caution=found.has_caution.reshape(mids.shape)[:, :, -1],
    )


def _ordered(grid: Floats) -> Floats:
    """A bucket's values from the lowest on, the unknown ones last."""
    return ordered([grid[:, :, at] for at in range(SAMPLES)])


def _median(grid: Floats, n: Rows | None = None) -> Floats:
    return _quantile(_ordered(grid), (~np.isnan(grid)).sum(axis=2) if n is None else n, 0.5)


def _quantile(values: Floats, n: Rows, share: float) -> Floats:
    """Of the first `n` of each, interpolated; NaN of none."""
    place = share * np.maximum(n - 1, 0)
    below = place.astype(np.int64)
    above = np.minimum(below + 1, np.maximum(n - 1, 0))
    lower, upper = (picked(values, at) for at in (below, above))
    with np.errstate(invalid="ignore"):  # of none both are infinite
        between = np.where(place > below, lower + (upper - lower) * (place - below), lower)
        return np.where(n > 0, between, np.nan)


def _finite(slips: Floats) -> Floats:
    """A book that ends before is dearer than any figure; a bucket of mostly such has none."""
    return np.where(np.isfinite(slips), slips, np.nan)


def _path(mids: Floats, n: Rows) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """First, last, highest, lowest, and the root of the sum of squared moves."""
    has = ~np.isnan(mids)
    first = np.take_along_axis(mids, has.argmax(axis=2)[:, :, None], axis=2)[:, :, 0]
    final = SAMPLES - 1 - has[:, :, ::-1].argmax(axis=2)
    last = np.take_along_axis(mids, final[:, :, None], axis=2)[:, :, 0]
    high = np.where(has, mids, -np.inf).max(axis=2)
    low = np.where(has, mids, np.inf).min(axis=2)
    moves = np.nan_to_num(np.diff(np.log(mids), axis=2)) ** 2
    known = n > 0
    return (
        first,
        last,
        np.where(known, high, np.nan),
        np.where(known, low, np.nan),
        np.where(n > 1, np.sqrt(moves.sum(axis=2)), np.nan),
    )


def _share(flags: np.ndarray[tuple[int, int, int], np.dtype[np.int8]]) -> Floats:
    """Of the samples; NaN: the exchange cannot tell."""
    return np.where(flags[:, :, 0] < 0, np.nan, (flags == 1).mean(axis=2))
