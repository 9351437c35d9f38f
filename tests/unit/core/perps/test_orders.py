"""What a closing order asks for, and what the daily cap leaves for orders that open."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.money import UsdcE6
from core.perps.rules.closing import next_try_at
from core.perps.rules.orders import (
    E8,
    LIFE,
    SKEW_S,
    OrderOutcome,
    OverPerpsCapError,
    PlacedOrder,
    Side,
    VenueMarket,
    VenueOrder,
    VenuePosition,
    Why,
    cloid_of,
    closing_order,
    e8_text,
    has_never_arrived,
    left_to_open_usdc_e6,
    opened_today_usdc_e6,
    require_room,
    why_closed,
)
from tests.each import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
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


# Closing orders


def e8(text: str) -> int:
    return int(Decimal(text) * E8)


def closing(size: str, mid: str, decimals: int, allowance_bps: int) -> VenueOrder:
    market = VenueMarket(asset=0, size_decimals=decimals, mid_e8=e8(mid))
    return closing_order(VenuePosition(coin="BTC", size_e8=e8(size)), market, allowance_bps)


@each(
    ("size", "mid", "decimals", "side", "limit"),
    [
        ("0.5", "60000", 5, Side.SELL, "59400"),
        ("-0.5", "60000", 5, Side.BUY, "60600"),
        ("1", "3001.7", 4, Side.SELL, "2971.7"),
        ("-1", "3001.7", 4, Side.BUY, "3031.7"),
        ("1", "123456", 5, Side.SELL, "122222"),
        ("1", "0.012345", 0, Side.SELL, "0.012222"),
        ("-1", "0.012345", 0, Side.BUY, "0.012468"),
    ],
)
def test_a_closing_order__is_priced_within_the_allowance(
    size: str, mid: str, decimals: int, side: Side, limit: str
) -> None:
    order = closing(size, mid, decimals, 100)
    assert (order.side, e8_text(order.limit_px_e8)) == (side, limit)


@given(
    st.integers(-(10**14), 10**14).filter(bool),
    st.integers(10**4, 10**16),
    st.integers(0, 6),
    st.integers(1, 2_000),
)
def test_a_closing_order__never_goes_beyond_the_allowance(
    size: int, mid: int, decimals: int, bps: int
) -> None:
    market = VenueMarket(asset=3, size_decimals=decimals, mid_e8=mid)
    order = closing_order(VenuePosition(coin="X", size_e8=size), market, bps)
    assert order.reduce_only
    assert order.size_e8 == abs(size)
    if size > 0:
        assert order.limit_px_e8 * 10_000 >= mid * (10_000 - bps)
    else:
        assert order.limit_px_e8 * 10_000 <= mid * (10_000 + bps)


@given(st.integers(1, 10**16), st.integers(0, 6))
def test_a_limit_price__has_five_significant_figures_or_is_whole(mid: int, decimals: int) -> None:
    market = VenueMarket(asset=3, size_decimals=decimals, mid_e8=mid)
    px = closing_order(VenuePosition(coin="X", size_e8=1), market, 100).limit_px_e8
    digits = len(str(px).rstrip("0"))
    assert px % E8 == 0 or digits <= 5
    assert px % 10 ** (2 + decimals) == 0


def test_a_notional__is_rounded_up() -> None:
    order = VenueOrder(asset=0, coin="X", side=Side.BUY, size_e8=1, limit_px_e8=1, reduce_only=True)
    assert order.notional_usdc_e6 == 1
    assert closing("0.5", "60000", 5, 100).notional_usdc_e6 == 29_700_000_000


@each(("value", "text"), [(0, "0"), (1, "0.00000001"), (150_000_000, "1.5"), (10 * E8, "10")])
def test_a_number__is_written_as_the_venue_writes_it(value: int, text: str) -> None:
    assert e8_text(value) == text


def test_a_cloid__is_of_mandate_and_number() -> None:
    assert cloid_of("m_abc", 1) == cloid_of("m_abc", 1)
    assert len({cloid_of("m_abc", 1), cloid_of("m_abc", 2), cloid_of("m_abd", 1)}) == 3
    assert len(cloid_of("m_abc", 1)) == 34


@pytest.mark.parametrize(("seconds", "is_lost"), [(SKEW_S - 1, False), (SKEW_S, True)])
def test_an_order_that_nobody_knows__never_arrived_once_it_has_expired(
    seconds: int, is_lost: bool
) -> None:
    expires_at = NOW + LIFE
    assert has_never_arrived(expires_at, expires_at + timedelta(seconds=seconds)) is is_lost


@each(
    ("by", "why"),
    [
        ("chain", Why.STOP_LINE),
        ("keeper", Why.STOP_LINE),
        ("owner", Why.STOPPED),
        ("agent", Why.STOPPED),
        (None, Why.ENDED),
    ],
)
def test_a_closing__says_why(by: str | None, why: Why) -> None:
    assert why_closed(by) is why


@each(("tries", "seconds"), [(0, 15), (1, 30), (5, 480), (6, 900), (10**6, 900)])
def test_a_closing_that_gets_nowhere__is_tried_less_and_less_often(
    tries: int, seconds: int
) -> None:
    assert next_try_at(tries, NOW) == NOW + timedelta(seconds=seconds)


# The daily cap


@pytest.mark.parametrize(("opened", "left"), [(CAP - 1, 1), (CAP, 0), (CAP + 1, 0)])
def test_the_cap__leaves_what_was_not_opened(opened: int, left: int) -> None:
    assert left_to_open_usdc_e6([order(opened)], CAP, NOW) == left


@each(
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


@each(
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


def opening(notional_usdc_e6: int, *, reduce_only: bool = False) -> VenueOrder:
    return VenueOrder(
        asset=0,
        coin="X",
        side=Side.BUY,
        size_e8=notional_usdc_e6 * 100,
        limit_px_e8=E8,
        reduce_only=reduce_only,
    )


def test_an_opening_order__fits_up_to_what_the_day_leaves() -> None:
    require_room(opening(300), [order(150)], 450, NOW)
    with pytest.raises(OverPerpsCapError) as refused:
        require_room(opening(301), [order(150)], 450, NOW)
    assert (refused.value.notional_usdc_e6, refused.value.left_usdc_e6) == (301, 300)


def test_an_order_that_only_reduces__needs_no_room() -> None:
    require_room(opening(301, reduce_only=True), [order(450)], 450, NOW)
