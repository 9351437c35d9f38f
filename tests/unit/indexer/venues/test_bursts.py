"""Captures of a venue whose books, websocket and database are as a test sets them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from core.market import bursts as kept
from core.market.bursts import UsualMinute, packed, unpacked
from core.market.facts import Book
from core.market.rules.research import BurstSample, BurstSummary, BurstTrigger
from core.targets.rules import TargetLimits
from indexer.venues import bursts
from indexer.venues.bursts import BurstLook, VenueBursts
from indexer.venues.port import VenueError, VenueErrorReason
from indexer.venues.sim.cast import EXCHANGES
from tests import jumping
from tests.each import each

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
USUAL = UsualMinute(sigma_bps=5.0, spread_bps=10.0, depth_usd=100_000.0)


@dataclass
class KeptBursts:
    left: int = 100
    ids: int = 20
    counted: list[int] = field(default_factory=list)
    written: dict[int, tuple[BurstSummary, Sequence[BurstSample]]] = field(default_factory=dict)
    breaks: bool = False
    begun_at: Mapping[int, datetime] = field(default_factory=dict)

    async def read(self, work: object, *_: object) -> Mapping[int, object]:
        return dict.fromkeys(range(self.ids), USUAL) if work is kept.usual else self.begun_at

    async def write(self, work: object, listing_id: int, *values: Any) -> int:
        if work is bursts.take_capture:
            self.counted.append(listing_id)
            self.left -= 1
            return int(self.left >= 0)
        if self.breaks:
            raise psycopg.OperationalError
        self.written[listing_id] = values[0], values[1]
        return 0


class BurstyVenue:
    exchange = "kucoin"

    def __init__(self) -> None:
        self.capabilities = EXCHANGES["kucoin"].capabilities
        self.watched, self.polled, self.closed = list[str](), list[str](), 0
        self.polled_at = list[float]()
        self.watch: Callable[[], AsyncGenerator[Book, None]] = self.changing
        self.error: VenueErrorReason | None = None
        self.price = 100.0

    def standing(self, at: datetime = NOON) -> Book:
        bids, asks = ((self.price - 0.1, 1_000.0),), ((self.price + 0.1, 1_000.0),)
        return Book(self.exchange, "AAA", bids, asks, at, at, False)

    async def changing(self) -> AsyncGenerator[Book, None]:
        try:
            while True:
                yield self.standing()
                await asyncio.sleep(1)
        finally:
            self.closed += 1

    async def broken(self) -> AsyncGenerator[Book, None]:
        raise VenueError(VenueErrorReason.UNREACHABLE, self.exchange)
        yield

    async def quiet(self) -> AsyncGenerator[Book, None]:
        await asyncio.sleep(3_600)
        yield self.standing()

    def watch_book(self, native_id: str) -> AsyncGenerator[Book, None]:
        self.watched.append(native_id)
        return self.watch()

    async def book(self, native_id: str, levels: int) -> Book:
        self.polled.append(native_id)
        self.polled_at.append(asyncio.get_running_loop().time())
        if self.error is not None:
            raise VenueError(self.error, self.exchange)
        return self.standing()


def look(
    listing_id: int = 1, *, mid: float = 100.0, spread: float = 10.0, **more: object
) -> BurstLook:
    values: dict[str, object] = {
        "native_id": f"M{listing_id}",
        "listing_id": listing_id,
        "minute": NOON,
        "mid": mid,
        "spread_bps": spread,
        "depth_usd": 100_000.0,
        "usd_per_quote": 1.0,
    }
    return BurstLook(**values | more)  # type: ignore[arg-type]  # the fields of BurstLook


WIDE = 31.0


def captures(
    venue: BurstyVenue,
    store: KeptBursts,
    looks: Sequence[BurstLook],
    *,
    targets: frozenset[int] = frozenset({1}),
    at_once: int = 4,
    beats: int | None = None,
    now: Callable[[], datetime] = lambda: NOON,
) -> VenueBursts:
    """After so many beats of a second; without: after the captures that the looks began."""
    made = VenueBursts(venue, store, now, lambda: targets, at_once, TargetLimits(1, 1))  # type: ignore[arg-type]  # what a capture calls of both

    async def run() -> None:
        ended = asyncio.Event()
        running = asyncio.ensure_future(made.run(ended))
        await asyncio.sleep(0.5)  # it has read what is usual
        for one in looks:
            made.look(one)
        await asyncio.sleep(20 if beats is None else beats)
        if beats is None and made._running:
            await asyncio.wait(set(made._running))
        ended.set()
        await running

    jumping.run(run())
    return made


def test_a_minute_that_is_unusual__is_captured_and_counted() -> None:
    venue, store = BurstyVenue(), KeptBursts()

    captures(venue, store, [look(spread=WIDE)])

    summary, samples = store.written[1]
    assert summary.trigger is BurstTrigger.SPREAD
    assert len(samples) == 60
    assert store.counted == [1]
    assert (venue.watched, venue.polled, venue.closed) == (["M1"], [], 1)
    assert {(one.mid, round(one.spread_bps, 9)) for one in samples} == {(100.0, 20.0)}
    assert {round(one.depth_usd) for one in samples} == {99_900}


def test_an_ordinary_minute__is_not_captured() -> None:
    store = KeptBursts()
    captures(BurstyVenue(), store, [look(spread=30.0)])
    assert (store.written, store.counted) == ({}, [])


def test_a_move__is_from_the_minute_before_alone() -> None:
    store, before = KeptBursts(), NOON - timedelta(minutes=1)
    older = NOON - timedelta(minutes=2)
    captures(
        BurstyVenue(),
        store,
        [look(1, minute=before), look(1, mid=100.6), look(2, minute=older), look(2, mid=100.6)],
        targets=frozenset({1, 2}),
    )
    assert list(store.written) == [1]
    assert store.written[1][0].trigger is BurstTrigger.MOVE


@pytest.mark.parametrize("broken", ["broken", "quiet"])
def test_a_websocket_that_fails__is_polled_instead(broken: str) -> None:
    venue, store = BurstyVenue(), KeptBursts()
    venue.watch = getattr(venue, broken)

    captures(venue, store, [look(spread=WIDE)])

    assert venue.polled
    assert len(store.written[1][1]) >= bursts.LEAST_SAMPLES


def test_a_venue_without_a_websocket__is_polled() -> None:
    venue, store = BurstyVenue(), KeptBursts()
    venue.capabilities = replace(venue.capabilities, websocket=False)

    captures(venue, store, [look(spread=WIDE)])

    assert (venue.watched, set(venue.polled)) == ([], {"M1"})
    assert 1 in store.written


def test_polls__have_a_pace_of_the_venue() -> None:
    venue, store = BurstyVenue(), KeptBursts()
    venue.capabilities = replace(venue.capabilities, websocket=False, books_per_minute=240)
    wide = [look(n, spread=WIDE) for n in (1, 2, 3)]

    captures(venue, store, wide, targets=frozenset({1, 2, 3}))

    # a quarter of 240 a minute: one each second for all three together
    assert {after - before for before, after in pairwise(venue.polled_at)} == {1.0}
    assert venue.polled[:6] == ["M1", "M2", "M3"] * 2
    assert {len(samples) for _, samples in store.written.values()} == {20, 21}


def test_a_venue_that_fails_altogether__ends_the_capture_alone() -> None:
    venue, store = BurstyVenue(), KeptBursts()
    venue.watch, venue.error = venue.broken, VenueErrorReason.UNREACHABLE

    made = captures(venue, store, [look(spread=WIDE)])

    assert venue.polled == ["M1"] * bursts.MOST_FAILURES
    assert store.written == {}
    assert not made._running


def test_a_database_that_fails__ends_the_capture_alone() -> None:
    store = KeptBursts(breaks=True)
    made = captures(BurstyVenue(), store, [look(spread=WIDE)])
    assert store.written == {}
    assert not made._running


def test_a_flood_of_triggers__is_bounded() -> None:
    venue, store = BurstyVenue(), KeptBursts(ids=1_000)
    flood = [look(n, spread=WIDE) for n in range(1_000)]

    made = captures(venue, store, flood, targets=frozenset(range(1_000)), beats=400)

    assert len(venue.watched) == bursts.STARTS_A_MINUTE
    assert len(made._wished) == bursts.MOST_WISHES - bursts.STARTS_A_MINUTE


@each(
    ("wide", "targets", "left", "at_once", "watched", "counted"),
    [
        (range(6), range(6), 100, 2, [0, 1], [0, 1]),  # so many at once
        ((5, 6, 1, 2, 3, 4), (1, 2, 3, 4), 100, 4, [1, 2, 3, 4], [1, 2, 3, 4]),  # targets first
        ((5, 6, 7), (1,), 100, 4, [5], []),  # of others one at a time, which is not counted
        ((1, 2), (1, 2), 0, 4, [1], [1, 2]),  # a target without a capture left is one of the others
        ((1,), (1,), 100, 0, [], []),  # no room
    ],
)
def test_room__is_first_for_targets_that_have_captures_left(
    wide: Sequence[int],
    targets: Sequence[int],
    left: int,
    at_once: int,
    watched: list[int],
    counted: list[int],
) -> None:
    venue, store = BurstyVenue(), KeptBursts(left=left)
    looks = [look(n, spread=WIDE) for n in wide]
    captures(venue, store, looks, targets=frozenset(targets), at_once=at_once, beats=20)
    assert (venue.watched, store.counted) == ([f"M{n}" for n in watched], counted)


def test_a_pair__rests_for_ten_minutes_also_after_a_restart() -> None:
    venue, store = BurstyVenue(), KeptBursts(begun_at={1: NOON - timedelta(seconds=599)})
    captures(venue, store, [look(1, spread=WIDE)], beats=20)
    captures(
        venue, store, [look(1, spread=WIDE)], beats=20, now=lambda: NOON + timedelta(seconds=1)
    )
    assert venue.watched == ["M1"]


@each("bids", [(), ((101.0, 5.0),), ((99.0, float("nan")),)])
def test_books_that_cannot_be_measured__are_no_samples(
    bids: tuple[tuple[float, float], ...],
) -> None:
    venue, store = BurstyVenue(), KeptBursts()
    good = venue.standing()

    async def odd() -> AsyncGenerator[Book, None]:
        while True:
            yield replace(good, bids=bids)
            await asyncio.sleep(1)

    venue.watch = odd
    captures(venue, store, [look(spread=WIDE)])
    assert store.written == {}


def test_samples__are_read_as_they_were_written() -> None:
    samples = (BurstSample(NOON + timedelta(milliseconds=250), 100.5, 3.25, 1e5),)
    assert unpacked(packed(samples)) == samples
