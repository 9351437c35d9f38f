"""One venue, minute by minute: what it lists, its networks, notices, tickers, and the books that are
due. Nothing that it does or leaves undone concerns another venue (docs/market-store.md#the-scanner).

    minute --> markets, networks, notices (each when due) --> tickers --> books in turns --> samples

Laws
- Each call has a time, and its failure costs that call alone; the venue then is degraded, or down
  when nothing came.
- Samples are written within about a second of their receipt, fenced by the lead.
- What is not done when the minute is over is not done: the next minute has its own.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeVar

import structlog

from core.market import networks, outcomes, queries, samples, scans
from core.market.facts import Book, ListedMarket, NetworkStatus, Ticker
from core.market.queries import KnownListing
from core.market.rules.transfer import any_open
from core.market.scans import VenueHealth, VenueReport
from indexer.venues import scan_books
from indexer.venues.bursts import BurstLook
from indexer.venues.port import MarketVenue, Parsed, VenueError, VenueErrorReason
from indexer.venues.scan_books import (
    LEVELS,
    BesideBooks,
    LastBook,
    rates_of,
)
from indexer.venues.scan_plan import CallPace, DueBooks, due
from indexer.venues.store import TROUBLE, ScannerStore, learn_markets

CALL_S: Final = 15.0
MARKETS_EVERY: Final = timedelta(minutes=10)
NETWORKS_EVERY: Final = timedelta(minutes=5)
NOTICES_EVERY: Final = timedelta(minutes=2)
NOTICES_BACK: Final = timedelta(days=2)
WORKERS: Final = 4
BUFFER_ROWS: Final = 1_000
BUFFER_S: Final = 1.0
ODD_SHARE: Final = 0.5  # of books with one fault, from which on the venue is degraded by it
LAGS_KEPT: Final = 20_000

log = structlog.get_logger("scanner")
T = TypeVar("T")


@dataclass
class ScannedMinute:
    """What became of a minute so far. `measured`: books that were written, `rejected` of them as faults."""

    at: datetime
    planned: DueBooks
    faults: Counter[str] = field(default_factory=Counter)
    measured: set[str] = field(default_factory=set)
    rejected: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    skews_ms: list[float] = field(default_factory=list)
    lags_s: list[float] = field(default_factory=list)


class VenueScan:
    """`now`: the time; `targets`: listing ids that are looked at each minute."""

    def __init__(
        self,
        venue: MarketVenue,
        store: ScannerStore,
        now: Callable[[], datetime],
        targets: Callable[[], Collection[int]],
        on_book: Callable[[KnownListing, Book, float, str, float | None], None] = lambda *_: None,
        on_look: Callable[[BurstLook], None] = lambda _: None,
    ) -> None:
        self.venue, self.exchange = venue, venue.exchange
        self._store, self._now, self._targets, self._on_book = store, now, targets, on_book
        self._on_look = on_look
        self._listings: Mapping[str, KnownListing] = {}
        self._networks: Mapping[str, tuple[bool | None, bool | None]] = {}
        self._last: dict[str, LastBook] = {}
        self._asked: dict[str, datetime] = {}
        self._answered_at: datetime | None = None
        self._partial: str | None = None
        self._lock = asyncio.Lock()  # one transaction of this venue at a time
        self.lags_s: deque[float] = deque(maxlen=LAGS_KEPT)

    async def minute(self, at: datetime) -> ScannedMinute:
        """Errors: LeadershipLostError; a failed call or transaction is reported in the answer."""
        state = ScannedMinute(at, DueBooks((), (), 60, 60))
        await self._learn(state)
        beside = await self._beside(state)
        listed = sorted(self._listings)
        wanted = self._targets()
        chosen = [name for name, one in self._listings.items() if one.listing_id in wanted]
        state.planned = due(listed, chosen, self.venue.capabilities.books_per_minute, at)
        await self._books(state, beside)
        await self._end(state)
        return state

    async def _learn(self, state: ScannedMinute) -> None:
        now = self._now()
        if self._is_due("markets", MARKETS_EVERY):
            found = await self._asked_for("markets", self.venue.markets(), state)
            if found is not None:
                await self._took_markets(found, state)
        if self._is_due("networks", NETWORKS_EVERY) and self.venue.capabilities.currencies:
            statuses = await self._asked_for("networks", self.venue.networks(), state)
            if statuses is not None:
                await self._took_networks(statuses, state)
        if self._is_due("notices", NOTICES_EVERY) and self.venue.capabilities.notices:
            news = await self._asked_for("notices", self.venue.notices(now - NOTICES_BACK), state)
            if news is not None and news.values:
                of = news.values, now
                await self._tried(state, lambda: self._store.write(outcomes.learn_notices, *of))

    async def _took_markets(self, found: Parsed[ListedMarket], state: ScannedMinute) -> None:
        of = self.exchange, found.values, self.venue.source, self._now()
        is_whole = await self._tried(state, lambda: self._store.write(learn_markets, *of))
        self._partial = None if is_whole in (True, None) else "half_markets"
        listed = await self._tried(
            state, lambda: self._store.read(queries.known_listings, self.exchange)
        )
        if listed is not None:
            self._listings = {one.native_id: one for one in listed}

    async def _took_networks(self, found: Parsed[NetworkStatus], state: ScannedMinute) -> None:
        of = self.exchange, found.values, self._now()
        is_whole = await self._tried(state, lambda: self._store.write(networks.learn_networks, *of))
        if is_whole is False:
            state.failures["half_networks"] += 1
            return
        by_base: dict[str, list[NetworkStatus]] = {}
        for one in found.values:
            by_base.setdefault(one.native_base, []).append(one)
        self._networks = {
            base: (
                any_open([one.can_deposit for one in statuses]),
                any_open([one.can_withdraw for one in statuses]),
            )
            for base, statuses in by_base.items()
        }

    async def _beside(self, state: ScannedMinute) -> BesideBooks:
        found = await self._asked_for("tickers", self.venue.tickers(), state)
        tickers: Sequence[Ticker] = () if found is None else found.values
        prices, volumes = dict[tuple[str, str], float](), dict[str, float]()
        for one in tickers:
            listing = self._listings.get(one.native_id)
            price = _price(one)
            if listing is not None and price is not None:
                prices[listing.base, listing.quote] = price
            if one.volume_24h_quote is not None:
                volumes[one.native_id] = one.volume_24h_quote
        return BesideBooks(rates_of(self.exchange, prices), volumes, self._networks)

    async def _books(self, state: ScannedMinute, beside: BesideBooks) -> None:
        ids = [self._listings[name].listing_id for name in state.planned.all]
        done = await self._tried(state, lambda: self._store.read(samples.sampled_in, state.at, ids))
        names = [
            name
            for name in state.planned.all
            if self._listings[name].listing_id not in (done or frozenset())
        ]
        size = self.venue.capabilities.books_a_call
        levels = min(LEVELS, self.venue.capabilities.max_book_levels)
        calls = deque(tuple(names[first : first + size]) for first in range(0, len(names), size))
        pace_s = 60 / max(self.venue.capabilities.books_per_minute, 1)
        turn = CallPace(pace_s)
        sink = _Sink(self, state, beside)
        ends = state.at + timedelta(minutes=1)

        async def work() -> None:
            while calls and self._now() < ends:
                call = calls.popleft()
                await turn.take(len(call))
                found = await self._asked_for("books", self.venue.books(call, levels), state)
                if found is not None:
                    await sink.take(found)

        await asyncio.gather(*(work() for _ in range(WORKERS)))
        await sink.flush()

    async def write_books(
        self, books: Sequence[Book], state: ScannedMinute, beside: BesideBooks
    ) -> None:
        """Judge, measure and write these; once each, of listings that are known."""
        fresh = {b.native_id: b for b in books if b.native_id in self._listings}
        fresh = {name: one for name, one in fresh.items() if name not in state.measured}
        if not fresh:
            return
        taken = list(fresh.values())
        every_s = {name: state.planned.every_s(name) for name in fresh}
        batch = scan_books.measured(taken, self._listings, beside, every_s, self._last, state.at)
        now = self._now()
        if await self._tried(state, lambda: self._store.write(samples.write, batch, now)) is None:
            return
        written_at = self._now()
        for place, (book, fault) in enumerate(zip(taken, batch.faults, strict=True)):
            self._last[book.native_id] = LastBook.of(book)
            if book.at is not None:
                state.skews_ms.append((book.received_at - book.at).total_seconds() * 1_000)
            state.measured.add(book.native_id)
            if fault is not None:
                state.faults[fault] += 1
                state.rejected += 1
                continue
            if book.at is not None:
                state.lags_s.append((written_at - book.at).total_seconds())
            listing = self._listings[book.native_id]
            rate = beside.rates[listing.quote]
            fee_bps = self.venue.taker_fee_bps(book.native_id)
            self._on_book(listing, book, rate.usd_per_quote, rate.source, fee_bps)
            self._on_look(
                BurstLook(
                    native_id=book.native_id,
                    listing_id=listing.listing_id,
                    minute=state.at,
                    mid=float(batch.measures.mid[place]),
                    spread_bps=float(batch.measures.spread_bps[place]),
                    depth_usd=float(
                        min(batch.measures.bid_2_usd[place], batch.measures.ask_2_usd[place])
                    ),
                    usd_per_quote=rate.usd_per_quote,
                )
            )

    async def _end(self, state: ScannedMinute) -> None:
        self.lags_s.extend(state.lags_s)
        health, reason = _judged(state, self._partial)
        report = VenueReport(
            exchange=self.exchange,
            source=self.venue.source,
            state=health,
            reason=reason,
            lag_s=_percentile(state.lags_s, 0.99),
            skew_ms=None if (mid := _percentile(state.skews_ms, 0.5)) is None else int(mid),
            books_per_minute=self.venue.capabilities.books_per_minute,
            listings=len(self._listings),
            capabilities=asdict(self.venue.capabilities),
            answered_at=self._answered_at,
        )
        now = self._now()
        await self._tried(state, lambda: self._store.write(scans.report, report, now))

    def _is_due(self, what: str, every: timedelta) -> bool:
        last = self._asked.get(what)
        return last is None or self._now() - last >= every

    async def _asked_for(self, what: str, call: Awaitable[T], state: ScannedMinute) -> T | None:
        """The answer; None: it failed, which is counted."""
        try:
            async with asyncio.timeout(CALL_S):
                answer = await call
        except TimeoutError:
            state.failures[VenueErrorReason.TIMEOUT] += 1
            log.warning("venue call", exchange=self.exchange, call=what, reason="timeout")
        except VenueError as error:
            state.failures[error.reason] += 1
            log.warning("venue call", exchange=self.exchange, call=what, reason=error.reason)
        else:
            state.answers += 1
            self._answered_at = self._now()
            self._asked[what] = self._answered_at
            return answer
        return None

    async def _tried(self, state: ScannedMinute, begin: Callable[[], Awaitable[T]]) -> T | None:
        """What a transaction answers; None: it failed, which is counted."""
        try:
            async with self._lock:
                return await begin()
        except TROUBLE as error:
            state.failures["not_written"] += 1
            log.error("not written", exchange=self.exchange, kind=type(error).__name__)
            return None


class _Sink:
    """Books that wait to be written together."""

    def __init__(self, scan: VenueScan, state: ScannedMinute, beside: BesideBooks) -> None:
        self._scan, self._state, self._beside = scan, state, beside
        self._books = list[Book]()
        self._since = 0.0

    async def take(self, found: Parsed[Book]) -> None:
        for fault in found.faults:
            self._state.faults[fault.what] += 1
        if not self._books:
            self._since = time.monotonic()
        self._books += found.values
        if len(self._books) >= BUFFER_ROWS or time.monotonic() - self._since >= BUFFER_S:
            await self.flush()

    async def flush(self) -> None:
        books, self._books = self._books, []
        await self._scan.write_books(books, self._state, self._beside)


def _judged(state: ScannedMinute, partial: str | None) -> tuple[VenueHealth, str | None]:
    """Down: nothing came. Degraded: some of it did not, or what came is odd."""
    worst = state.failures.most_common(1)
    if worst and not state.answers:
        return VenueHealth.DOWN, str(worst[0][0])
    if worst:
        return VenueHealth.DEGRADED, str(worst[0][0])
    if partial is not None:
        return VenueHealth.DEGRADED, partial
    odd = state.faults.most_common(1)
    if odd and odd[0][1] > ODD_SHARE * max(len(state.planned.all), 1):
        return VenueHealth.DEGRADED, odd[0][0]
    return VenueHealth.OK, None


def _percentile(values: Sequence[float], share: float) -> float | None:
    if not values:
        return None
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def _price(one: Ticker) -> float | None:
    if one.bid is not None and one.ask is not None:
        return (one.bid + one.ask) / 2
    return one.last
