"""The score against the page, its bounds, and what it says of itself."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.risk import (
    WEIGHTS,
    RiskFactor,
    RiskInputs,
    RiskReading,
    calibration,
    probability,
    risk,
)
from tests.each import each
from tests.unit.core.mandate.rules.worked import table

CALM = RiskInputs(
    volume_30d_mean_usd=1e6,
    depth_log_change=0.0,
    gpa_7d=4.0,
    price_share=1.0,
    age_days=1_000,
    halts_30d=0,
    has_foreign_designation=False,
    venues=5,
    has_cross_flag=False,
    supply_change_24h=0.0,
)


def value_of(reading: RiskReading, factor: RiskFactor) -> float | None:
    return next(part.value for part in reading.parts if part.factor is factor)


def changed(field: str, value: Any) -> RiskReading:
    one: dict[str, Any] = {field: value}
    return risk(replace(CALM, **one))


def test_the_page_of_factors__has_the_weights_of_the_code() -> None:
    written = {row[0].strip("`"): float(row[1]) for row in table("risk.md", "factors")}

    assert written == {factor.value: weight for factor, weight in WEIGHTS.items()}


def test_a_calm_listing__has_the_base_alone() -> None:
    found = risk(CALM)

    assert found.z == -4.0
    assert found.p90 is not None
    assert (f"{found.p90:.4f}", found.score, found.coverage) == ("0.0181", 2, 1.0)


def test_the_worked_listing__scores_what_the_page_says() -> None:
    found = risk(
        replace(
            CALM,
            volume_30d_mean_usd=20_000.0,
            depth_log_change=math.log10(0.5),
            gpa_7d=1.5,
            halts_30d=4,
            has_foreign_designation=True,
        )
    )

    assert found.z is not None
    assert found.p90 is not None
    assert (f"{found.z:.4f}", f"{found.p90:.4f}", found.score) == ("0.1816", "0.6986", 70)
    assert [part.factor for part in found.parts[:2]] == ["foreign_designation", "low_volume"]


@each(
    ("field", "factor", "value", "holds"),
    [
        ("volume_30d_mean_usd", "low_volume", 49_999.0, 1.0),
        ("volume_30d_mean_usd", "low_volume", 50_000.0, 0.0),
        ("depth_log_change", "depth_trend", -0.5, 1.0),
        ("depth_log_change", "depth_trend", -5.0, 1.0),
        ("depth_log_change", "depth_trend", 0.3, 0.0),
        ("gpa_7d", "gpa", 0.0, 1.0),
        ("gpa_7d", "gpa", 3.0, 0.0),
        ("price_share", "price_floor", 0.0999, 1.0),
        ("price_share", "price_floor", 0.1, 0.0),
        ("age_days", "young", 364.9, 1.0),
        ("age_days", "young", 365.0, 0.0),
        ("halts_30d", "halts", 3, 3.0),
        ("halts_30d", "halts", 9, 3.0),
        ("has_foreign_designation", "foreign_designation", True, 1.0),
        ("venues", "few_venues", 2, 1.0),
        ("venues", "few_venues", 3, 0.0),
        ("has_cross_flag", "cross_flag", True, 1.0),
        ("supply_change_24h", "supply_jump", 0.1, 1.0),
        ("supply_change_24h", "supply_jump", 0.0999, 0.0),
    ],
)
def test_a_factor__holds_past_its_bound(
    field: str, factor: str, value: float, holds: float
) -> None:
    assert value_of(changed(field, value), RiskFactor(factor)) == holds


def test_what_is_not_known__adds_nothing_and_lowers_the_coverage() -> None:
    found = changed("gpa_7d", None)

    assert value_of(found, RiskFactor.GPA) is None
    assert (found.z, found.coverage) == (-4.0, 0.9)
    assert found.parts[-1].contribution is None


def test_less_than_half_known__is_no_figure() -> None:
    half = RiskInputs(
        volume_30d_mean_usd=1e6, depth_log_change=0.0, gpa_7d=4.0, price_share=1.0, venues=5
    )

    assert risk(half).p90 is not None
    less = risk(replace(half, venues=None))
    assert (less.z, less.p90, less.score, less.coverage) == (None, None, None, 0.4)


@given(
    st.builds(
        RiskInputs,
        **{
            field: st.one_of(st.none(), strategy)
            for field, strategy in {
                "volume_30d_mean_usd": st.floats(0, 1e9),
                "depth_log_change": st.floats(-5, 5),
                "gpa_7d": st.floats(0, 4),
                "price_share": st.floats(0, 50),
                "age_days": st.floats(0, 5_000),
                "halts_30d": st.integers(0, 50),
                "has_foreign_designation": st.booleans(),
                "venues": st.integers(0, 30),
                "has_cross_flag": st.booleans(),
                "supply_change_24h": st.floats(-1, 5),
            }.items()
        },
    )
)
def test_a_figure__is_the_sum_of_what_is_printed(inputs: RiskInputs) -> None:
    found = risk(inputs)

    assert {part.factor for part in found.parts} == set(RiskFactor)
    if found.z is not None and found.p90 is not None and found.score is not None:
        parts = [part.contribution for part in found.parts if part.contribution is not None]
        assert found.z == pytest.approx(-4.0 + sum(parts))
        assert found.p90 == pytest.approx(1 - math.exp(-math.exp(found.z)))
        assert 0 <= found.score <= 100
        assert parts == sorted(parts, reverse=True)


def test_a_probability__stays_within_0_and_1() -> None:
    assert probability(-800.0) == 0.0
    assert probability(1e9) == 1.0


def test_a_calibration__needs_100_outcomes() -> None:
    assert not calibration([(0.5, True)] * 99 + [(0.5, False)] * 900).is_calibrated
    assert calibration([(0.5, True)] * 100).is_calibrated


def test_a_calibration__has_its_brier_score() -> None:
    found = calibration([(0.1, False), (0.2, True), (1.0, True), (0.9, False)])

    assert found.brier == pytest.approx((0.01 + 0.64 + 0 + 0.81) / 4)
    assert calibration([]).brier is None
