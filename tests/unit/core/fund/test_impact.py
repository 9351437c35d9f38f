"""Impact: equal to a slow reference, never below the walk of the book, never smaller for more."""

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fund.rules.impact import (
    BookLadder,
    Rung,
    impact_bps_e2,
    root_bps_e2,
    walk_bps_e2,
)
from core.fund.snapshots import EDGES_BPS_E2, exact
from core.market.facts import Book
from core.market.liquidity_views import MarketLiquidity
from core.market.rules.book import vwap
from tests.each import each
from tests.market_books import judge, measure
from tests.unit.core.fund.made import AT, liquidity

USD = 1_000_000
amounts = st.integers(0, 10**14)


@st.composite
def ladders(draw: st.DrawFn) -> BookLadder:
    offsets = sorted(draw(st.sets(st.integers(0, 999_999), min_size=1, max_size=6)))
    return BookLadder(draw(st.booleans()), tuple(Rung(offset, draw(amounts)) for offset in offsets))


def slow_walk(ladder: BookLadder, amount: int) -> Fraction | None:
    """Rung by rung, in fractions: what is bought, and what it cost on the mean, in hundredths of a
    basis point.
    """
    left, bought = Fraction(amount), Fraction(0)
    for rung in ladder.rungs:
        price = 1 + Fraction(rung.offset_bps_e2, 1_000_000) * (1 if ladder.is_buy else -1)
        taken = min(left, Fraction(rung.usdc_e6))
        bought += taken / price
        left -= taken
    if left > 0:
        return None
    return Fraction(0) if not amount else abs(Fraction(amount) / bought - 1) * 1_000_000


def ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


@given(ladders(), st.data())
def test_the_walk__equals_the_slow_reference(ladder: BookLadder, data: st.DataObject) -> None:
    amount = data.draw(st.integers(0, ladder.total_usdc_e6 + 1))
    slow = slow_walk(ladder, amount)
    assert walk_bps_e2(ladder, amount) == (None if slow is None else ceiling(slow))


@given(amounts, st.integers(1, 10**16), st.integers(0, 5_000_000))
def test_the_root__is_the_smallest_whole_number_that_is_not_below_it(
    amount: int, volume: int, sigma: int
) -> None:
    found = root_bps_e2(amount, volume, sigma)
    exact_square = Fraction(sigma * sigma * amount, volume)
    assert found * found >= exact_square
    assert found == 0 or (found - 1) * (found - 1) < exact_square


@given(ladders(), st.integers(1, 10**16), st.integers(0, 5_000_000), st.data())
def test_the_impact__is_monotone_and_never_below_the_walk(
    ladder: BookLadder, volume: int, sigma: int, data: st.DataObject
) -> None:
    sizes = st.integers(0, ladder.total_usdc_e6)
    less, more = sorted((data.draw(sizes), data.draw(sizes)))
    small, large = (impact_bps_e2(ladder, size, volume, sigma) for size in (less, more))
    assert small is not None and large is not None
    assert small <= large
    walk = walk_bps_e2(ladder, more)
    assert walk is not None and large >= walk
    assert large == max(walk, root_bps_e2(more, volume, sigma))


levels = st.lists(st.tuples(st.floats(1e-6, 0.03), st.floats(1.0, 1e6)), min_size=1, max_size=12)


@given(levels, levels, st.floats(1e-4, 1e6), st.floats(0.0, 1.0))
def test_the_ladder_of_a_measured_book__never_costs_less_than_the_book(
    below: list[tuple[float, float]],
    above: list[tuple[float, float]],
    price: float,
    share: float,
) -> None:
    bids = sorted({price * (1 - off): usd / price for off, usd in below}.items(), reverse=True)
    asks = sorted({price * (1 + off): usd / price for off, usd in above}.items())
    book = Book("x", "x", tuple(bids), tuple(asks), None, AT, is_truncated=False)
    if judge(book) is not None:
        return
    found = measure(book, 1.0)
    snapshot = exact(
        liquidity(
            mid=found.mid,
            bids=(found.bid_05_usd, found.bid_1_usd, found.bid_2_usd),
            asks=(found.ask_05_usd, found.ask_1_usd, found.ask_2_usd),
        ),
        AT,
    )
    for ladder, side in ((snapshot.buys, book.asks), (snapshot.sells, book.bids)):
        assert ladder is not None
        amount = int(ladder.total_usdc_e6 * share)
        if amount < USD:
            continue
        walk, price = walk_bps_e2(ladder, amount), vwap(side, amount / USD)
        assert walk is not None and price is not None
        assert walk >= abs(price / found.mid - 1) * 1_000_000 * (1 - 1e-9)


