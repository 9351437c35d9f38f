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
    SignalFacts,
    plan,
    target_usdc_e6,
)
from core.fund.rules.sessions import MarketSession, SessionState
from tests.each import each
from tests.unit.core.fund.made import AT, MARKET, USD, facts, ladder, snapshot

CLOSED = MarketSession(SessionState.CLOSED, next_open=AT)
UNKNOWN = MarketSession(SessionState.UNKNOWN)

AT_TARGET = FollowerAccount(1_000 * USD, {MARKET: 250 * USD})

Check = tuple[dict[str, Any], Disposition, PlanReason]

# In the order of the checks: what makes each fail, and what is said then. Of two ways of one fact,
# such as both sessions, a plan has one.
BEFORE_THE_MARKET: tuple[tuple[Check, ...], ...] = (
    (({"is_paused": True}, Disposition.REFUSED, PlanReason.VAULT_PAUSED),),
    (({"is_superseded": True}, Disposition.REFUSED, PlanReason.SIGNAL_SUPERSEDED),),
    (
        ({"session": CLOSED}, Disposition.DEFERRED, PlanReason.SESSION_CLOSED),
        ({"session": UNKNOWN}, Disposition.REFUSED, PlanReason.SESSION_UNKNOWN),
    ),
    (({"account": None}, Disposition.REFUSED, PlanReason.ACCOUNT_UNKNOWN),),
)
OF_THE_SIGNAL: tuple[tuple[Check, ...], ...] = (
    (({"max_leverage_e2": 99}, Disposition.REFUSED, PlanReason.LEVERAGE_ABOVE_CONSENT),),
    (({"account": AT_TARGET}, Disposition.SKIPPED, PlanReason.AT_TARGET),),
)
OF_THE_MARKET: tuple[tuple[Check, ...], ...] = (
    (
        ({"grade": None}, Disposition.REFUSED, PlanReason.GRADE_UNKNOWN),
        ({"grade": "F"}, Disposition.REFUSED, PlanReason.GRADE_F),
    ),
    tuple(
        ({name: None}, Disposition.REFUSED, PlanReason.MARKET_UNMEASURED)
        for name in (
            "depth_usdc_e6",
            "volume_usdc_e6",
            "sigma_bps_e2",
            "buys",
            "sells",
            "least_order_usdc_e6",
        )
    ),
)
LAST: tuple[tuple[Check, ...], ...] = (
    (({"min_order": 251 * USD}, Disposition.SKIPPED, PlanReason.ORDER_TOO_SMALL),),
)
CHECKS = (*BEFORE_THE_MARKET, *OF_THE_SIGNAL, *OF_THE_MARKET, *LAST)
OF_MARKET = {"grade", "depth_usdc_e6", "volume_usdc_e6", "sigma_bps_e2", "buys", "sells"}
OF_MARKET |= {"least_order_usdc_e6"}


def failing_facts(changes: dict[str, Any]) -> SignalFacts:
    of_market = {name: value for name, value in changes.items() if name in OF_MARKET}
    rest = {name: value for name, value in changes.items() if name not in OF_MARKET}
    if "min_order" in rest:
        rest["least_order_usdc_e6"] = rest.pop("min_order")
    return facts(**rest, snapshot=snapshot(**of_market))


@each("is_paid", [False, True])
def test_the_first_check_that_fails__decides(is_paid: bool) -> None:
    """All combinations. An account without a position is refused by the market before it is charged."""
    wrong = []
    for failing in product(*((None, *ways) for ways in CHECKS)):
        found = [check for check in failing if check is not None]
        changes = {name: value for check in found for name, value in check[0].items()}
        if sum("account" in check[0] for check in found) > 1:
            continue  # it is known or not
        is_free_of_position = not is_paid and changes.get("account") is not AT_TARGET
        order = (
            (*BEFORE_THE_MARKET, *OF_THE_MARKET, *OF_THE_SIGNAL, *LAST)
            if is_free_of_position
            else CHECKS
        )
        first = next((check for ways in order for check in ways if check in found), None)
        free = (*BEFORE_THE_MARKET, *(OF_THE_MARKET if is_free_of_position else ()))
        charged = not is_paid and not any(first in ways for ways in free)
        made = plan(replace(failing_facts(changes), is_paid=is_paid))
        expected = (Disposition.READY, None) if first is None else first[1:]
        if (
            (made.disposition, made.reason) != expected
            or made.is_charged is not charged
            or (made.order is None) is not bool(found)
        ):
            wrong.append((changes, made))
    assert wrong == []


