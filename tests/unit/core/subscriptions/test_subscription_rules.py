"""What a subscription costs and when it ends (docs/subscriptions.md)."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from core.subscriptions.rules import (
    MONTH,
    NOTHING_HELD,
    HeldTiers,
    PurchaseKind,
    Tier,
    quote,
    upgrade_price,
)
from tests.each import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


def test_a_first_month__costs_its_price_and_lasts_30_days() -> None:
    priced = quote(NOTHING_HELD, Tier.TIER_1, 1, NOW)
    assert (priced.kind, priced.price_credits) == (PurchaseKind.NEW, 10_000)
    assert (priced.starts_at, priced.until) == (NOW, datetime(2026, 12, 21, 12, tzinfo=UTC))


@each(("months", "price"), [(1, 25_000), (3, 75_000), (12, 300_000)])
def test_tier_2_from_free__is_quoted_in_full(months: int, price: int) -> None:
    priced = quote(NOTHING_HELD, Tier.TIER_2, months, NOW)
    assert (priced.price_credits, priced.until) == (price, NOW + months * MONTH)


def test_a_renewal__follows_what_is_held() -> None:
    held = HeldTiers(None, NOW + timedelta(days=3), 1)
    priced = quote(held, Tier.TIER_1, 2, NOW)
    assert (priced.kind, priced.price_credits) == (PurchaseKind.RENEWAL, 20_000)
    assert (priced.starts_at, priced.until) == (held.until, NOW + timedelta(days=63))


def test_an_upgrade__pays_the_difference_of_the_time_left_and_keeps_the_end() -> None:
    held = HeldTiers(None, NOW + timedelta(days=20), 1)
    priced = quote(held, Tier.TIER_2, 1, NOW)
    assert (priced.kind, priced.months, priced.price_credits) == (PurchaseKind.UPGRADE, 0, 10_000)
    assert priced.after == HeldTiers(held.until, held.until, 2)


@each(
    ("left", "price"),
    [
        (MONTH, 15_000),
        (MONTH - INSTANT, 15_000),
        (timedelta(seconds=172.8), 1),
        (timedelta(seconds=172.8) + INSTANT, 2),
        (INSTANT, 1),
    ],
)
def test_an_upgrade__is_rounded_up_to_a_credit(left: timedelta, price: int) -> None:
    assert upgrade_price(left) == price


@given(st.integers(min_value=1, max_value=12 * 2_592_000))
def test_an_upgrade_of_whole_seconds__is_the_formula_of_the_page(left_s: int) -> None:
    exact = Fraction((25_000 - 10_000) * left_s, 2_592_000)
    assert upgrade_price(timedelta(seconds=left_s)) == ceil(exact)


def test_a_downgrade__begins_when_tier_2_ends() -> None:
    until = NOW + timedelta(days=10)
    priced = quote(HeldTiers(until, until, 1), Tier.TIER_1, 1, NOW)
    assert (priced.kind, priced.price_credits, priced.starts_at) == (
        PurchaseKind.DOWNGRADE,
        10_000,
        until,
    )
    assert priced.after.tier_at(until - INSTANT) is Tier.TIER_2
    assert priced.after.tier_at(until) is Tier.TIER_1
    assert priced.after.tier_at(until + MONTH) is Tier.FREE


def test_taking_a_downgrade_back__pays_the_difference_of_the_time_after_tier_2_alone() -> None:
    tier_2, until = NOW + timedelta(days=10), NOW + timedelta(days=40)
    priced = quote(HeldTiers(tier_2, until, 2), Tier.TIER_2, 1, NOW)
    assert (priced.kind, priced.price_credits) == (PurchaseKind.UPGRADE, 15_000)
    assert priced.after == HeldTiers(until, until, 3)


def test_what_has_ended__is_bought_as_new_from_now_on() -> None:
    priced = quote(HeldTiers(NOW, NOW, 4), Tier.TIER_2, 1, NOW)
    assert (priced.kind, priced.price_credits, priced.starts_at) == (
        PurchaseKind.NEW,
        25_000,
        NOW,
    )


ORDERS = st.lists(
    st.tuples(
        st.sampled_from([Tier.TIER_1, Tier.TIER_2]),
        st.integers(1, 12),
        st.integers(0, 400 * 86_400),
    ),
    min_size=1,
    max_size=8,
)


@given(ORDERS)
def test_whatever_is_bought__costs_at_least_the_time_that_it_added_of_each_tier(
    orders: list[tuple[Tier, int, int]],
) -> None:
    held, now = NOTHING_HELD, NOW
    for tier, months, later_s in orders:
        now += timedelta(seconds=later_s)
        priced = quote(held, tier, months, now)
        added = _worth(priced.after, now) - _worth(held, now)
        assert added <= priced.price_credits < added + 1
        assert priced.after.ends_at(now) >= held.ends_at(now)
        assert priced.after.tier_at(now) >= held.tier_at(now)
        held = priced.after


def _worth(held: HeldTiers, now: datetime) -> Fraction:
    """Credits that the time left would cost."""
    tier_2 = held.tier_2_ends_at(now) - now
    tier_1 = held.ends_at(now) - max(now, held.tier_2_ends_at(now))
    return 25_000 * _months(tier_2) + 10_000 * _months(tier_1)


def _months(time: timedelta) -> Fraction:
    return Fraction(time // INSTANT, MONTH // INSTANT)
