"""What an operator's order could fill, what the day leaves, and what an answer means."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidNumberError
from core.money import UsdcE6
from core.perps.rules.operator_orders import (
    ClaimedOutcome,
    CountedOrder,
    NotReducingError,
    OperatorCaps,
    OrderState,
    OutcomeDisprovedError,
    OverOrderCapError,
    StrangeSignalError,
    e8_of,
    found_state,
    largest_fill_usdc_e6,
    left_today_usdc_e6,
    next_nonce_ms,
    require_borne_out,
    require_caps,
    require_follows,
    require_reducing,
)
from core.perps.rules.orders import Side, VenueOrder, VenuePosition
from tests.each import each

NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
MID = 60_000 * 10**8
CAPS = OperatorCaps(per_order_usdc_e6=UsdcE6(100), per_day_usdc_e6=UsdcE6(150))


def order(side: Side = Side.BUY, size_e8: int = 1, limit_px_e8: int = MID) -> VenueOrder:
    return VenueOrder(
        asset=0, coin="BTC", side=side, size_e8=size_e8, limit_px_e8=limit_px_e8, reduce_only=False
    )


def counted(
    state: OrderState = OrderState.ACCEPTED,
    largest: int = 100,
    ago_s: int = 0,
    *,
    is_reduce: bool = False,
    asked_after_s: int | None = None,
) -> CountedOrder:
    at = NOW - timedelta(seconds=ago_s)
    return CountedOrder(
        largest_usdc_e6=UsdcE6(largest),
        reduce_only=is_reduce,
        placed_at=at,
        expires_at=at + timedelta(seconds=60),
        state=state,
        asked_at=None if asked_after_s is None else at + timedelta(seconds=asked_after_s),
    )


def test_a_purchase__fills_at_its_limit_at_most_rounded_up() -> None:
    assert largest_fill_usdc_e6(order(), MID, 100) == 600
    assert largest_fill_usdc_e6(order(limit_px_e8=MID + 1), MID, 100) == 601


def test_a_sale__fills_at_the_allowance_above_the_mid_or_at_its_limit() -> None:
    assert largest_fill_usdc_e6(order(Side.SELL), MID, 100) == 606
    assert largest_fill_usdc_e6(order(Side.SELL, limit_px_e8=2 * MID), MID, 100) == 1_200


@given(
    side=st.sampled_from(Side),
    size_e8=st.integers(1, 10**15),
    limit=st.integers(1, 10**15),
    mid=st.integers(1, 10**15),
    allowance=st.integers(1, 2_000),
    fill=st.fractions(0, 1),
)
def test_no_fill_within_the_limit_and_the_allowance__is_larger(
    side: Side, size_e8: int, limit: int, mid: int, allowance: int, fill: object
) -> None:
    best = mid * (10_000 + allowance) // 10_000
    px = limit if side is Side.BUY else max(limit, best)
    paid = size_e8 * px * fill  # type: ignore[operator]
    assert paid <= largest_fill_usdc_e6(order(side, size_e8, limit), mid, allowance) * 10**10


@each(
    ("one", "left"),
    [
        (counted(), 50),
        (counted(OrderState.PREPARED, ago_s=3_600), 50),
        (counted(OrderState.UNKNOWN), 50),
        (counted(OrderState.NEVER_ARRIVED), 150),
        (counted(OrderState.REJECTED, ago_s=3_600), 50),  # nobody asked again
        (counted(OrderState.REJECTED, ago_s=3_600, asked_after_s=89), 50),
        (counted(OrderState.REJECTED, ago_s=3_600, asked_after_s=90), 150),
        (counted(is_reduce=True), 150),
        (counted(ago_s=12 * 3_600), 50),
        (counted(ago_s=12 * 3_600 + 1), 150),
        (counted(largest=151), 0),
    ],
)
def test_what_the_day_leaves(one: CountedOrder, left: int) -> None:
    assert left_today_usdc_e6([one], CAPS, NOW) == left


def test_caps__take_an_order_of_their_size_and_none_above() -> None:
    assert require_caps(UsdcE6(100), [], CAPS, NOW) == 50
    with pytest.raises(OverOrderCapError) as over:
        require_caps(UsdcE6(101), [], CAPS, NOW)
    assert not over.value.is_day
    assert require_caps(UsdcE6(50), [counted()], CAPS, NOW) == 0
    with pytest.raises(OverOrderCapError) as day:
        require_caps(UsdcE6(51), [counted()], CAPS, NOW)
    assert day.value.is_day


@each("held", [0, 4, -5])
def test_selling_five__does_not_reduce(held: int) -> None:
    with pytest.raises(NotReducingError):
        require_reducing(order(Side.SELL, 5), [VenuePosition(coin="BTC", size_e8=held)])


def test_selling_five__reduces_five_of_the_same_coin() -> None:
    require_reducing(order(Side.SELL, 5), [VenuePosition(coin="BTC", size_e8=5)])
    with pytest.raises(NotReducingError):
        require_reducing(order(Side.SELL, 5), [VenuePosition(coin="ETH", size_e8=5)])


@each(("after_s", "found"), [(29, None), (30, OrderState.NEVER_ARRIVED)])
def test_an_order_that_the_venue_does_not_know(after_s: int, found: OrderState | None) -> None:
    at = NOW + timedelta(seconds=after_s)
    assert found_state(None, OrderState.UNKNOWN, NOW, at) is found
    rejected = None if found is None else OrderState.REJECTED
    assert found_state(None, OrderState.REJECTED, NOW, at) is rejected


def test_a_claim__is_borne_out_or_disproved() -> None:
    require_borne_out(ClaimedOutcome.REJECTED, OrderState.NEVER_ARRIVED)
    with pytest.raises(OutcomeDisprovedError):
        require_borne_out(ClaimedOutcome.NOT_SENT, OrderState.REJECTED)


def test_a_nonce__is_the_time_and_above_the_last() -> None:
    at = int(NOW.timestamp()) * 1_000
    assert [next_nonce_ms(last, NOW) for last in (None, at - 1, at, at + 5)] == [
        at, at, at + 1, at + 6,
    ]  # fmt: skip


def test_a_size__is_read_exactly() -> None:
    assert e8_of("size", "1.50000001") == 150_000_001


@each("text", ["0", "-1", "1e3", "NaN", "1.000000001", "", "٣", "1\n"])
def test_what_is_no_size__is_refused(text: str) -> None:
    with pytest.raises(InvalidNumberError):
        e8_of("size", text)


@each(
    ("coin", "side", "reduce_only", "market", "weight_e4", "follows"),
    [
        ("BTC", Side.BUY, False, "binance_btc_usdt", 1, True),
        ("BTC", Side.SELL, False, "binance_btc_usdt", -1, True),
        ("BTC", Side.SELL, False, "binance_btc_usdt", 1, False),
        ("BTC", Side.BUY, False, "binance_btc_usdt", -1, False),
        ("BTC", Side.BUY, False, "binance_btc_usdt", 0, False),
        ("BTC", Side.SELL, True, "binance_btc_usdt", 1, True),
        ("BTC", Side.BUY, True, "binance_btc_usdt", 0, True),
        ("BTC", Side.BUY, False, "binance_eth_usdt", 1, False),
        ("BTC", Side.SELL, True, "binance_eth_usdt", 1, False),
        ("BTC", Side.BUY, False, "btc", 1, False),
        ("BTC", Side.BUY, False, "binance_btc_usdt_perp", 1, False),
        ("kPEPE", Side.BUY, False, "binance_pepe_usdt", 1, True),
        ("KAS", Side.BUY, False, "binance_kas_usdt", 1, True),
        ("KAS", Side.BUY, False, "binance_as_usdt", 1, False),
    ],
)
def test_an_order__follows_a_signal_of_its_coin_and_side(
    coin: str, side: Side, reduce_only: bool, market: str, weight_e4: int, follows: bool
) -> None:
    made = replace(order(side), coin=coin, reduce_only=reduce_only)
    if follows:
        require_follows(made, market, weight_e4)
        return
    with pytest.raises(StrangeSignalError):
        require_follows(made, market, weight_e4)
