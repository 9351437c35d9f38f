"""Shocks of the simulator's invented coins, which microbursts capture."""

from datetime import UTC, datetime

import numpy as np

from indexer.venues.sim.columns import SHOCK_EVERY_S, columns
from indexer.venues.sim.world import world_of

ORIGIN = datetime(2026, 11, 24, 12, tzinfo=UTC)
WORLD = world_of(24, ORIGIN, 500)
ROWS = np.array(
    [n for n, one in enumerate(WORLD.listings) if one.coin.ticker.startswith("SIM")][:3],
    dtype=np.int64,
)


def wide(from_s: int, row: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Minutes of four hours, each at its end, in which the spread is above thrice its median."""
    at_s = np.arange(from_s + 59, from_s + SHOCK_EVERY_S, 60)
    spread = columns(WORLD, at_s, row).spread_bps
    return int((spread > 3 * np.median(spread, axis=1, keepdims=True)).sum(axis=1).max())


def test_after_the_origin__a_minute_of_four_hours_is_a_shock() -> None:
    begins_s = (WORLD.origin_s // SHOCK_EVERY_S + 1) * SHOCK_EVERY_S
    assert all(1 <= wide(begins_s, ROWS[n : n + 1]) <= 2 for n in range(len(ROWS)))
    assert len(ROWS) == 3


def test_before_the_origin__there_is_none() -> None:
    begins_s = (WORLD.origin_s // SHOCK_EVERY_S - 1) * SHOCK_EVERY_S
    assert all(wide(begins_s, ROWS[n : n + 1]) == 0 for n in range(len(ROWS)))
