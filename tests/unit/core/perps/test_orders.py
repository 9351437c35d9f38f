"""What a closing order asks for, and what the daily cap leaves for orders that open."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InvalidParameterError
from core.money import UsdcE6
from core.perps.rules.closing import next_try_at
from core.perps.rules.operator_orders import OrderType, operator_order
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
    worst_px_e8,
)
from tests.each import each
from tests.hl_exchange import is_on_grid

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
    ("size", "mid", "decimals", "allowance_bps", "side", "limit"),
    [
        ("0.5", "60000", 5, 100, Side.SELL, "59400"),
        ("-0.5", "60000", 5, 100, Side.BUY, "60600"),
        ("1", "3001.7", 4, 100, Side.SELL, "2971.7"),
        ("-1", "3001.7", 4, 100, Side.BUY, "3031.7"),
        ("1", "123456", 5, 100, Side.SELL, "122222"),
        ("1", "0.012345", 0, 100, Side.SELL, "0.012222"),
        ("-1", "0.012345", 0, 100, Side.BUY, "0.012468"),
        # the limit has a figure more before the point than the mid, or one less
        ("-1", "99.99", 2, 100, Side.BUY, "100.98"),
        ("-1", "0.99123", 0, 100, Side.BUY, "1.0011"),
        ("-1", "9.8765", 1, 500, Side.BUY, "10.37"),
        ("-1", "99999", 5, 100, Side.BUY, "100998"),
        ("1", "100.5", 2, 100, Side.SELL, "99.495"),
        ("1", "1.0049", 0, 100, Side.SELL, "0.99486"),
        ("1", "100.9999", 2, 100, Side.SELL, "99.99"),
        ("1", "101.00909", 0, 100, Side.SELL, "99.999"),
        ("1", "101.0099", 0, 100, Side.SELL, "100"),  # up, to the next figure
    ],
)
def test_a_closing_order__is_priced_within_the_allowance(
    size: str, mid: str, decimals: int, allowance_bps: int, side: Side, limit: str
) -> None:
    order = closing(size, mid, decimals, allowance_bps)
    assert (order.side, e8_text(order.limit_px_e8)) == (side, limit)
    assert is_on_grid(limit, decimals)


# near a power of ten, where the limit may lie on its other side, and anywhere
mids = st.builds(
    lambda figures, zeros: figures * 10**zeros, st.integers(83_000, 124_000), st.integers(0, 8)
) | st.integers(1, 10**16)


@settings(max_examples=500)
@given(
    st.integers(-(10**14), 10**14).filter(bool),
    mids,
    st.integers(0, 8),
    st.integers(1, 2_000),
)
def test_a_closing_order__is_on_the_grid_and_within_a_step_of_the_allowance(
    size: int, mid: int, decimals: int, bps: int
) -> None:
    market = VenueMarket(asset=3, size_decimals=decimals, mid_e8=mid)
    order = closing_order(VenuePosition(coin="X", size_e8=size), market, bps)
    assert (order.reduce_only, order.size_e8) == (True, abs(size))
    require_limit(order, mid, decimals, bps)


@settings(max_examples=500)
@given(st.sampled_from(Side), mids, st.integers(0, 8), st.integers(1, 2_000))
def test_an_operators_market_order__is_on_the_grid_and_within_a_step_of_the_allowance(
    side: Side, mid: int, decimals: int, bps: int
) -> None:
    market = VenueMarket(asset=3, size_decimals=decimals, mid_e8=mid)
    try:
        order = operator_order(
            market, coin="X", side=side, kind=OrderType.MARKET, size_e8=10**8, limit_px_e8=None,
            reduce_only=True, allowance_bps=bps,
        )  # fmt: skip
    except InvalidParameterError:
        assert (side, worst_px_e8(market, bps, is_buy=True)) == (Side.BUY, 0)
        return
    assert order.limit_px_e8 > 0
    require_limit(order, mid, decimals, bps)


def require_limit(order: VenueOrder, mid: int, decimals: int, bps: int) -> None:
    """On the grid, never beyond the allowance, and less than one step of the grid away from it: a
    step of five figures is a ten-thousandth at most.
    """
    px, is_buy = Decimal(order.limit_px_e8), order.side is Side.BUY
    worst = Decimal(mid * (10_000 + bps if is_buy else 10_000 - bps)) / 10_000
    assert px == 0 or is_on_grid(e8_text(order.limit_px_e8), decimals)
    least_step = Decimal(10) ** (8 - max(0, 6 - decimals))
    away = worst - px if is_buy else px - worst
    assert 0 <= away < max(least_step, min(Decimal(E8), worst / 10_000))


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


@each(("opened", "left"), [(CAP - 1, 1), (CAP, 0), (CAP + 1, 0)])
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
