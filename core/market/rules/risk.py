"""How probable a bad outcome is within 90 days, by an additive score (docs/risk.md).

    z = -4.0 + the weights of what holds        p90 = 1 - exp(-exp(z))

Laws
- Each factor's part of z is printed, so that the figure can be added up again by hand.
- What is not known adds nothing and lowers the coverage; below half of it there is no figure.
- `is_calibrated` is false until 100 outcomes are on file, whatever the figures look like.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RISK_VERSION: Final = "risk_v1"
BASE: Final = -4.0
LEAST_COVERAGE: Final = 0.5
CALIBRATED_FROM: Final = 100
_SCORE_AT_ONE: Final = 100


class RiskFactor(StrEnum):
    LOW_VOLUME = "low_volume"
    DEPTH_TREND = "depth_trend"
    GPA = "gpa"
    PRICE_FLOOR = "price_floor"
    YOUNG = "young"
    HALTS = "halts"
    FOREIGN_DESIGNATION = "foreign_designation"
    FEW_VENUES = "few_venues"
    CROSS_FLAG = "cross_flag"
    SUPPLY_JUMP = "supply_jump"


WEIGHTS: Final = {
    RiskFactor.LOW_VOLUME: 0.9,
    RiskFactor.DEPTH_TREND: 0.8,
    RiskFactor.GPA: 0.8,
    RiskFactor.PRICE_FLOOR: 0.7,
    RiskFactor.YOUNG: 0.3,
    RiskFactor.HALTS: 0.3,
    RiskFactor.FOREIGN_DESIGNATION: 1.5,
    RiskFactor.FEW_VENUES: 0.4,
    RiskFactor.CROSS_FLAG: 0.8,
    RiskFactor.SUPPLY_JUMP: 0.4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskInputs:
    """Of one listing; None: unknown.

    depth_log_change: log10 of the median depth of 7 days over that of 30. price_share: price over
    the median of the first seven days here. age_days: since it was listed here. halts_30d: transfer
    halts. has_foreign_designation: a tag or caution at another exchange, same contract. venues: that
    list the same contract. supply_change_24h: 0.1 is 10 %.
    """

    volume_30d_mean_usd: float | None = None
    depth_log_change: float | None = None
    gpa_7d: float | None = None
    price_share: float | None = None
    age_days: float | None = None
    halts_30d: int | None = None
    has_foreign_designation: bool | None = None
    venues: int | None = None
    has_cross_flag: bool | None = None
    supply_change_24h: float | None = None


@dataclass(frozen=True, slots=True)
class RiskPart:
    """`value`: how far the factor holds, 0 to 1, of halts 0 to 3; contribution: its weight times that. Both
    None: unknown.
    """

    factor: RiskFactor
    value: float | None
    contribution: float | None


@dataclass(frozen=True, slots=True)
class RiskCalibration:
    """Of earlier figures whose 90 days are over. brier: the mean of (p - outcome)^2; None: none."""

    outcomes: int
    forecasts: int
    brier: float | None
    is_calibrated: bool


@dataclass(frozen=True, slots=True)
class RiskReading:
    """z, p90, score: None where less than half of the factors are known. score: 100 p90, rounded."""

    version: str
    parts: tuple[RiskPart, ...]
    z: float | None
    p90: float | None
    score: int | None
    coverage: float


def risk(inputs: RiskInputs) -> RiskReading:
    """The greatest contribution first."""
    values = _values(inputs)
    parts = [
        RiskPart(factor, value, None if value is None else WEIGHTS[factor] * value)
        for factor, value in values.items()
    ]
    parts.sort(
        key=lambda part: -1.0 if part.contribution is None else part.contribution, reverse=True
    )
    known = [part.contribution for part in parts if part.contribution is not None]
    coverage = len(known) / len(WEIGHTS)
    if coverage < LEAST_COVERAGE:
        return RiskReading(RISK_VERSION, tuple(parts), None, None, None, coverage)
    z = BASE + math.fsum(known)
    p90 = probability(z)
    return RiskReading(RISK_VERSION, tuple(parts), z, p90, round(_SCORE_AT_ONE * p90), coverage)


def probability(z: float) -> float:
    """The complementary log-log link: within 0 and 1, rising."""
    return -math.expm1(-math.exp(min(z, 700.0)))


def calibration(forecasts: Sequence[tuple[float, bool]]) -> RiskCalibration:
    """`forecasts`: (p90, whether the outcome came within its 90 days), of windows that are over."""
    outcomes = sum(came for _, came in forecasts)
    brier = sum((p - came) ** 2 for p, came in forecasts) / len(forecasts) if forecasts else None
    return RiskCalibration(
        outcomes=outcomes,
        forecasts=len(forecasts),
        brier=brier,
        is_calibrated=outcomes >= CALIBRATED_FROM,
    )


def _values(inputs: RiskInputs) -> dict[RiskFactor, float | None]:
    return {
        RiskFactor.LOW_VOLUME: _holds(inputs.volume_30d_mean_usd, below=50_000),
        RiskFactor.DEPTH_TREND: (
            None if inputs.depth_log_change is None else _within(-2 * inputs.depth_log_change)
        ),
        RiskFactor.GPA: (None if inputs.gpa_7d is None else _within((3 - inputs.gpa_7d) / 3)),
        RiskFactor.PRICE_FLOOR: _holds(inputs.price_share, below=0.1),
        RiskFactor.YOUNG: _holds(inputs.age_days, below=365),
        RiskFactor.HALTS: None if inputs.halts_30d is None else float(min(inputs.halts_30d, 3)),
        RiskFactor.FOREIGN_DESIGNATION: _flag(inputs.has_foreign_designation),
        RiskFactor.FEW_VENUES: _holds(inputs.venues, below=3),
        RiskFactor.CROSS_FLAG: _flag(inputs.has_cross_flag),
        RiskFactor.SUPPLY_JUMP: _flag(
            None if inputs.supply_change_24h is None else inputs.supply_change_24h >= 0.1
        ),
    }


def _holds(value: float | None, *, below: float) -> float | None:
    return None if value is None else float(value < below)


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
