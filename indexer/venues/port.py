"""What a venue is to the scanner: one port, two ways to serve it (docs/market.md).

    CcxtVenue     a live exchange through ccxt
    SimVenue      the embedded simulator, the default

Laws
- What a venue cannot tell is None, and `capabilities` says so beforehand. It is not an empty answer.
- Everything is bounded before it is used: bytes of an answer, rows, characters of a text, levels.
- One bad row is a fault of its own beside the rows that could be taken. An answer of which nothing
  can be taken is a VenueError.
- No venue reads a clock of its own: `now` is handed in at its making.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

from core.market.facts import (
    Book,
    DataSource,
    ListedMarket,
    NetworkStatus,
    Ticker,
    VenueFault,
    VenueNotice,
)

T = TypeVar("T")

MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024  # exchangeInfo of a large venue is about 15 MB
MAX_BOOK_BYTES: Final = 4 * 1024 * 1024  # a book of 500 levels a side is about 100 kB
MAX_MARKETS: Final = 10_000
MAX_NETWORKS: Final = 40_000
MAX_LEVELS: Final = 500  # per side; a venue's further levels are dropped, and the book is truncated
MAX_NOTICES: Final = 500
MAX_TITLE: Final = 300
MAX_ID: Final = 80  # of a native id, ticker, chain or contract: a longer one is a fault
MAX_FAULTS: Final = 200  # of one answer; the last of them then counts those that are left out


class VenueErrorReason(StrEnum):
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    REFUSED = "refused"  # the venue answered, and declines: a wrong id, a missing permission
    RATE_LIMITED = "rate_limited"
    NOT_UNDERSTOOD = "not_understood"  # HTML, another shape, more than the bounds


class VenueError(Exception):
    """A call of which nothing can be taken. `detail`: for the log, at most 300 characters of plain
    text; it may hold words of the venue.
    """

    def __init__(self, reason: VenueErrorReason, exchange: str, detail: str = "") -> None:
        super().__init__(f"{exchange}: {reason}" + (f" ({detail})" if detail else ""))
        self.reason = reason
        self.exchange = exchange
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this venue can tell, as it is set up here (with its keys, or without). False: every value
    of that kind is unknown. `books_per_minute`: single books that the venue's own limits allow, with
    a reserve of a third for the other calls. `books_a_call`: of one call of `books`.
    `max_book_levels`: the most that a call gives per side; a book that has them all is truncated.
    """

    currencies: bool  # deposit and withdrawal, at least of the currency
    networks: bool  # of each chain
    contracts: bool
    notices: bool
    st_tag: bool
    caution: bool
    websocket: bool
    max_book_levels: int
    books_a_call: int
    books_per_minute: int


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What could be taken of an answer, and what could not."""

    values: tuple[T, ...]
    faults: tuple[VenueFault, ...] = ()


class MarketVenue(Protocol):
    """Every call but `watch_book` raises VenueError and nothing else, and ends within its time."""

    @property
    def exchange(self) -> str: ...

    @property
    def source(self) -> DataSource: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def markets(self) -> Parsed[ListedMarket]:
        """The spot pairs that the venue lists, also halted ones."""
        ...

    async def networks(self) -> Parsed[NetworkStatus] | None:
        """None: this venue cannot tell, which is neither open nor closed."""
        ...

    async def tickers(self) -> Parsed[Ticker]: ...

    async def book(self, native_id: str, levels: int) -> Book:
        """As received, not judged. `levels` per side: at least, where the venue has as many."""
        ...

    async def books(self, native_ids: tuple[str, ...], levels: int) -> Parsed[Book]:
        """At most `capabilities.books_a_call` ids. A market that the venue left out of its answer
        is a fault.
        """
        ...

    async def notices(self, since: datetime) -> Parsed[VenueNotice] | None:
        """Published at or after `since`, ascending. None: the venue cannot tell."""
        ...

    def taker_fee_bps(self, native_id: str) -> float | None:
        """What taking from this market's book costs, without a discount, as of its last `markets`.
        None: unknown, which is not free.
        """
        ...

    def watch_book(self, native_id: str) -> AsyncGenerator[Book, None]:
        """Each change, until it is closed. Errors: VenueError, which ends it; REFUSED where there
        is no websocket.
        """
        ...

    async def close(self) -> None: ...
