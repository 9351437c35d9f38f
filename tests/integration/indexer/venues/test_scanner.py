"""Venues that misbehave, each in its own way, beside one that does not."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from core.db.engine import Database
from core.db.leadership import Leadership
from core.market import parts
from core.market.facts import Book, DataSource, ListedMarket, Ticker
from core.market.scans import VenueHealth, venues
from core.market.tables import MarketListingState, MarketSample, MarketVenueState
from indexer.venues import scan_venue
from indexer.venues.port import Parsed, VenueError, VenueErrorReason
from indexer.venues.scan_venue import ScannedMinute, VenueScan
from indexer.venues.sim.cast import EXCHANGES
from indexer.venues.store import ScannerStore, learn_markets
from tests.integration.core.market.conftest import NOON, market

BASES = ("BTC", "ETH", "SOL", "XRP", "ADA")
CAPABILITIES = replace(EXCHANGES["kucoin"].capabilities, notices=False, currencies=False)


class StandIn:
    """A venue whose answers are as a test sets them."""

    source = DataSource.SIMULATED

    def __init__(
        self, exchange: str, now: Callable[[], datetime], bases: Sequence[str] = BASES
    ) -> None:
        self.exchange, self.capabilities = exchange, CAPABILITIES
        self.now, self.bases = now, bases
        self.book_at: Callable[[], datetime | None] = now
        self.error: VenueErrorReason | None = None
        self.stalls = False

    async def markets(self) -> Parsed[ListedMarket]:
        self._fail()
        return Parsed(tuple(market(self.exchange, base) for base in self.bases))

    async def networks(self) -> None:
        return None

    async def notices(self, since: datetime) -> None:
        return None

    async def tickers(self) -> Parsed[Ticker]:
        self._fail()
        return Parsed(())

    def taker_fee_bps(self, native_id: str) -> float | None:
        return 10.0

    async def book(self, native_id: str, levels: int) -> Book:
        found = await self.books((native_id,), levels)
        return found.values[0]

    async def books(self, native_ids: tuple[str, ...], levels: int) -> Parsed[Book]:
        self._fail()
        if self.stalls:
            await asyncio.sleep(3_600)
        now = self.now()
        return Parsed(
            tuple(
                Book(
                    self.exchange, one, ((99.0, 1e4),), ((101.0, 1e4),), self.book_at(), now, False
                )
                for one in native_ids
            )
        )

    def _fail(self) -> None:
        if self.error is not None:
            raise VenueError(self.error, self.exchange, "<html>")


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def store(database: Database) -> ScannerStore:
    with database.write() as session:
        parts.ensure_ahead(session, NOON)
    return ScannerStore(database, lambda session: None)


def scan_of(venue: StandIn, store: ScannerStore) -> VenueScan:
    return VenueScan(venue, store, venue.now, frozenset)  # type: ignore[arg-type]  # what a scan calls of a venue


def counts(run: ScannedMinute) -> tuple[int, int, int]:
    """Books that were due, those of them that were measured, and those that were rejected."""
    return len(run.planned.all), len(run.measured) - run.rejected, run.rejected


def health(database: Database, exchange: str) -> tuple[str, str | None]:
    with database.read() as session:
        row = session.get_one(MarketVenueState, exchange)
        return row.state, row.reason


def test_venue__that_answers__has_each_of_its_pairs_once_a_minute(
    database: Database, store: ScannerStore
) -> None:
    scan = scan_of(StandIn("kucoin", Hands().now), store)

    run = asyncio.run(scan.minute(NOON))
    again = asyncio.run(scan.minute(NOON))

    assert (counts(run), counts(again)) == ((5, 5, 0), (5, 0, 0))
    assert health(database, "kucoin") == ("ok", None)
    with database.read() as session:
        assert len(session.scalars(select(MarketSample.listing_id)).all()) == 5


def test_venue__that_stalls__never_delays_another(
    database: Database, store: ScannerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_venue, "CALL_S", 1.0)
    stalled, sound = StandIn("gate", Hands().now), StandIn("kucoin", Hands().now)
    stalled.stalls = True
    ended = list[str]()

    async def minute(venue: StandIn) -> None:
        await scan_of(venue, store).minute(NOON)
        ended.append(venue.exchange)

    async def both() -> None:
        await asyncio.gather(minute(stalled), minute(sound))

    asyncio.run(both())

    assert ended == ["kucoin", "gate"]
    assert health(database, "kucoin") == ("ok", None)
    assert health(database, "gate") == ("degraded", "timeout")


def test_venue__that_answers_with_html__is_down_and_says_why(
    database: Database, store: ScannerStore
) -> None:
    venue = StandIn("kucoin", Hands().now)
    venue.error = VenueErrorReason.NOT_UNDERSTOOD

    run = asyncio.run(scan_of(venue, store).minute(NOON))

    assert not run.measured
    assert health(database, "kucoin") == (VenueHealth.DOWN, "not_understood")


@pytest.mark.parametrize(
    ("left", "state", "gone"),
    [(2, ("degraded", "half_markets"), []), (4, ("ok", None), ["ADA"])],
)
def test_venue__that_lists_less__has_that_delisted__but_not_what_half_an_answer_lacks(
    database: Database,
    store: ScannerStore,
    left: int,
    state: tuple[str, str | None],
    gone: list[str],
) -> None:
    hands = Hands()
    venue = StandIn("kucoin", hands.now)
    scan = scan_of(venue, store)
    asyncio.run(scan.minute(NOON))
    venue.bases = BASES[:left]
    hands.at = NOON + timedelta(minutes=11)

    run = asyncio.run(scan.minute(hands.at))

    assert len(run.planned.all) == 5 - len(gone)
    assert health(database, "kucoin") == state
    with database.read() as session:
        ended = select(MarketListingState.token).where(MarketListingState.delisted_at.is_not(None))
        assert session.scalars(ended).all() == gone


def test_venue__an_hour_off_its_clock__is_degraded_and_not_measured(
    database: Database, store: ScannerStore
) -> None:
    venue = StandIn("kucoin", Hands().now)
    venue.book_at = lambda: NOON + timedelta(hours=1)

    run = asyncio.run(scan_of(venue, store).minute(NOON))

    assert counts(run) == (5, 0, 5)
    assert health(database, "kucoin") == ("degraded", "clock_skew")


def test_venue__that_repeats_a_book__is_degraded(database: Database, store: ScannerStore) -> None:
    hands = Hands()
    venue = StandIn("kucoin", hands.now)
    venue.book_at = lambda: NOON
    scan = scan_of(venue, store)
    asyncio.run(scan.minute(NOON))
    hands.at = NOON + timedelta(minutes=1)

    run = asyncio.run(scan.minute(hands.at))

    assert counts(run) == (5, 0, 5)
    assert health(database, "kucoin") == ("degraded", "repeated")


def test_venue__that_renames_a_ticker__has_the_old_pair_ended_and_the_new_one_scanned(
    database: Database, store: ScannerStore
) -> None:
    hands = Hands()
    venue = StandIn("kucoin", hands.now)
    scan = scan_of(venue, store)
    asyncio.run(scan.minute(NOON))
    renamed = [market("kucoin", base) for base in BASES[:4]]
    renamed.append(market("kucoin", "ADAX", native_id="ADAUSDT"))
    hands.at = NOON + timedelta(minutes=11)
    asyncio.run(store.write(learn_markets, "kucoin", renamed, DataSource.SIMULATED, hands.at))

    with database.read() as session:
        found = session.execute(
            select(MarketListingState.token, MarketListingState.delisted_at.is_(None)).order_by(
                MarketListingState.token
            )
        ).all()
    assert [tuple(row) for row in found] == [
        ("ADA", False),
        ("ADAX", True),
        ("BTC", True),
        ("ETH", True),
        ("SOL", True),
        ("XRP", True),
    ]


def test_spare__that_takes_over_in_a_minute__adds_what_it_lacks(
    database: Database, database_url: str, store: ScannerStore
) -> None:
    first = StandIn("kucoin", Hands().now, BASES[:3])
    asyncio.run(scan_of(first, store).minute(NOON))
    spare = Leadership(database_url, "scanner", "spare")
    assert spare.try_take(NOON)
    try:
        other = ScannerStore(database, spare.fence_beside)
        run = asyncio.run(scan_of(StandIn("kucoin", Hands().now), other).minute(NOON))
    finally:
        spare.release()

    assert counts(run) == (5, 2, 0)
    with database.read() as session:
        assert len(session.scalars(select(MarketSample.listing_id)).all()) == 5
        assert [one.exchange for one in venues(session)] == ["kucoin"]


def test_a_scan_that_is_cancelled_as_an_answer_comes__ends(store: ScannerStore) -> None:
    """`asyncio.wait_for` of Python 3.11 gave the answer and forgot the cancellation."""

    async def run() -> bool:
        venue = StandIn("kucoin", Hands().now)
        answered = asyncio.get_running_loop().create_future()

        async def markets() -> Parsed[ListedMarket]:
            await answered
            return Parsed(())

        venue.markets = markets  # type: ignore[method-assign]
        task = asyncio.ensure_future(scan_of(venue, store).minute(NOON))
        for _ in range(5):
            await asyncio.sleep(0)
        answered.set_result(None)
        await asyncio.sleep(0)  # the answer is there, and nobody has taken it yet
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    assert asyncio.run(run())
