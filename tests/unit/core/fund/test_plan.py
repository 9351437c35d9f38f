"""One signal as an order of a follower's size, at its boundaries (docs/fund.md#plans)."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fund.rules.plan import (
    CapReason,
    Disposition,
    FollowerAccount,
    PlanReason,
    plan,
    target_usdc_e6,
)
from core.fund.rules.sessions import MarketSession, SessionState
from tests.unit.core.fund.made import AT, MARKET, USD, facts, ladder, snapshot

CLOSED = MarketSession(SessionState.CLOSED, next_open=AT)
UNKNOWN = MarketSession(SessionState.UNKNOWN)

# In the order of the checks: what makes each fail, and what is said then.
CHECKS: tuple[tuple[dict[str, Any], Disposition, PlanReason], ...] = (
    ({"is_paused": True}, Disposition.REFUSED, PlanReason.VAULT_PAUSED),
    ({"is_superseded": True}, Disposition.REFUSED, PlanReason.SIGNAL_SUPERSEDED),
    ({"session": CLOSED}, Disposition.DEFERRED, PlanReason.SESSION_CLOSED),
    ({"max_leverage_e2": 99}, Disposition.REFUSED, PlanReason.LEVERAGE_ABOVE_CONSENT),
    ({"account": None}, Disposition.REFUSED, PlanReason.ACCOUNT_UNKNOWN),
    ({"snapshot": snapshot(grade=None)}, Disposition.REFUSED, PlanReason.GRADE_UNKNOWN),
    ({"least_order_usdc_e6": 251 * USD}, Disposition.SKIPPED, PlanReason.ORDER_TOO_SMALL),
)


@pytest.mark.parametrize("failing", product((False, True), repeat=len(CHECKS)))
def test_the_first_check_that_fails__decides_and_charges_nothing(failing: tuple[bool, ...]) -> None:
    changes: dict[str, Any] = {}
    expected: tuple[Disposition, PlanReason] | None = None
    for check, fails in zip(CHECKS, failing, strict=True):
        if fails:
            changes |= check[0]
            expected = expected or check[1:]
    made = plan(facts(**changes))
    if expected is None:
        assert (made.disposition, made.is_charged) == (Disposition.READY, True)
    else:
        assert ((made.disposition, made.reason), made.is_charged, made.order) == (
            expected,
            False,
            None,
        )


def test_a_closed_session__says_when_it_opens_and_an_unknown_one_nothing() -> None:
    assert plan(facts(session=CLOSED)).retry_at == AT
    made = plan(facts(session=UNKNOWN))
    assert (made.reason, made.retry_at) == (PlanReason.SESSION_UNKNOWN, None)


@pytest.mark.parametrize(
    ("nav", "weight_e4", "leverage_e2", "target"),
    [
        (1_000 * USD, 2_500, 100, 250 * USD),
        (1_000 * USD, -2_500, 150, -375 * USD),
        (333_333_333, 3_333, 100, 111_099_999),  # 111,099,999.8889
        (333_333_333, -3_333, 100, -111_099_999),
        (0, 10_000, 2_000, 0),
    ],
)
def test_the_target__is_towards_zero(
    nav: int, weight_e4: int, leverage_e2: int, target: int
) -> None:
    assert target_usdc_e6(nav, weight_e4, leverage_e2) == target


def held(notional: int, nav: int = 1_000 * USD) -> FollowerAccount:
    return FollowerAccount(nav, {MARKET: notional})


@pytest.mark.parametrize(
    ("position", "weight_e4", "is_reduction"),
    [
        (300 * USD, 2_500, True),
        (300 * USD, 0, True),
        (-300 * USD, -2_500, True),
        (200 * USD, 2_500, False),  # more
        (-300 * USD, 2_500, False),  # past nothing
        (300 * USD, -2_500, False),
        (0, 2_500, False),
    ],
)
def test_an_order__reduces_when_it_ends_nearer_to_nothing_on_the_same_side(
    position: int, weight_e4: int, is_reduction: bool
) -> None:
    ungraded = snapshot(grade=None, buys=None, sells=None)
    made = plan(facts(account=held(position), weight_e4=weight_e4, snapshot=ungraded))
    if is_reduction:
        assert made.order is not None
        assert (made.order.is_reduce_only, made.order.impact_bps_e2) == (True, None)
    else:
        assert made.reason is PlanReason.GRADE_UNKNOWN


def test_an_account_at_the_target__has_nothing_to_do() -> None:
    made = plan(facts(account=held(250 * USD)))
    assert (made.disposition, made.reason) == (Disposition.SKIPPED, PlanReason.AT_TARGET)


@pytest.mark.parametrize(
    ("changes", "notional", "bound"),
    [
        ({}, 250 * USD, None),
        ({"max_order_usdc_e6": 250 * USD}, 250 * USD, None),
        ({"max_order_usdc_e6": 250 * USD - 1}, 250 * USD - 1, CapReason.MAX_ORDER),
        (
            {"account": FollowerAccount(1_000 * USD, {"other": -800 * USD})},
            200 * USD,
            CapReason.LEVERAGE,
        ),
        ({"snapshot": snapshot(grade="D", depth_usdc_e6=5_000 * USD)}, 100 * USD, "liquidity"),
        ({"snapshot": snapshot(buys=ladder(True, 30, 30, 40))}, 100 * USD, CapReason.BOOK),
    ],
)
def test_an_order__is_bound_by_the_smallest_cap(
    changes: dict[str, object], notional: int, bound: CapReason | None
) -> None:
    made = plan(facts(**changes))
    assert made.order is not None
    assert (made.order.notional_usdc_e6, made.order.capped_by) == (notional, bound)
    assert made.disposition is (Disposition.READY if bound is None else Disposition.CAPPED)


def test_an_account_without_room__gets_no_order() -> None:
    full = FollowerAccount(1_000 * USD, {"other": 1_500 * USD})
    assert plan(facts(account=full)).reason is PlanReason.ORDER_TOO_SMALL


@pytest.mark.parametrize(
    ("grade", "is_provisional", "cap"),
    [
        ("A", False, 10_000),
        ("B", False, 7_500),
        ("C", False, 5_000),
        ("D", False, 2_000),
        ("F", False, 0),
        ("A", True, 5_000),
        (None, False, None),
    ],
)
def test_the_cap_of_a_market__by_its_grade(
    grade: str | None, is_provisional: bool, cap: int | None
) -> None:
    found = snapshot(
        grade=grade, is_provisional=is_provisional, depth_usdc_e6=100_000 * USD
    ).liquidity_cap_usdc_e6
    assert found == (None if cap is None else cap * USD)


def test_the_cap_of_a_market__is_a_hundredth_of_a_days_volume_at_most() -> None:
    assert snapshot(volume_usdc_e6=50_000 * USD).liquidity_cap_usdc_e6 == 500 * USD


@pytest.mark.parametrize("least", ["rules", "venue"])
def test_the_minimum__is_the_larger_of_the_rules_and_the_venues(least: str) -> None:
    def with_least(amount: int) -> PlanReason | None:
        if least == "rules":
            return plan(facts(least_order_usdc_e6=amount)).reason
        return plan(replace(facts(), snapshot=snapshot(least_order_usdc_e6=amount))).reason

    assert with_least(250 * USD) is None
    assert with_least(250 * USD + 1) is PlanReason.ORDER_TOO_SMALL


@pytest.mark.parametrize(
    ("is_live", "is_paid", "is_charged"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_a_plan__costs_when_it_is_live_and_not_paid(
    is_live: bool, is_paid: bool, is_charged: bool
) -> None:
    assert plan(facts(is_live=is_live, is_paid=is_paid)).is_charged is is_charged


def test_a_historical_signal__may_be_superseded() -> None:
    assert plan(facts(is_live=False, is_superseded=True)).disposition is Disposition.READY


amounts = st.integers(0, 10**13)


@given(
    st.integers(-10_000, 10_000),
    st.integers(1, 2_000),
    st.integers(1, 2_000),
    amounts,
    st.integers(-(10**13), 10**13),
    amounts,
    st.sampled_from([*"ABCDF", None]),
)
def test_no_order__is_above_what_is_wanted_or_any_cap(
    weight: int, leverage: int, allowed: int, nav: int, position: int, most: int, grade: str | None
) -> None:
    made = plan(
        facts(
            weight_e4=weight,
            leverage_e2=leverage,
            max_leverage_e2=allowed,
            max_order_usdc_e6=most,
            account=FollowerAccount(nav, {MARKET: position}),
            snapshot=snapshot(grade=grade),
        )
    )
    assert (made.order is None) == (made.reason is not None)
    if made.order is None:
        assert not made.is_charged
        return
    order = made.order
    assert 0 < order.notional_usdc_e6 <= min(order.wanted_usdc_e6, most)
    assert order.wanted_usdc_e6 == abs(order.target_usdc_e6 - position)
    if not order.is_reduce_only:
        assert grade in ("A", "B", "C", "D")
        assert abs(position) + order.notional_usdc_e6 <= nav * allowed // 100
