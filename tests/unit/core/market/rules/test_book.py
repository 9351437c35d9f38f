"""Books are judged, measured by hand, by fractions, and many at once."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.facts import Book
from core.market.rules.book import (
    FAULTS,
    MOST_LEVELS,
    BookFault,
    TimeFault,
    grid_of,
    judge_many,
    judge_time,
    measure_many,
    vwap,
)
from tests.each import each
from tests.market_books import judge, measure
from tests.unit.core.mandate.rules.worked import table

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BIDS = ((99.9, 100.0), (99.5, 200.0), (99.0, 300.0), (98.0, 400.0), (97.0, 500.0))
ASKS = ((100.1, 50.0), (100.5, 100.0), (101.0, 150.0), (102.0, 200.0), (103.0, 250.0))
BOOK = Book("binance", "XYZUSDT", BIDS, ASKS, NOW, NOW, is_truncated=False)
FIGURES = (
    "mid",
    "spread_bps",
    "bid_05_usd",
    "ask_05_usd",
    "bid_1_usd",
    "ask_1_usd",
    "bid_2_usd",
    "ask_2_usd",
    "slip_buy_1k_bps",
    "slip_sell_1k_bps",
    "slip_buy_10k_bps",
    "slip_sell_10k_bps",
    "imbalance",
)


def of(bids: Sequence[tuple[float, float]], asks: Sequence[tuple[float, float]]) -> Book:
    return replace(BOOK, bids=tuple(bids), asks=tuple(asks))


BAD = {
    "empty": (of((), ()), BookFault.EMPTY),
    "bids alone": (of(BIDS, ()), BookFault.ONE_SIDED),
    "asks alone": (of((), ASKS), BookFault.ONE_SIDED),
    "a price that is NaN": (of(((math.nan, 1.0),), ASKS), BookFault.NOT_A_SIZE),
    "a size that is NaN": (of(BIDS, ((100.1, math.nan),)), BookFault.NOT_A_SIZE),
    "a price without end": (of(BIDS, ((math.inf, 1.0),)), BookFault.NOT_A_SIZE),
    "a price that no market has": (of(BIDS, ((1e31, 1.0),)), BookFault.NOT_A_SIZE),
    "a size that no market has": (of(BIDS, ((100.1, 1e-31),)), BookFault.NOT_A_SIZE),
    "a negative size": (of(((99.9, -1.0),), ASKS), BookFault.NOT_A_SIZE),
    "a size of zero": (of(((99.9, 0.0),), ASKS), BookFault.NOT_A_SIZE),
    "a negative price": (of(((-99.9, 1.0),), ASKS), BookFault.NOT_A_SIZE),
    "bids that rise": (of(((99.0, 1.0), (99.5, 1.0)), ASKS), BookFault.NON_MONOTONE),
    "asks that fall": (of(BIDS, ((101.0, 1.0), (100.5, 1.0))), BookFault.NON_MONOTONE),
    "a price twice": (of(((99.5, 1.0), (99.5, 1.0)), ASKS), BookFault.NON_MONOTONE),
    "crossed": (of(((100.2, 1.0),), ASKS), BookFault.CROSSED),
    "locked": (of(((100.1, 1.0),), ASKS), BookFault.CROSSED),
    "too many levels": (
        of([(99.0 - i / 1e4, 1.0) for i in range(MOST_LEVELS + 1)], ASKS),
        BookFault.TOO_DEEP,
    ),
}


@each("name", BAD)
def test_a_book_that_is_none__leaves_the_others_of_its_batch_measured(name: str) -> None:
    book, fault = BAD[name]
    grid = grid_of([BOOK, book])

    assert judge_many(grid).tolist() == [0, 1 + FAULTS.index(fault)]
    assert np.isnan(measure_many(grid, np.ones(2)).mid).tolist() == [False, True]


def test_as_many_levels_as_may_be__are_measured() -> None:
    book = of([(99.0 - i / 1e4, 1.0) for i in range(MOST_LEVELS)], ASKS)

    assert judge(book) is None


@each("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none__measures_nothing(rate: float) -> None:
    assert measure(BOOK, rate).mid is None


def test_the_worked_book__measures_what_the_page_says() -> None:
    found = measure(BOOK, 1.0)
    written = {row[0].strip("`"): row[1] for row in table("market.md", "book")}

    assert {name: f"{getattr(found, name):.4f}" for name in written} == written
    assert set(written) == set(FIGURES)


def test_a_level_on_the_edge__is_within() -> None:
    edge = of(((99.0, 1.0),), ((101.0, 1.0),))
    beyond = of(((98.98, 1.0),), ((101.02, 1.0),))

    assert measure(edge, 1.0).ask_1_usd == 101.0
    assert measure(beyond, 1.0).ask_1_usd == 0.0
    assert measure(beyond, 1.0).ask_2_usd == 101.02


def test_a_book_that_ends_before__has_no_slip() -> None:
    exact = of(((99.0, 100.0),), ((100.0, 10.0),))
    short = of(((99.0, 100.0),), ((100.0, 9.999),))

    assert measure(exact, 1.0).slip_buy_1k_bps is not None
    assert measure(short, 1.0).slip_buy_1k_bps is None
    assert measure(exact, 1.0).slip_buy_10k_bps is None


def test_won_are_turned_into_dollars_before_anything_is_counted() -> None:
    won = of([(p * 1_400, s) for p, s in BIDS], [(p * 1_400, s) for p, s in ASKS])
    ours, theirs = measure(BOOK, 1.0), measure(won, 1 / 1_400)

    assert theirs.ask_2_usd == pytest.approx(ours.ask_2_usd)
    assert theirs.slip_buy_10k_bps == pytest.approx(ours.slip_buy_10k_bps)


@each(
    ("behind_s", "fault"),
    [
        (0, None),
        (120, None),
        (121, TimeFault.STALE),
        (300, TimeFault.STALE),
        (301, TimeFault.CLOCK_SKEW),
        (3_600, TimeFault.CLOCK_SKEW),
        (-300, None),
        (-301, TimeFault.CLOCK_SKEW),
    ],
)
def test_a_books_time__is_judged_by_its_distance(behind_s: int, fault: TimeFault | None) -> None:
    assert judge_time(replace(BOOK, at=NOW - timedelta(seconds=behind_s)), None) is fault


def test_a_book_that_is_repeated__counts_as_none() -> None:
    assert judge_time(BOOK, NOW, is_same_as_last=True) is TimeFault.REPEATED
    assert judge_time(BOOK, NOW, is_same_as_last=False) is None
    assert judge_time(BOOK, NOW - timedelta(seconds=1), is_same_as_last=True) is None
    assert judge_time(BOOK, NOW + timedelta(seconds=1)) is TimeFault.OUT_OF_ORDER


def test_a_book_without_a_time__is_not_judged_by_it() -> None:
    assert judge_time(replace(BOOK, at=None), NOW, is_same_as_last=True) is None


# a slow reference, in fractions


def side_of(first: int, steps: list[tuple[int, int]], sign: int) -> list[tuple[float, float]]:
    price, found = first, []
    for step, size in steps:
        price += sign * step
        if price > 0:
            found.append((price / 64, size / 16))
    return found


sizes = st.integers(1, 200_000)
levels = st.lists(st.tuples(st.integers(1, 30), sizes), min_size=1, max_size=12)


@st.composite
def books(draw: st.DrawFn) -> Book:
    """Prices are multiples of 1/64 and sizes of 1/16, so that floats hold them exactly."""
    middle = draw(st.integers(500, 20_000))
    bids = side_of(middle, draw(levels), -1)
    asks = side_of(middle, draw(levels), 1)
    return of(bids, asks)


def exact(side: Sequence[tuple[float, float]]) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(price), Fraction(size)) for price, size in side]


def exact_vwap(side: list[tuple[Fraction, Fraction]], amount: int) -> Fraction | None:
    spent = base = Fraction(0)
    for price, size in side:
        take = min(size, (amount - spent) / price)
        spent, base = spent + take * price, base + take
        if spent == amount:
            return spent / base
    return None


def reference(book: Book) -> dict[str, Fraction | None]:
    bids, asks = exact(book.bids), exact(book.asks)
    mid = (bids[0][0] + asks[0][0]) / 2
    answer: dict[str, Fraction | None] = {
        "mid": mid,
        "spread_bps": 10_000 * (asks[0][0] - bids[0][0]) / mid,
    }
    for name, within in (("05", Fraction(1, 200)), ("1", Fraction(1, 100)), ("2", Fraction(1, 50))):
        for which, side in (("bid", bids), ("ask", asks)):
            answer[f"{which}_{name}_usd"] = sum(
                (p * q for p, q in side if abs(p / mid - 1) <= within), Fraction(0)
            )
    for name, amount in (("1k", 1_000), ("10k", 10_000)):
        for which, side in (("buy", asks), ("sell", bids)):
            price = exact_vwap(side, amount)
            answer[f"slip_{which}_{name}_bps"] = (
                None if price is None else 10_000 * abs(price / mid - 1)
            )
    near_bid, near_ask = answer["bid_2_usd"], answer["ask_2_usd"]
    assert near_bid is not None
    assert near_ask is not None
    near = near_bid + near_ask
    answer["imbalance"] = (near_bid - near_ask) / near if near else Fraction(0)
    return answer


@given(books())
def test_a_measured_book__is_what_fractions_say(book: Book) -> None:
    assert judge(book) is None
    found = measure(book, 1.0)

    for name, value in reference(book).items():
        got = getattr(found, name)
        expected = None if value is None else pytest.approx(float(value), rel=1e-9, abs=1e-7)
        assert got == expected, name


@given(st.lists(books(), min_size=2, max_size=5))
def test_a_book__measures_the_same_alone_and_among_others(many: list[Book]) -> None:
    found = measure_many(grid_of(many), np.full(len(many), 0.25))

    for row, book in enumerate(many):
        one = measure(book, 0.25)
        for name in FIGURES:
            got, expected = float(getattr(found, name)[row]), getattr(one, name)
            assert got == pytest.approx(math.nan if expected is None else expected, nan_ok=True)


@given(books(), st.integers(1, 5_000), st.integers(1, 5_000))
def test_more_costs_at_least_as_much_a_unit(book: Book, one: int, other: int) -> None:
    small, large = (vwap(book.asks, amount) for amount in sorted((one, other)))

    assert large is None or (small is not None and small <= large * (1 + 1e-12))