def test_every_reason__is_among_the_checks() -> None:
    assert {check[2] for ways in CHECKS for check in ways} == set(PlanReason)


def test_a_closed_session__says_when_it_opens_and_an_unknown_one_nothing() -> None:
    assert plan(facts(session=CLOSED)).retry_at == AT
    made = plan(facts(session=UNKNOWN))
    assert (made.reason, made.retry_at) == (PlanReason.SESSION_UNKNOWN, None)


@each(
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


@each(
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
        assert made.order is not None and made.disposition is Disposition.READY
        assert (made.order.is_reduce_only, made.order.impact_bps_e2) == (True, None)
        assert made.order.opening_refused is None
    else:
        refused = made.reason if made.order is None else made.order.opening_refused
        assert refused is PlanReason.GRADE_UNKNOWN


# A way out of every position


@each(
    ("position", "most", "sizes"),
    [
        (8 * USD, 1_000 * USD, [8 * USD]),  # below the least order of 10
        (-8 * USD, 1_000 * USD, [8 * USD]),
        (1, 1_000 * USD, [1]),
        (105 * USD, 100 * USD, [100 * USD, 5 * USD]),
        (-105 * USD, 100 * USD, [100 * USD, 5 * USD]),
        (100 * USD, 100 * USD, [100 * USD]),
        (100 * USD + 1, 100 * USD, [100 * USD, 1]),
        (310 * USD, 100 * USD, [100 * USD, 100 * USD, 100 * USD, 10 * USD]),
    ],
)
def test_a_weight_of_nothing__leaves_nothing_after_the_last_order(
    position: int, most: int, sizes: list[int]
) -> None:
    """On a market of which nothing is known."""
    unknown = snapshot(grade=None, buys=None, sells=None, depth_usdc_e6=None)
    found = []
    while position:
        at = facts(account=held(position), weight_e4=0, max_order_usdc_e6=most, snapshot=unknown)
        order = plan(at).order
        assert order is not None and order.is_reduce_only, found
        assert order.side == ("sell" if position > 0 else "buy")
        assert order.closes_whole is (abs(position) <= most)
        found.append(order.notional_usdc_e6)
        position -= order.notional_usdc_e6 if position > 0 else -order.notional_usdc_e6
    assert found == sizes


def test_a_part_below_the_minimum__is_skipped_since_venues_take_the_whole_alone() -> None:
    made = plan(facts(account=held(255 * USD)))  # 5 less: the least order is 10
    assert made.reason is PlanReason.ORDER_TOO_SMALL
    made = plan(facts(account=held(20 * USD), weight_e4=0, max_order_usdc_e6=8 * USD))
    assert made.reason is PlanReason.ORDER_TOO_SMALL


OPENING_REFUSED: tuple[tuple[dict[str, Any], PlanReason], ...] = (
    ({"snapshot": snapshot(grade="F")}, PlanReason.GRADE_F),
    ({"snapshot": snapshot(grade=None)}, PlanReason.GRADE_UNKNOWN),
    ({"snapshot": snapshot(buys=None, sells=None)}, PlanReason.MARKET_UNMEASURED),
    ({"max_leverage_e2": 99}, PlanReason.LEVERAGE_ABOVE_CONSENT),
)


@each(("changes", "reason"), OPENING_REFUSED)
@each("sign", [1, -1])
@each(("size", "most", "closes"), [(300, 1_000, 300), (300, 100, 100), (8, 1_000, 8)])
def test_the_closing_half_of_a_flip__is_planned_where_the_opening_half_is_refused(
    changes: dict[str, Any], reason: PlanReason, sign: int, size: int, most: int, closes: int
) -> None:
    account, weight = held(sign * size * USD), -sign * 2_500
    at = facts(account=account, weight_e4=weight, max_order_usdc_e6=most * USD, **changes)
    made = plan(at)
    assert (made.disposition, made.reason, made.is_charged) == (Disposition.CAPPED, None, True)
    assert made.order is not None
    assert (made.order.side, made.order.is_reduce_only) == ("sell" if sign > 0 else "buy", True)
    assert (made.order.notional_usdc_e6, made.order.opening_refused) == (closes * USD, reason)
    assert made.order.wanted_usdc_e6 == (size + 250) * USD
    is_whole = closes == size
    assert made.order.capped_by is (CapReason.OPENING_REFUSED if is_whole else CapReason.MAX_ORDER)


@each(("changes", "reason"), OPENING_REFUSED)
def test_what_only_opens__is_refused_whole(changes: dict[str, Any], reason: PlanReason) -> None:
    for position in (0, 100 * USD):
        made = plan(facts(account=held(position), **changes))
        assert (made.disposition, made.reason) == (Disposition.REFUSED, reason)


@each(
    ("depth_usd", "closes", "is_reduce_only"),
    [(0, 300, True), (3_000, 300, True), (4_000, 400, False)],
)
def test_a_thin_market__bounds_what_a_flip_opens_and_not_what_it_closes(
    depth_usd: int, closes: int, is_reduce_only: bool
) -> None:
    """A tenth of the depth is what one order may take."""
    thin = snapshot(depth_usdc_e6=depth_usd * USD)
    made = plan(facts(account=held(-300 * USD), snapshot=thin))
    assert made.order is not None and made.order.capped_by is CapReason.LIQUIDITY
    assert made.order.notional_usdc_e6 == closes * USD
    assert made.order.is_reduce_only is is_reduce_only


def test_a_signal_above_the_consents_leverage__still_reduces() -> None:
    made = plan(facts(account=held(300 * USD), max_leverage_e2=99))
    assert made.order is not None
    assert (made.disposition, made.order.notional_usdc_e6) == (Disposition.READY, 50 * USD)


def test_an_account_at_the_target__has_nothing_to_do() -> None:
    made = plan(facts(account=held(250 * USD)))
    assert (made.disposition, made.reason) == (Disposition.SKIPPED, PlanReason.AT_TARGET)


@each(
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


@each(
    ("others", "notional", "bound"),
    [
        (0, 2_000 * USD, None),
        (800 * USD, 1_200 * USD, CapReason.LEVERAGE),  # closes 1,000 and opens 200
        (-1_500 * USD, 1_000 * USD, CapReason.LEVERAGE),  # no room: it only closes
    ],
)
@each("sign", [1, -1])
def test_an_order_through_nothing__has_the_room_that_what_it_closes_leaves(
    sign: int, others: int, notional: int, bound: CapReason | None
) -> None:
    account = FollowerAccount(1_000 * USD, {MARKET: sign * 1_000 * USD, "other": others})
    made = plan(facts(account=account, weight_e4=-sign * 10_000))
    assert made.order is not None
    assert (made.order.notional_usdc_e6, made.order.capped_by) == (notional, bound)
    assert made.order.side == ("sell" if sign > 0 else "buy")
    assert made.order.is_reduce_only is (notional == 1_000 * USD)


def test_an_account_without_room__gets_no_order() -> None:
    full = FollowerAccount(1_000 * USD, {"other": 1_500 * USD})
    assert plan(facts(account=full)).reason is PlanReason.ORDER_TOO_SMALL


@each(
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


def test_a_minimum_that_is_unknown__stops_what_increases_and_not_what_reduces() -> None:
    unknown = snapshot(least_order_usdc_e6=None)
    assert plan(facts(snapshot=unknown)).reason is PlanReason.MARKET_UNMEASURED
    made = plan(facts(snapshot=unknown, account=held(300 * USD)))
    assert made.order is not None and made.order.is_reduce_only


@each(
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
        return
    order = made.order
    assert 0 < order.notional_usdc_e6 <= min(order.wanted_usdc_e6, most)
    assert order.wanted_usdc_e6 == abs(order.target_usdc_e6 - position)
    least = 10 * USD
    assert order.notional_usdc_e6 >= least or order.notional_usdc_e6 == abs(position)
    if order.is_reduce_only:
        assert (order.side == "sell") is (position > 0)
        assert order.notional_usdc_e6 <= abs(position)
    else:
        assert grade in ("A", "B", "C", "D")
        sign = 1 if order.side == "buy" else -1
        assert sign * position + order.notional_usdc_e6 <= nav * allowed // 100
