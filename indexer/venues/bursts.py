"""Microburst captures of one venue (docs/market-store.md#microbursts).

    measured book --> trigger --> wishes: targets | others --> a minute at 1 Hz --> a row
                                                               websocket, else polled

Laws
- Targets whose accounts have a capture left that day come first; another pair is captured while
  there is room alone, one at a time.
- Captures at once, beginnings in a minute, wishes that wait and calls for books are bounded per
  venue. A wish that is a minute old is past.
- A capture has a connection of its own. What fails in it ends it alone; no call of the scan waits
  for it.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import structlog

from core.db.engine import WriteSession
from core.db.leadership import LeadershipLostError
from core.market import bursts
from core.market.bursts import UsualMinute
from core.market.facts import Book
from core.market.rules.book import grid_of, judge_time, measure_many
from core.market.rules.research import (
    BURST_COOLDOWN,
    BURST_SAMPLES,
    BurstFacts,
    BurstSample,
    BurstTrigger,
    burst_summary,
    burst_trigger,
)
from core.targets import queries as targets
from core.targets import views
from core.targets.rules import TargetLimits
from core.times import start_of_day
from indexer.venues.port import MarketVenue, VenueError
from indexer.venues.scan_books import LEVELS
from indexer.venues.scan_plan import CallPace
from indexer.venues.store import TROUBLE, ScannerStore

USUAL_EVERY: Final = timedelta(minutes=10)
USUAL_AGAIN: Final = timedelta(minutes=1)  # after a database that was in trouble
STARTS_A_MINUTE: Final = 6
OTHERS_A_MINUTE: Final = 2
OTHERS_AT_ONCE: Final = 1
MOST_WISHES: Final = 50  # of each kind
ASKED_A_BEAT: Final = 10  # transactions that ask whether a target has a capture left
LEAST_SAMPLES: Final = 5
QUIET_S: Final = 15.0  # a websocket without a change for so long is polled instead
WATCH_PAUSE_S: Final = 0.5  # between two looks at a websocket's book, however often it changes
CALL_S: Final = 10.0
MOST_FAILURES: Final = 3
POLLED_SHARE: Final = 0.25  # of `books_per_minute`; a reserve of half of it is left for other calls
MINUTE: Final = timedelta(minutes=1)
BEAT_S: Final = 1.0
SECOND_S: Final = 1.0
_BPS: Final = 10_000.0

log = structlog.get_logger("scanner")


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstLook:
    """A measured book of a minute. `depth_usd`: within 2 %, of the smaller side."""

    native_id: str
    listing_id: int
    minute: datetime
    mid: float
    spread_bps: float
    depth_usd: float
    usd_per_quote: float


@dataclass(frozen=True, slots=True)
class BurstWish:
    look: BurstLook
    facts: BurstFacts
    trigger: BurstTrigger
    at: datetime


@dataclass(frozen=True, slots=True)
class BurstStart:
    """`is_other`: of a pair that nobody has a capture left for."""

    at: datetime
    is_other: bool


@dataclass
class _NewestBook:
    """The book that a second of a capture has. `is_live`: also in the seconds after, because its
    websocket would report a change.
    """

    book: Book | None = None
    is_live: bool = False

    def taken(self) -> Book | None:
        found = self.book
        if not self.is_live:
            self.book = None
        return found


@dataclass
class VenueBursts:
    """`now`: the time; `targets`: listing ids that are looked at each minute; `at_once`: captures
    at the same time, 0: none ever; `limits`: of targets, which say whose captures are counted.
    """

    venue: MarketVenue
    store: ScannerStore
    now: Callable[[], datetime]
    targets: Callable[[], Collection[int]]
    at_once: int
    limits: TargetLimits
    left_out: int = 0
    _usual: Mapping[int, UsualMinute] = field(default_factory=dict)
    _usual_at: datetime | None = None
    _begun: dict[int, datetime] = field(default_factory=dict)
    _looks: dict[int, BurstLook] = field(default_factory=dict)
    _wished: deque[BurstWish] = field(default_factory=deque)
    _others: deque[BurstWish] = field(default_factory=deque)
    _starts: deque[BurstStart] = field(default_factory=deque)  # of the last minute
    _running: dict[asyncio.Task[None], BurstStart] = field(default_factory=dict)

    def __post_init__(self) -> None:
        polls = max(self.venue.capabilities.books_per_minute * POLLED_SHARE, 1.0)
        self._polls = CallPace(max(MINUTE.total_seconds() / polls, 0.0))

    def look(self, one: BurstLook) -> None:
        """Take a measured book, and wish for a capture if it is unusual."""
        before, self._looks[one.listing_id] = self._looks.get(one.listing_id), one
        usual = self._usual.get(one.listing_id)
        if usual is None or not self.at_once:
            return
        facts = BurstFacts(
            return_bps=_moved_bps(before, one),
            sigma_bps=usual.sigma_bps,
            spread_bps=one.spread_bps,
            spread_median_bps=usual.spread_bps,
            depth_usd=one.depth_usd,
            depth_median_usd=usual.depth_usd,
        )
        now = self.now()
        trigger = burst_trigger(facts, self._begun.get(one.listing_id), now)
        if trigger is None:
            return
        queue = self._wished if one.listing_id in self.targets() else self._others
        if len(queue) >= MOST_WISHES:
            self.left_out += 1
            return
        queue.append(BurstWish(one, facts, trigger, now))

    async def run(self, ended: asyncio.Event) -> None:
        """Captures until the end. Errors: LeadershipLostError, from a transaction's fence."""
        try:
            async with asyncio.TaskGroup() as group:
                while not ended.is_set():
                    await self._learn()
                    await self._start(group)
                    await _rest(ended, BEAT_S)
                for task in self._running:
                    task.cancel()  # what is under way is not waited for
        except* LeadershipLostError as lost:
            raise lost.exceptions[0] from None

    async def _learn(self) -> None:
        now = self.now()
        if self._usual_at is not None and now - self._usual_at < USUAL_EVERY:
            return
        try:
            exchange = self.venue.exchange
            self._usual = await self.store.read(bursts.usual, exchange, now)
            if self._usual_at is None:
                since = now - BURST_COOLDOWN
                begun = await self.store.read(bursts.begun_since, exchange, since)
                self._begun = {**begun, **self._begun}
        except TROUBLE as error:
            log.error(
                "could not read usual minutes", exchange=self.venue.exchange, kind=_name(error)
            )
            self._usual_at = now - USUAL_EVERY + USUAL_AGAIN
        else:
            self._usual_at = now
            self._begun = {one: at for one, at in self._begun.items() if now - at < BURST_COOLDOWN}

    async def _start(self, group: asyncio.TaskGroup) -> None:
        """Begin as many of the wishes as there is room for."""
        self._forget(self.now())
        for _ in range(ASKED_A_BEAT):
            if not self._wished or not self._has_room():
                break
            wish = self._wished.popleft()
            if await self._is_counted(wish):
                self._begin(group, wish, is_other=False)
            elif len(self._others) < MOST_WISHES:
                self._others.append(wish)
        while self._others and self._has_room() and self._has_room_for_others():
            self._begin(group, self._others.popleft(), is_other=True)

    def _forget(self, now: datetime) -> None:
        """Beginnings and wishes of more than a minute ago."""
        while self._starts and now - self._starts[0].at >= MINUTE:
            self._starts.popleft()
        for queue in (self._wished, self._others):
            while queue and now - queue[0].at >= MINUTE:
                queue.popleft()
                self.left_out += 1
        if self.left_out:
            log.warning("captures left out", exchange=self.venue.exchange, count=self.left_out)
            self.left_out = 0

    def _has_room(self) -> bool:
        return len(self._running) < self.at_once and len(self._starts) < STARTS_A_MINUTE

    def _has_room_for_others(self) -> bool:
        running = sum(one.is_other for one in self._running.values())
        started = sum(one.is_other for one in self._starts)
        return running < OTHERS_AT_ONCE and started < OTHERS_A_MINUTE

    async def _is_counted(self, wish: BurstWish) -> bool:
        try:
            taken = await self.store.write(
                take_capture, wish.look.listing_id, self.now(), self.limits
            )
        except TROUBLE as error:
            log.error("capture not counted", exchange=self.venue.exchange, kind=_name(error))
            return False
        return taken > 0

    def _begin(self, group: asyncio.TaskGroup, wish: BurstWish, *, is_other: bool) -> None:
        start = BurstStart(self.now(), is_other)
        self._begun[wish.look.listing_id] = start.at
        self._starts.append(start)
        task = group.create_task(self._capture(wish))
        self._running[task] = start
        task.add_done_callback(self._running.pop)

    async def _capture(self, wish: BurstWish) -> None:
        samples = await self._seconds(wish)
        labels = {"exchange": self.venue.exchange, "market": wish.look.native_id}
        if len(samples) < LEAST_SAMPLES:
            log.warning("capture without enough order books", samples=len(samples), **labels)
            return
        summary = burst_summary(wish.trigger, wish.facts, samples)
        try:
            await self.store.write(bursts.write, wish.look.listing_id, summary, samples)
        except TROUBLE as error:
            log.error("capture not written", kind=_name(error), **labels)
        else:
            log.info("captured", trigger=wish.trigger, samples=len(samples), **labels)

    async def _seconds(self, wish: BurstWish) -> list[BurstSample]:
        """A sample for each second of a minute that has a book which can be measured."""
        newest, samples = _NewestBook(), list[BurstSample]()
        feed = asyncio.ensure_future(self._feed(wish.look.native_id, newest))
        try:
            judged: Book | None = None
            for _ in range(BURST_SAMPLES):
                await asyncio.sleep(SECOND_S)
                book = newest.taken()
                if book is None:
                    continue
                if book is not judged and judge_time(book, judged.at if judged else None):
                    newest.book = None
                    continue
                judged = book
                sample = _sample(book, wish.look, self.now())
                if sample is not None:
                    samples.append(sample)
        finally:
            feed.cancel()
            await asyncio.wait({feed})
        if not feed.cancelled() and (error := feed.exception()) is not None:
            raise error
        return samples

    async def _feed(self, native_id: str, newest: _NewestBook) -> None:
        if self.venue.capabilities.websocket:
            await self._watched(native_id, newest)
        await self._polled(native_id, newest)

    async def _watched(self, native_id: str, newest: _NewestBook) -> None:
        """Until the websocket is quiet or breaks."""
        stream = self.venue.watch_book(native_id)
        reason = "ended"
        try:
            while True:
                async with asyncio.timeout(QUIET_S):
                    newest.book = await anext(stream)
                newest.is_live = True
                await asyncio.sleep(WATCH_PAUSE_S)
        except StopAsyncIteration:
            pass
        except TimeoutError:
            reason = "quiet"
        except VenueError as error:
            reason = error.reason
        finally:
            newest.book, newest.is_live = None, False
            await stream.aclose()
        log.warning("polled instead", exchange=self.venue.exchange, reason=reason)

    async def _polled(self, native_id: str, newest: _NewestBook) -> None:
        """Until it failed three times in a row."""
        levels = min(LEVELS, self.venue.capabilities.max_book_levels)
        failures = 0
        while failures < MOST_FAILURES:
            await self._polls.take(1)
            try:
                async with asyncio.timeout(CALL_S):
                    newest.book = await self.venue.book(native_id, levels)
                failures = 0
            except (VenueError, TimeoutError) as error:
                failures += 1
                log.warning("poll", exchange=self.venue.exchange, error=_name(error))
            await asyncio.sleep(SECOND_S)


def take_capture(
    session: WriteSession, listing_id: int, now: datetime, limits: TargetLimits
) -> int:
    """On how many targets of this listing one was counted; 0: none has one left."""
    ids = views.captured(session, listing_id, now, limits)
    return targets.take_captures(session, ids, start_of_day(now).date()) if ids else 0


def _moved_bps(before: BurstLook | None, one: BurstLook) -> float | None:
    """None: the minute before was not measured."""
    if before is None or one.minute - before.minute != MINUTE:
        return None
    return _BPS * (one.mid / before.mid - 1)


def _sample(book: Book, look: BurstLook, now: datetime) -> BurstSample | None:
    """None: it cannot be measured."""
    cut = replace(book, bids=book.bids[:LEVELS], asks=book.asks[:LEVELS])
    found = measure_many(grid_of([cut]), np.array([look.usd_per_quote]))
    mid, spread, bid, ask = (
        float(one[0]) for one in (found.mid, found.spread_bps, found.bid_2_usd, found.ask_2_usd)
    )
    return None if math.isnan(mid) else BurstSample(now, mid, spread, min(bid, ask))


def _name(error: BaseException) -> str:
    return type(error).__name__


async def _rest(ended: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    except TimeoutError:
        return
