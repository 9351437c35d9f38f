"""Frames of order books, written by hand in each exchange's own shape, through ccxt's websocket code
and a connection that opens no socket.
"""

import asyncio
import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from ccxt.base.errors import NetworkError

from core.market.facts import Book
from indexer.venues.ccxt_venue import CcxtVenue
from indexer.venues.port import VenueError, VenueErrorReason
from indexer.venues.quirks.venues import QUIRKS
from tests.each import each
from tests.unit.indexer.venues.native.frames import FRAMES, Frame
from tests.unit.indexer.venues.native.payloads import AAAQ, venue_of
from tests.unit.indexer.venues.native.wire import NOW

WITHIN_S = 10.0


def wire(venue: CcxtVenue, feed: Callable[[Any, Any], None]) -> list[Any]:
    """Connections of the venue's client that open no socket: once subscribed, `feed` (exchange,
    client) is called. Answers what was subscribed to.
    """
    watching = venue._watching
    subscribed: list[Any] = []

    def watched_by() -> Any:
        exchange = watching()
        _wire(exchange, feed, subscribed)
        return exchange

    venue._watching = watched_by  # type: ignore[method-assign]  # its connection is the test's
    return subscribed


def _wire(exchange: Any, feed: Callable[[Any, Any], None], subscribed: list[Any]) -> None:
    make, close = exchange.client, exchange.close

    def client(url: str) -> Any:
        made = make(url)

        def connect(*_: Any) -> Any:
            if not made.connected.done():
                made.connected.resolve(url)
            return made.connected

        async def send(message: Any) -> None:
            subscribed.append(message)
            asyncio.get_running_loop().call_soon(feed, exchange, made)

        made.connect, made.send = connect, send
        return made

    async def closed() -> None:
        subscribed.append("closed")
        exchange.clients = {}
        await close()

    exchange.client, exchange.close = client, closed


async def watched(
    venue: CcxtVenue, count: int, then: Callable[[], None] = lambda: None
) -> list[Book]:
    """The first `count` books; `then` is called each time that one has come and the next is waited
    for.
    """
    books: list[Book] = []
    stream = venue.watch_book(AAAQ[venue.exchange])
    try:
        async with asyncio.timeout(WITHIN_S):
            async for book in stream:
                books.append(book)
                if len(books) == count:
                    break
                asyncio.get_running_loop().call_soon(then)
    finally:
        await stream.aclose()
        await venue.close()
    return books


def test_every_venue_with_a_websocket__has_frames_here() -> None:
    assert {name for name, one in QUIRKS.items() if one.has_websocket} == set(FRAMES)


@each("exchange", sorted(FRAMES))
@pytest.mark.slow
def test_a_snapshot_and_a_change__are_two_books(exchange: str) -> None:
    frames = FRAMES[exchange]
    venue = venue_of(exchange, **frames.rest)  # type: ignore[arg-type]  # payloads
    wired: list[tuple[Any, Any]] = []

    def send(sent: list[Frame]) -> None:
        client, connection = wired[-1]
        for frame in sent:
            client.handle_message(connection, frame)

    def begin(client: Any, connection: Any) -> None:
        wired.append((client, connection))
        send(frames.book)

    def go_on() -> None:
        if wired[-1][1].futures:  # the next book is waited for
            send(frames.change)
        else:
            asyncio.get_running_loop().call_soon(go_on)

    subscribed = wire(venue, begin)
    books = asyncio.run(watched(venue, 2, go_on))

    assert len(subscribed) == 2
    assert subscribed[-1] == "closed"
    assert [one.bids for one in books] == [((100.0, 2.0),), ((100.0, 5.0),)]
    assert [one.asks for one in books] == [((100.5, 1.0),)] * 2
    assert {one.received_at for one in books} == {NOW}


def test_mexcs_frames__are_of_a_coding_that_is_not_installed__so_its_books_are_polled() -> None:
    """ccxt raised NotSupported where nobody heard it, so that each capture was silent for a quarter
    of its minute.
    """
    venue = venue_of("mexc")
    assert importlib.util.find_spec("google") is None, "with protobuf, MEXC's frames can be tested"
    assert not venue.capabilities.websocket
    with pytest.raises(VenueError) as refused:
        asyncio.run(watched(venue, 1))
    assert refused.value.reason is VenueErrorReason.REFUSED


def test_a_connection_that_breaks__is_unreachable() -> None:
    venue = venue_of("bybit")
    wire(venue, lambda _, connection: connection.reject(NetworkError("closed")))

    with pytest.raises(VenueError) as refused:
        asyncio.run(watched(venue, 1))

    assert refused.value.reason is VenueErrorReason.UNREACHABLE