@each(
    ("is_buy", "amount", "walk"),
    [
        (True, 0, 0),
        (True, 50_000 * USD, 5_001),
        # 50,000 at 1.005001 and 40,000 at 1.010001: 90,000 / 89,355.115461... is 1.007217097...
        (True, 90_000 * USD, 7_218),
        (False, 90_000 * USD, 7_230),
        (True, 150_000 * USD, 12_293),
        (True, 150_000 * USD + 1, None),
    ],
)
def test_the_walk__in_worked_numbers(is_buy: bool, amount: int, walk: int | None) -> None:
    sizes = (50_000 * USD, 40_000 * USD, 60_000 * USD)
    rungs = tuple(Rung(edge, size) for edge, size in zip(EDGES_BPS_E2, sizes, strict=True))
    assert walk_bps_e2(BookLadder(is_buy, rungs), amount) == walk


def test_the_root__in_worked_numbers() -> None:
    """346.42 bps a day, 250 of 50,000,000: 346.42 * sqrt(0.000005) is 0.7746."""
    assert root_bps_e2(250 * USD, 50_000_000 * USD, 34_642) == 78


@each("unknown", ["ladder", "volume", "sigma", "no_volume"])
def test_the_impact__of_a_market_that_is_not_known_is_unknown(unknown: str) -> None:
    ladder = None if unknown == "ladder" else BookLadder(True, (Rung(5_001, USD),))
    volume = None if unknown == "volume" else 0 if unknown == "no_volume" else USD
    assert impact_bps_e2(ladder, 1, volume, None if unknown == "sigma" else 1) is None


@each("rungs", [((2, 1), (1, 1)), ((1, 1), (1, 1)), ((1, -1),), ((1_000_000, 1),)])
def test_rungs_that_do_not_rise__are_no_ladder(rungs: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="rungs rise"):
        BookLadder(True, tuple(Rung(*one) for one in rungs))


def test_a_market_of_which_a_number_is_none_or_no_number__is_unknown_there() -> None:
    odd: MarketLiquidity = liquidity(
        depth_usd=float("nan"), volume_24h_usd=float("inf"), squares=None
    )
    found = exact(odd, AT)
    assert (found.depth_usdc_e6, found.volume_usdc_e6, found.sigma_bps_e2) == (None, None, None)
    assert exact(liquidity(asks=(2.0, 1.0, 3.0)), AT).buys is None
    assert exact(liquidity(is_provisional=None), AT).is_provisional is True


@each(
    ("min_size", "per_quote", "least"),
    [
        (None, 1.0, 0),  # the venue has none
        (None, None, 0),
        (5.0, 1.0, 5 * USD),
        (7_000.0, 0.00072, 5_040_000),  # of won
        (0.1, 0.1, 10_001),  # rounded up
        (5.0, None, None),
        (1e13, 1.0, None),
        (float("nan"), 1.0, None),
        (-1.0, 1.0, None),
    ],
)
def test_the_venues_minimum__is_unknown_where_it_is_no_amount(
    min_size: float | None, per_quote: float | None, least: int | None
) -> None:
    found = exact(liquidity(min_size_quote=min_size, usd_per_quote=per_quote), AT)
    assert found.least_order_usdc_e6 == least


def test_the_volatility__is_of_a_day_and_rounded_up() -> None:
    # the root of 0.0012 is 3.4641016 %, and half a day's buckets stand for twice the squares
    assert exact(liquidity(), AT).sigma_bps_e2 == 34_642
    assert exact(liquidity(squares=0.0006, buckets=6), AT).sigma_bps_e2 == 34_642
    assert exact(liquidity(squares=0.0, buckets=0), AT).sigma_bps_e2 is None


@each(
    ("age", "every_s", "is_known"),
    [
        (timedelta(minutes=10), 60, True),
        (timedelta(minutes=10, microseconds=1), 60, False),
        (timedelta(minutes=10), None, True),
        (timedelta(minutes=20), 600, True),  # two looks
        (timedelta(minutes=20, microseconds=1), 600, False),
    ],
)
def test_a_book__is_known_for_ten_minutes_or_two_looks(
    age: timedelta, every_s: int | None, is_known: bool
) -> None:
    found = exact(liquidity(every_s=every_s), AT + age)
    assert [one is not None for one in (found.buys, found.sells, found.mid)] == [is_known] * 3
    assert exact(liquidity(sampled_at=None), AT).mid is None
