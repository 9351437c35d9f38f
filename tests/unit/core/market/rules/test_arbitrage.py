"""Gaps of two venues and of more, against pairs taken one by one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.arbitrage import (
    ArbPair,
    ArbSide,
    ArbSnapshot,
    Suspicion,
    episode_end,
    is_in_reel,
    pair,
    snapshot,
)
from core.market.rules.transfer import GateState, TransferGate
from tests.each import each

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OPEN = TransferGate(GateState.OPEN, ("eip155:1",), 0.02)
SHUT = TransferGate(GateState.CLOSED, (), None)


def side(
    exchange: str,
    bids: list[tuple[float, float]],
    asks: list[tuple[float, float]],
    *,
    age_s: float = 0,
    fee_bps: float | None = 10.0,
) -> ArbSide:
    at = NOW - timedelta(seconds=age_s)
    return ArbSide(exchange, tuple(bids), tuple(asks), at, fee_bps, "par", is_halted=False)


BUY = side("a", [(99.9, 1_000)], [(100, 1_000)])
SELL = side("b", [(101, 1_000)], [(101.1, 1_000)])


def seen(
    buy: ArbSide = BUY,
    sell: ArbSide = SELL,
    way: TransferGate = OPEN,
    *,
    is_collision: bool = False,
) -> ArbPair:
    found = pair(buy, sell, way, NOW, is_collision=is_collision)
    assert found is not None
    return found


def test_the_worked_gap__is_what_the_page_says() -> None:
    found = seen()

    assert found.gross_bps == pytest.approx(100.0)
    assert [f"{net:.2f}" for net in found.net_bps if net is not None] == ["59.82", "75.82", "77.82"]
    assert found.is_actionable


NO_FEE_TO_BUY, NO_FEE_TO_SELL = (replace(one, taker_fee_bps=None) for one in (BUY, SELL))


@each(
    ("buy", "sell", "way"),
    [
        (NO_FEE_TO_BUY, SELL, OPEN),
        (BUY, NO_FEE_TO_SELL, OPEN),
        (BUY, SELL, replace(OPEN, fee=None)),
    ],
)
def test_a_fee_that_is_unknown__leaves_the_net_unknown(
    buy: ArbSide, sell: ArbSide, way: TransferGate
) -> None:
    found = seen(buy, sell, way)

    assert found.gross_bps == pytest.approx(100.0)
    assert found.net_bps == (None, None, None)
    assert not found.is_actionable


def test_a_venue_whose_fee_is_unknown__is_in_no_spread_of_three() -> None:
    sides = [BUY, SELL, replace(SELL, exchange="c", taker_fee_bps=None)]
    assert snapshot(sides, {}, NOW) is None


@each(
    ("buy_age_s", "sell_age_s", "is_seen"),
    [(90, 90, True), (90.1, 60, False), (60, 0, True), (60.1, 0, False), (-61, 0, False)],
)
def test_a_gap__needs_books_of_one_time(buy_age_s: float, sell_age_s: float, is_seen: bool) -> None:
    buy, sell = (
        replace(one, at=NOW - timedelta(seconds=age))
        for one, age in ((BUY, buy_age_s), (SELL, sell_age_s))
    )

    assert (pair(buy, sell, OPEN, NOW, is_collision=False) is not None) is is_seen


def test_a_book_that_ends_before__has_no_net_at_that_size() -> None:
    found = seen(buy=side("a", [(99, 1)], [(100, 20)]))

    assert [net is None for net in found.net_bps] == [False, True, True]
    assert found.is_actionable


@each("state", [GateState.CLOSED, GateState.UNVERIFIED])
def test_a_way_that_is_not_open__is_not_actionable(state: GateState) -> None:
    found = seen(way=replace(OPEN, state=state))

    assert not found.is_actionable


def test_a_gap_that_fees_eat__is_not_actionable() -> None:
    found = seen(sell=side("b", [(100.1, 1_000)], [(101, 1)]))

    assert found.gross_bps > 0
    assert not found.is_actionable


def test_a_suspect_gap__says_why_and_is_not_actionable() -> None:
    huge = seen(sell=side("b", [(130.01, 1_000)], [(131, 1)]))
    at_bound = seen(sell=side("b", [(130.0, 1_000)], [(131, 1)]))

    assert huge.suspicions == (Suspicion.GROSS_ABOVE_30_PERCENT,)
    assert at_bound.suspicions == ()
    assert seen(is_collision=True).suspicions == (Suspicion.COLLISION,)
    halted = seen(buy=replace(BUY, is_halted=True))
    assert halted.suspicions == (Suspicion.HALTED,)
    assert not any(one.is_actionable for one in (huge, halted, seen(is_collision=True)))


THIRD = side("c", [(99.8, 5)], [(99.95, 5)], fee_bps=0)


def test_two_venues__are_no_snapshot_of_three() -> None:
    assert snapshot([BUY, SELL], {}, NOW) is None
    assert snapshot([BUY, SELL, replace(THIRD, at=NOW - timedelta(seconds=91))], {}, NOW) is None
    assert snapshot([BUY, SELL, replace(THIRD, at=NOW - timedelta(seconds=61))], {}, NOW) is None
    assert snapshot([], {}, NOW) is None


def test_three_venues__sell_where_it_is_dearest_what_is_cheapest_first() -> None:
    sides = [BUY, side("b", [(101, 8)], [(102, 1)]), THIRD]
    found = snapshot(sides, {("c", "b"): OPEN, ("a", "b"): SHUT}, NOW)

    assert found is not None
    legs = {leg.buy_at: leg for leg in found.legs}
    assert {at: leg.base for at, leg in legs.items()} == {"c": 5, "a": 3}
    assert found.size_usd == pytest.approx(5 * 99.95 + 3 * 100.1)
    assert found.actionable_profit_usd == pytest.approx(5 * (100.899 - 99.95) - 0.02 * 99.95)
    assert found.dispersion == pytest.approx((101.5 - 99.875) / 99.95)


FREE = TransferGate(GateState.OPEN, ("eip155:1",), 0.0)
UNTOLD = TransferGate(GateState.OPEN, ("eip155:1",), None)
GAIN_C, GAIN_A = 5 * (100.899 - 99.95), 3 * (100.899 - 100.1)


@each(
    ("from_c", "from_a", "profit", "actionable", "is_actionable"),
    [
        (FREE, FREE, GAIN_C + GAIN_A, GAIN_C + GAIN_A, True),
        (OPEN, OPEN, GAIN_C + GAIN_A - 0.02 * (99.95 + 100), GAIN_C + GAIN_A - 0.02 * 199.95, True),
        # the withdrawal eats more than the leg from a gains: the row's profit has the loss
        (FREE, replace(OPEN, fee=0.1), GAIN_C + GAIN_A - 10, GAIN_C, True),
        (replace(OPEN, fee=1.0), replace(OPEN, fee=0.1), GAIN_C + GAIN_A - 109.95, 0, False),
        # a closed way has no fee; what can be acted on is known all the same
        (FREE, SHUT, None, GAIN_C, True),
        (SHUT, SHUT, None, 0, False),
        # an open way whose fee is unknown: neither figure is known, and one leg is worth acting on
        (FREE, UNTOLD, None, None, True),
        (UNTOLD, UNTOLD, None, None, False),
    ],
)
def test_a_row_of_three_venues__earns_the_sum_of_its_legs(
    from_c: TransferGate,
    from_a: TransferGate,
    profit: float | None,
    actionable: float | None,
    is_actionable: bool,
) -> None:
    sides = [BUY, side("b", [(101, 8)], [(102, 1)]), THIRD]
    found = snapshot(sides, {("c", "b"): from_c, ("a", "b"): from_a}, NOW)

    assert found is not None
    assert len(found.legs) == 2
    assert found.profit_usd == (None if profit is None else pytest.approx(profit))
    assert found.actionable_profit_usd == (
        None if actionable is None else pytest.approx(actionable)
    )
    assert found.is_actionable is is_actionable


def test_one_leg__costs_what_the_pair_of_its_venues_costs() -> None:
    aside = side("c", [(99, 1)], [(200, 1)])
    sell = side("b", [(101, 10)], [(102, 1)])
    found = snapshot([BUY, sell, aside], {("a", "b"): OPEN}, NOW)

    assert found is not None
    [leg] = found.legs
    assert leg.profit_usd == pytest.approx(10 * (100.899 - 100.1) - 0.02 * 100)
    net_bps = seen(sell=sell).net_bps[0]
    assert net_bps == pytest.approx(1e4 * ((100.899 - 100.1) / 100.1 - 0.02 * 100 / 1_000))


def test_a_halted_market__is_in_no_snapshot() -> None:
    sides = [BUY, replace(SELL, is_halted=True), THIRD]

    assert snapshot(sides, {}, NOW) is None


@each(("bid", "is_suspect"), [(130.1, False), (130.6, True)])
def test_a_leg_of_more_than_30_percent__is_nothing_to_act_on(bid: float, is_suspect: bool) -> None:
    sides = [BUY, side("b", [(bid, 8)], [(140, 1)]), replace(THIRD, asks=((120, 5),))]
    found = snapshot(sides, {("a", "b"): OPEN}, NOW)

    assert found is not None
    assert [leg.buy_at for leg in found.legs] == ["a"]
    assert (found.actionable_profit_usd == 0) is is_suspect
    assert found.is_actionable is not is_suspect


def test_no_gap__is_no_leg() -> None:
    found = snapshot([BUY, replace(BUY, exchange="b"), replace(BUY, exchange="c")], {}, NOW)

    assert found is not None
    assert (found.legs, found.size_usd, found.profit_usd) == ((), 0, 0)
    assert (found.actionable_profit_usd, found.is_actionable) == (0, False)


steps = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6)), min_size=1, max_size=3)


@st.composite
def venues(draw: st.DrawFn) -> list[ArbSide]:
    """Whole sizes, so that units can be taken one by one."""
    found = []
    for exchange in "abcd"[: draw(st.integers(3, 4))]:
        ask = bid = draw(st.integers(90, 110))
        bids, asks = [], []
        for step, size in draw(steps):
            bid -= step
            bids.append((float(bid), float(size)))
        for step, size in draw(steps):
            asks.append((float(ask), float(size)))
            ask += step
        found.append(side(exchange, bids, asks, fee_bps=float(draw(st.sampled_from((0, 10, 50))))))
    return found


def gain(found: ArbSnapshot) -> float:
    """After the taker's fees, before withdrawals."""
    return sum(leg.sell_usd - leg.buy_usd for leg in found.legs)


