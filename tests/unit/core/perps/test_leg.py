"""What readings make of a leg, and what the daily cap leaves."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules.lifecycle import MarketMode, Status
from core.money import UsdcE6
from core.perps.rules.leg import (
    AccountReading,
    Degraded,
    LegState,
    OrderOutcome,
    PlacedOrder,
    after_reading,
    left_to_open_usdc_e6,
    may_bind,
    next_read_at,
    opened_today_usdc_e6,
    perps_terms,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
NEW = LegState(last_worth_usdc_e6=None, last_read_at=None, last_reason=None, degraded_ticks=0)
SOUND = AccountReading(worth_usdc_e6=UsdcE6(5), reason=None)
DOWN = AccountReading(worth_usdc_e6=None, reason=Degraded.UNREADABLE)
LOST = AccountReading(worth_usdc_e6=UsdcE6(7), reason=Degraded.KEY_LOST)
CAP = 450_000_000


def order(
    notional: int,
    *,
    at: datetime = NOW,
    reduce_only: bool = False,
    outcome: OrderOutcome = OrderOutcome.ACCEPTED,
) -> PlacedOrder:
    return PlacedOrder(
        notional_usdc_e6=UsdcE6(notional), reduce_only=reduce_only, placed_at=at, outcome=outcome
    )


def test_a_leg_that_was_never_read__has_no_worth_after_a_failed_reading() -> None:
    after = after_reading(NEW, DOWN, NOW)
    assert (after.last_worth_usdc_e6, after.last_read_at, after.degraded_ticks) == (None, None, 1)


def test_a_failed_reading__keeps_worth_and_time_of_the_last_sound_one() -> None:
    later = NOW + timedelta(seconds=30)
    after = after_reading(after_reading(NEW, SOUND, NOW), DOWN, later)
    assert (after.last_worth_usdc_e6, after.last_read_at) == (5, NOW)


def test_a_lost_key__leaves_the_worth_readable() -> None:
    after = after_reading(NEW, LOST, NOW)
    assert (after.last_worth_usdc_e6, after.last_reason) == (7, Degraded.KEY_LOST)


def test_a_sound_reading__ends_the_count() -> None:
    degraded = after_reading(after_reading(NEW, DOWN, NOW), DOWN, NOW)
    assert (degraded.degraded_ticks, after_reading(degraded, SOUND, NOW).degraded_ticks) == (2, 0)


@pytest.mark.parametrize(
    ("ticks", "seconds"), [(0, 30), (1, 60), (2, 120), (5, 960), (6, 1_800), (10**6, 1_800)]
)
def test_a_degraded_leg__is_read_less_and_less_often(ticks: int, seconds: int) -> None:
    leg = LegState(
        last_worth_usdc_e6=None,
        last_read_at=None,
        last_reason=Degraded.UNREADABLE,
        degraded_ticks=ticks,
    )
    assert next_read_at(leg, NOW) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "mode", "may"),
    [
        (Status.DRAFT, MarketMode.TESTNET, False),
        (Status.SIGNED, MarketMode.TESTNET, True),
        (Status.WORKING, MarketMode.TESTNET, True),
        (Status.WORKING, MarketMode.PAPER, False),
        (Status.STOPPED, MarketMode.TESTNET, False),
    ],
)
def test_a_leg__is_bound_to_signed_terms_with_real_money(
    status: Status, mode: MarketMode, may: bool
) -> None:
    assert may_bind(status, mode) is may


@pytest.mark.parametrize(("opened", "left"), [(CAP - 1, 1), (CAP, 0), (CAP + 1, 0)])
def test_the_cap__leaves_what_was_not_opened(opened: int, left: int) -> None:
    assert left_to_open_usdc_e6([order(opened)], CAP, NOW) == left


@pytest.mark.parametrize(
    ("at", "counted"),
    [
        (MIDNIGHT - timedelta(microseconds=1), 0),
        (MIDNIGHT, 5),
        (MIDNIGHT + timedelta(days=1, microseconds=-1), 5),
        (MIDNIGHT + timedelta(days=1), 0),
    ],
)
def test_the_day_of_the_cap__is_the_utc_day(at: datetime, counted: int) -> None:
    assert opened_today_usdc_e6([order(5, at=at)], NOW) == counted


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        (OrderOutcome.SENDING, 5),
        (OrderOutcome.ACCEPTED, 5),
        (OrderOutcome.UNKNOWN, 5),
        (OrderOutcome.REJECTED, 0),
    ],
)
def test_all_but_rejected_orders__count(outcome: OrderOutcome, counted: int) -> None:
    assert opened_today_usdc_e6([order(5, outcome=outcome)], NOW) == counted


def test_an_order_that_only_closes__does_not_count() -> None:
    assert opened_today_usdc_e6([order(5, reduce_only=True)], NOW) == 0


orders = st.lists(
    st.builds(
        order,
        st.integers(0, 10**12),
        at=st.integers(-129_600, 129_600).map(lambda s: NOW + timedelta(seconds=s)),
        reduce_only=st.booleans(),
        outcome=st.sampled_from(OrderOutcome),
    ),
    max_size=20,
)


@given(orders, st.integers(0, 10**13))
def test_what_is_left__is_what_a_reader_of_the_rows_counts(
    placed: list[PlacedOrder], cap: int
) -> None:
    left = cap
    for one in placed:
        is_today = one.placed_at.strftime("%Y-%m-%d") == "2026-11-21"
        if is_today and not one.reduce_only and one.outcome.value != "rejected":
            left -= one.notional_usdc_e6
    assert left_to_open_usdc_e6(placed, cap, NOW) == (left if left > 0 else 0)


def test_without_an_address__the_leg_is_off() -> None:
    assert perps_terms(None, 100) is None


@pytest.mark.parametrize(
    ("url", "network"),
    [
        ("https://api.hyperliquid.xyz", "mainnet"),
        ("https://api.hyperliquid-testnet.xyz", "testnet"),
        ("http://127.0.0.1:9999", "simulated"),
    ],
)
def test_the_network__follows_from_the_address(url: str, network: str) -> None:
    terms = perps_terms(url, 100)
    assert terms is not None
    assert terms.network == network
