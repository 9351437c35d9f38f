"""What every venue owes the scanner, held by the simulator, and by ccxt over payloads in each
exchange's own shape.
"""

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from core.listings.rules import TICKER_PATTERN
from core.market.facts import DataSource, ListedMarket, MarketStatus
from indexer.venues.port import MarketVenue, VenueError, VenueErrorReason
from indexer.venues.sim.cast import EXCHANGES as SIMULATED
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import world_of
from tests.each import each
from tests.unit.indexer.venues.native.payloads import AAAQ, PAYLOADS, venue_of
from tests.unit.indexer.venues.native.wire import NOW, asked

WAYS = [
    *(f"simulated {one}" for one in SIMULATED),
    *(f"live {one}" for one in PAYLOADS),
]


def of_every_venue(test: Callable[[MarketVenue], None]) -> Callable[[], None]:
    """The test, once for each way to have each exchange."""

    @each("way", WAYS)
    def every_way(way: str) -> None:
        test(made(way))

    every_way.__name__, every_way.__doc__ = test.__name__, test.__doc__
    found: Callable[[], None] = every_way
    return found


def made(way_of_exchange: str) -> MarketVenue:
    way, exchange = way_of_exchange.split()
    if way == "simulated":
        return SimVenue(exchange, world_of(7, NOW), lambda: NOW)
    return venue_of(exchange)


def a_trading(venue: MarketVenue, markets: tuple[ListedMarket, ...]) -> str:
    if venue.source is not DataSource.SIMULATED:
        return AAAQ[venue.exchange]
    return next(one.native_id for one in markets if one.status is MarketStatus.TRADING)


@of_every_venue
def test_markets__have_ids_of_their_own_and_tickers_that_can_stand_in_a_path(
    venue: MarketVenue,
) -> None:
    markets = asked(venue.markets()).values

    assert {one.exchange for one in markets} == {venue.exchange}
    assert len({one.native_id for one in markets}) == len(markets) > 0
    assert all(
        re.fullmatch(TICKER_PATTERN, ticker) for one in markets for ticker in (one.base, one.quote)
    )


@of_every_venue
def test_what_a_venue_can_tell_of_a_market__is_known_of_some_and_else_of_none(
    venue: MarketVenue,
) -> None:
    markets = asked(venue.markets()).values
    told = venue.capabilities

    assert bool({one.has_st_tag for one in markets} - {None}) == told.st_tag
    assert bool({one.has_caution for one in markets} - {None}) == told.caution


@of_every_venue
def test_networks__are_none_where_the_venue_can_tell_nothing_of_them(venue: MarketVenue) -> None:
    told = venue.capabilities
    found = asked(venue.networks())

    assert (found is None) == (not told.currencies and not told.contracts)


@of_every_venue
def test_networks__tell_what_the_capabilities_promise_and_no_more(venue: MarketVenue) -> None:
    found = asked(venue.networks())
    if found is None:
        return
    told, values = venue.capabilities, found.values
    named = {one.chain for one in values if not one.chain.startswith("unknown:")}

    assert values
    assert bool(named) == told.networks
    assert bool({one.contract for one in values} - {None}) == told.contracts
    assert any(one.can_deposit is not None for one in values) == told.currencies
    assert "" not in {one.contract for one in values}


@of_every_venue
def test_tickers__are_of_markets_that_the_venue_lists(venue: MarketVenue) -> None:
    listed = {one.native_id for one in asked(venue.markets()).values}
    tickers = asked(venue.tickers()).values

    assert tickers
    assert {one.native_id for one in tickers} <= listed


@of_every_venue
def test_a_book__has_its_best_levels_first_and_an_aware_time_of_receipt(venue: MarketVenue) -> None:
    native_id = a_trading(venue, asked(venue.markets()).values)
    book = asked(venue.book(native_id, 20))

    assert (book.exchange, book.native_id) == (venue.exchange, native_id)
    assert [price for price, _ in book.bids] == sorted((p for p, _ in book.bids), reverse=True)
    assert [price for price, _ in book.asks] == sorted(price for price, _ in book.asks)
    assert book.bids[0][0] < book.asks[0][0]
    assert book.received_at == NOW
    assert book.at is None or NOW - timedelta(minutes=1) < book.at <= NOW
    assert max(len(book.bids), len(book.asks)) <= venue.capabilities.max_book_levels


@of_every_venue
def test_books__of_one_market__are_its_book(venue: MarketVenue) -> None:
    native_id = a_trading(venue, asked(venue.markets()).values)
    found = asked(venue.books((native_id,), 20))

    assert found.values == (asked(venue.book(native_id, 20)),)


@of_every_venue
def test_more_books_than_a_call_gives__are_refused(venue: MarketVenue) -> None:
    many = ("no such market",) * (venue.capabilities.books_a_call + 1)

    with pytest.raises(VenueError) as refused:
        asked(venue.books(many, 20))

    assert refused.value.reason is VenueErrorReason.REFUSED


@of_every_venue
def test_an_unknown_market__is_refused(venue: MarketVenue) -> None:
    unknown = "no such market"
    with pytest.raises(VenueError) as refused:
        asked(venue.book(unknown, 20))
    assert said(refused) == (VenueErrorReason.REFUSED, venue.exchange)


def said(refused: pytest.ExceptionInfo[VenueError]) -> tuple[VenueErrorReason, str]:
    return refused.value.reason, refused.value.exchange


@of_every_venue
def test_notices__were_published_in_the_time_that_was_asked_for(venue: MarketVenue) -> None:
    since = NOW - timedelta(days=90)
    found = asked(venue.notices(since))

    assert (found is not None) == venue.capabilities.notices
    if found is not None:
        times = [one.published_at for one in found.values]
        assert times == sorted(times)
        assert all(since <= at <= NOW for at in times)
        assert len({one.id for one in found.values}) == len(times)


def test_close__may_be_called_twice() -> None:
    async def close(way: str) -> None:
        venue = made(way)
        await venue.close()
        await venue.close()

    async def close_all() -> None:
        await asyncio.gather(*map(close, WAYS))

    asyncio.run(close_all())
