"""Books as they were received, judged and measured together: what a batch of samples holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Final

import numpy as np

from core.market.copying import unix_us
from core.market.facts import Book
from core.market.queries import KnownListing
from core.market.rules.book import FAULTS, grid_of, judge_many, judge_time, measure_many
from core.market.samples import SampleBatch

PAR: Final = frozenset({"USD", "USDT", "USDC", "FDUSD", "DAI"})
BRIDGES: Final = ("USDT", "USD", "USDC")
LEVELS: Final = 100  # per side of a book that is measured; captures cut theirs to as many


@dataclass(frozen=True, slots=True)
class QuoteRate:
    usd_per_quote: float
    source: str


def rates_of(exchange: str, listed: Mapping[tuple[str, str], float]) -> Mapping[str, QuoteRate]:
    """What a quote currency is worth in US dollars, of the venue's own prices by base and quote
    (docs/market-store.md#dollars); one without a way to dollars there has no rate.
    """
    prices = {pair: price for pair, price in listed.items() if isfinite(price) and price > 0}
    rates = {quote: QuoteRate(1.0, "par") for quote in PAR}
    for quote in {quote for _, quote in prices} - PAR:
        for dollar in BRIDGES:
            inverse, straight = prices.get((dollar, quote)), prices.get((quote, dollar))
            if inverse is not None:
                rates[quote] = QuoteRate(1 / inverse, f"{exchange}:{dollar}/{quote}")
                break
            if straight is not None:
                rates[quote] = QuoteRate(straight, f"{exchange}:{quote}/{dollar}")
                break
    return rates


@dataclass(frozen=True, slots=True)
class LastBook:
    """The book before: its time, and what its levels were."""

    at: datetime | None
    levels: int

    @classmethod
    def of(cls, book: Book) -> "LastBook":
        return cls(book.at, hash((book.bids, book.asks)))


@dataclass(frozen=True, slots=True)
class BesideBooks:
    """What the venue reported beside its books: rates by quote, volumes in the quote by native id,
    and by native base whether deposits and withdrawals are open.
    """

    rates: Mapping[str, QuoteRate]
    volumes: Mapping[str, float]
    transfers: Mapping[str, tuple[bool | None, bool | None]]


def measured(
    books: Sequence[Book],
    listings: Mapping[str, KnownListing],
    beside: BesideBooks,
    every_s: Mapping[str, int],
    last: Mapping[str, LastBook],
    minute: datetime,
) -> SampleBatch:
    """A row per book, faults included, in the order of `books`; each is of a listing that is known."""
    known = [listings[book.native_id] for book in books]
    rates = [beside.rates.get(one.quote) for one in known]
    grid = grid_of(books)
    per_quote = np.array([np.nan if rate is None else rate.usd_per_quote for rate in rates])
    codes = judge_many(grid)
    faults = [
        _fault(book, int(code), last.get(book.native_id), rate)
        for book, code, rate in zip(books, codes, rates, strict=True)
    ]
    flags = [beside.transfers.get(one.native_base, (None, None)) for one in known]
    volumes = [
        np.nan if rate is None else beside.volumes.get(book.native_id, np.nan) * rate.usd_per_quote
        for book, rate in zip(books, rates, strict=True)
    ]
    return SampleBatch(
        minutes_us=np.full(len(books), unix_us(minute)),
        listing_ids=np.array([one.listing_id for one in known], dtype=np.int64),
        every_s=np.array([every_s.get(book.native_id, 60) for book in books]),
        measures=measure_many(grid, per_quote, codes),
        fx_sources=[None if rate is None else rate.source for rate in rates],
        volumes_usd=np.array(volumes),
        can_deposit=np.array([_flag(one[0]) for one in flags], dtype=np.int8),
        can_withdraw=np.array([_flag(one[1]) for one in flags], dtype=np.int8),
        venue_at_us=np.array([unix_us(book.at) for book in books]),
        received_at_us=np.array([unix_us(book.received_at) for book in books]),
        faults=faults,
    )


def _fault(book: Book, code: int, last: LastBook | None, rate: QuoteRate | None) -> str | None:
    if code:
        return FAULTS[code - 1]
    is_same = last is not None and last.at == book.at and last == LastBook.of(book)
    of_time = judge_time(book, None if last is None else last.at, is_same)
    if of_time is not None:
        return of_time
    return "no_dollar_rate" if rate is None else None


def _flag(value: bool | None) -> int:
    return -1 if value is None else int(value)