@given(venues())
def test_the_gain__is_all_that_supply_and_demand_leave(sides: list[ArbSide]) -> None:
    """The k cheapest units against the k dearest, for the best k."""
    asks = sorted(
        price * (1 + (one.taker_fee_bps or 0.0) / 1e4)
        for one in sides
        for price, size in one.asks
        for _ in range(int(size))
    )
    bids = sorted(
        (
            price * (1 - (one.taker_fee_bps or 0.0) / 1e4)
            for one in sides
            for price, size in one.bids
            for _ in range(int(size))
        ),
        reverse=True,
    )
    best = sum(max(bid - ask, 0) for bid, ask in zip(bids, asks, strict=False))
    found = snapshot(sides, {}, NOW)

    assert found is not None
    assert gain(found) == pytest.approx(best, abs=1e-6)
    assert all(leg.buy_at != leg.sell_at for leg in found.legs)
    for one in sides:
        bought = sum(leg.base for leg in found.legs if leg.buy_at == one.exchange)
        sold = sum(leg.base for leg in found.legs if leg.sell_at == one.exchange)
        assert bought <= sum(size for _, size in one.asks) + 1e-9
        assert sold <= sum(size for _, size in one.bids) + 1e-9


@each(
    ("was_bps", "was_actionable", "told"),
    [
        (None, True, True),
        (100.0, True, False),
        (100.99, True, False),
        (101.0, True, True),
        (99.0, True, True),
        (100.0, False, True),
    ],
)
def test_a_new_gap_a_basis_point_and_what_can_be_acted_on__are_told(
    was_bps: float | None, was_actionable: bool, told: bool
) -> None:
    assert is_in_reel(was_bps, was_actionable, replace(seen(), gross_bps=100.0)) is told


@each(("after_s", "is_over"), [(299, False), (300, True), (900, True)])
def test_five_minutes_without__end_an_episode(after_s: int, is_over: bool) -> None:
    end = episode_end(NOW, NOW + timedelta(seconds=after_s))
    assert end == (NOW + timedelta(minutes=5) if is_over else None)
