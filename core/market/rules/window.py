"""The 24 hours of samples that a grade looks at (docs/market.md#the-window)."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.market.rules.grade import WHOLE_HOURS, GradeInputs

HOUR_US: Final = 3_600_000_000


@dataclass(frozen=True, slots=True)
class WindowSamples:
    """Valid two-sided books of one listing within the window. NaN: in slips, the book ended before;
    in volume, unknown.
    """

    bid_2_usd: npt.NDArray[np.float64]
    ask_2_usd: npt.NDArray[np.float64]
    spread_bps: npt.NDArray[np.float64]
    slip_buy_10k_bps: npt.NDArray[np.float64]
    slip_sell_10k_bps: npt.NDArray[np.float64]
    volume_24h_usd: npt.NDArray[np.float64]
    is_truncated: npt.NDArray[np.bool_]


def grade_inputs(
    samples: WindowSamples,
    *,
    first_seen_us: int,
    ends_us: int,
    expected: int,
    refused: int,
    volume_30d_mean_usd: float | None,
) -> GradeInputs | None:
    """None: no valid sample.

    `first_seen_us`: of the listing's first one ever. `expected`: samples of the window at the
    listing's cadence; `refused`: books of the window that came and were not valid. They count as
    covered, and not as up.
    A side that ends before 10,000 dollars is dearer than any figure, so it stands above all in the
    median; where the median itself is such a sample, slip_10k_bps is None.
    """
    count = len(samples.spread_bps)
    if not count:
        return None
    known_volume = samples.volume_24h_usd[~np.isnan(samples.volume_24h_usd)]
    slip = np.maximum(
        np.nan_to_num(samples.slip_buy_10k_bps, nan=np.inf),
        np.nan_to_num(samples.slip_sell_10k_bps, nan=np.inf),
    )
    middle_slip = float(np.sort(slip)[count // 2])
    whole = max(expected, 1)
    return GradeInputs(
        depth_usd=float(np.median(np.minimum(samples.bid_2_usd, samples.ask_2_usd))),
        spread_bps=float(np.median(samples.spread_bps)),
        slip_10k_bps=None if np.isinf(middle_slip) else middle_slip,
        volume_24h_usd=float(np.median(known_volume)) if len(known_volume) else None,
        volume_30d_mean_usd=volume_30d_mean_usd,
        uptime=min(count / whole, 1.0),
        hours=min((ends_us - first_seen_us) / HOUR_US, WHOLE_HOURS),
        coverage=min((count + refused) / whole, 1.0),
        is_truncated=bool(2 * samples.is_truncated.sum() > count),
    )
