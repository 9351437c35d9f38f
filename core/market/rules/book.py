"""An order book, judged and measured (docs/market.md#the-book).

Laws
- A book that `judge_many` refuses is never measured: it is not thin, it is no book. A locked one (best
  bid equal to best ask) counts as crossed.
- A level counts as within x of the mid with its boundary.
- Slip is a cost: buying and selling both count upwards from 0 at the mid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from core.market.facts import Book

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Level: TypeAlias = tuple[float, float]

MOST_LEVELS: Final = 5_000
# Of a price or a size. What is computed of them, and of their rates, stays finite and above zero:
# a database refuses a whole statement for one figure that does not.
LEAST_NUMBER: Final = 1e-30
MOST_NUMBER: Final = 1e30
MOST_SKEW_S: Final = 300.0
MOST_AGE_S: Final = 120.0
SMALL_USD: Final = 1_000.0
LARGE_USD: Final = 10_000.0
_BPS: Final = 10_000.0
_EDGE: Final = (
    1 + 1e-9
)  # 101 against a mid of 100 is within 1 %, whatever 101 / 100 - 1 is in floats
_FILLED: Final = 1 - 1e-12


class BookFault(StrEnum):
    """Why a book is not measured. In the order in which they are looked for."""

    EMPTY = "empty"
    ONE_SIDED = "one_sided"
    TOO_DEEP = "too_deep"
    NOT_A_SIZE = "not_a_size"  # NaN, zero, negative, or beyond what any market has
    NON_MONOTONE = "non_monotone"
    CROSSED = "crossed"


class TimeFault(StrEnum):
    """Why a book counts as none although it is one."""

    CLOCK_SKEW = "clock_skew"
    STALE = "stale"
    REPEATED = "repeated"
    OUT_OF_ORDER = "out_of_order"


FAULTS: Final = tuple(BookFault)
"""`judge_many` answers 0 for a book and i + 1 for FAULTS[i]."""


def judge_time(
    book: Book, last_at: datetime | None, is_same_as_last: bool = False
) -> TimeFault | None:
    """A venue that gives no time is judged by its levels alone.

    `last_at`: the venue's time of the book before it; `is_same_as_last`: all levels are equal.
    Skew counts ahead (beyond 300 s), staleness behind (beyond 120 s); beyond 300 s behind the
    clock is wrong and not the book.
    """
    if book.at is None:
        return None
    behind_s = (book.received_at - book.at).total_seconds()
    if abs(behind_s) > MOST_SKEW_S:
        return TimeFault.CLOCK_SKEW
    if behind_s > MOST_AGE_S:
        return TimeFault.STALE
    if last_at is not None and book.at < last_at:
        return TimeFault.OUT_OF_ORDER
    return TimeFault.REPEATED if is_same_as_last and book.at == last_at else None


def vwap(side: Sequence[Level], amount_quote: float) -> float | None:
    """The mean price of taking levels until `amount_quote` of the quote currency has changed hands;
    None: the side ends before.
    """
    left, base = amount_quote, 0.0
    for price, size in side:
        value = price * size
        if value >= left * _FILLED:
            return amount_quote / (base + left / price)
        left -= value
        base += size
    return None


@dataclass(frozen=True, slots=True)
class BookGrid:
    """Many books: rows are books, columns levels, best first. What a book does not have is NaN in
    both price and size, and behind what it has.
    """

    bid_price: Floats
    bid_size: Floats
    ask_price: Floats
    ask_size: Floats
    is_truncated: Flags


@dataclass(frozen=True, slots=True)
class MeasureGrid:
    """Books, measured, a row per book; NaN: no book (all), or the book ends before (slips). Depth in US
    dollars within 0.5, 1 and 2 % of the mid, per side; slip: what buying or selling for 1,000 or
    10,000 dollars costs against the mid. `usd_per_quote`: how the quote was turned into dollars.
    """

    mid: Floats
    spread_bps: Floats
    bid_05_usd: Floats
    ask_05_usd: Floats
    bid_1_usd: Floats
    ask_1_usd: Floats
    bid_2_usd: Floats
    ask_2_usd: Floats
    slip_buy_1k_bps: Floats
    slip_sell_1k_bps: Floats
    slip_buy_10k_bps: Floats
    slip_sell_10k_bps: Floats
    imbalance: Floats
    usd_per_quote: Floats
    is_truncated: Flags


def grid_of(books: Sequence[Book]) -> BookGrid:
    """The books as rows, cut at MOST_LEVELS + 1 levels, so that `judge_many` still refuses them."""
    width = min(max((max(len(b.bids), len(b.asks)) for b in books), default=1), MOST_LEVELS + 1)
    sides = np.full((4, len(books), max(width, 1)), np.nan)
    for first, of in ((0, [b.bids[:width] for b in books]), (2, [b.asks[:width] for b in books])):
        counts = np.fromiter(map(len, of), np.int64, len(of))
        numbers = chain.from_iterable(chain.from_iterable(of))
        levels = np.fromiter(numbers, np.float64, 2 * int(counts.sum())).reshape(-1, 2)
        levels[np.isnan(levels)] = np.inf  # a NaN that a venue sent is no padding
        rows = np.repeat(np.arange(len(of)), counts)
        places = np.arange(len(levels)) - np.repeat(np.cumsum(counts) - counts, counts)
        sides[first, rows, places], sides[first + 1, rows, places] = levels[:, 0], levels[:, 1]
    truncated = np.fromiter((book.is_truncated for book in books), dtype=np.bool_, count=len(books))
    return BookGrid(sides[0], sides[1], sides[2], sides[3], truncated)


def judge_many(grid: BookGrid) -> npt.NDArray[np.int8]:
    """0: can be measured; else 1 + the place of the fault in FAULTS."""
    has_bids, has_asks = (~np.isnan(p[:, 0]) for p in (grid.bid_price, grid.ask_price))
    too_deep = np.zeros(len(has_bids), dtype=np.bool_)
    if grid.bid_price.shape[1] > MOST_LEVELS:
        for price in (grid.bid_price, grid.ask_price):
            too_deep |= ~np.isnan(price[:, MOST_LEVELS:]).all(axis=1)
    sides = (grid.bid_price, grid.bid_size, grid.ask_price, grid.ask_size)
    not_a_size = np.logical_or.reduce(
        [((side < LEAST_NUMBER) | (side > MOST_NUMBER)).any(axis=1) for side in sides]
        + [
            (np.isnan(price) != np.isnan(size)).any(axis=1)
            for price, size in (sides[:2], sides[2:])
        ]
    )
    with np.errstate(invalid="ignore"):
        unordered = (np.diff(grid.bid_price, axis=1) >= 0).any(axis=1) | (
            np.diff(grid.ask_price, axis=1) <= 0
        ).any(axis=1)
        crossed = grid.bid_price[:, 0] >= grid.ask_price[:, 0]
    return np.select(
        [
            ~has_bids & ~has_asks,
            ~has_bids | ~has_asks,
            too_deep,
            not_a_size,
            unordered,
            crossed,
        ],
        [np.int8(i) for i in range(1, 7)],
        np.int8(0),
    ).astype(np.int8)


def measure_many(
    grid: BookGrid, usd_per_quote: Floats, codes: npt.NDArray[np.int8] | None = None
) -> MeasureGrid:
    """Rows that `judge_many` refuses, or whose rate is no rate, are NaN throughout. `codes`: what it
    answered, if it was asked already.
    """
    codes = judge_many(grid) if codes is None else codes
    rate = np.where((usd_per_quote > 0) & np.isfinite(usd_per_quote), usd_per_quote, np.nan)
    rate = np.where(codes == 0, rate, np.nan)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        bid, ask = grid.bid_price[:, 0], grid.ask_price[:, 0]
        mid = np.where(np.isnan(rate), np.nan, (bid + ask) / 2)
        bids = _depths(grid.bid_price, grid.bid_size, mid, rate)
        asks = _depths(grid.ask_price, grid.ask_size, mid, rate)
        buy = _slips(grid.ask_price, grid.ask_size, mid, rate)
        sell = _slips(grid.bid_price, grid.bid_size, mid, rate)
        near = bids[2] + asks[2]
        return MeasureGrid(
            mid=mid,
            spread_bps=_BPS * (ask - bid) / mid,
            bid_05_usd=bids[0],
            ask_05_usd=asks[0],
            bid_1_usd=bids[1],
            ask_1_usd=asks[1],
            bid_2_usd=bids[2],
            ask_2_usd=asks[2],
            slip_buy_1k_bps=buy[0],
            slip_sell_1k_bps=sell[0],
            slip_buy_10k_bps=buy[1],
            slip_sell_10k_bps=sell[1],
            imbalance=np.where(near == 0, 0.0, (bids[2] - asks[2]) / near),
            usd_per_quote=rate,
            is_truncated=grid.is_truncated,
        )


def _depths(price: Floats, size: Floats, mid: Floats, rate: Floats) -> list[Floats]:
    value = price * size
    away = np.abs(price - mid[:, None]) / mid[:, None]
    return [
        np.where(np.isnan(mid), np.nan, np.where(away <= within * _EDGE, value, 0).sum(axis=1))
        * rate
        for within in (0.005, 0.01, 0.02)
    ]


def _slips(price: Floats, size: Floats, mid: Floats, rate: Floats) -> list[Floats]:
    is_level = ~np.isnan(price)
    value, size = np.where(is_level, price * size, 0), np.where(is_level, size, 0)
    spent = np.cumsum(value, axis=1)
    bought = np.cumsum(size, axis=1)
    rows = np.arange(len(mid))
    answers = []
    for amount_usd in (SMALL_USD, LARGE_USD):
        amount = amount_usd / rate
        fills = spent >= amount[:, None] * _FILLED
        at = fills.argmax(axis=1)  # the level that fills it; 0 also where none does
        base = (
            bought[rows, at]
            - size[rows, at]
            + (amount - spent[rows, at] + value[rows, at]) / price[rows, at]
        )
        answers.append(np.where(fills.any(axis=1), _BPS * np.abs(amount / base / mid - 1), np.nan))
    return answers
