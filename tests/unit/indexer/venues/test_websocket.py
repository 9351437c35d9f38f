"""Frames of order books, written by hand in each exchange's own shape, through ccxt's websocket code
and a connection that opens no socket.
"""

import asyncio
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from ccxt.base.errors import NetworkError

from core.market.facts import Book, DataSource
from indexer.venues.ccxt_venue import CcxtVenue
from indexer.venues.port import VenueError, VenueErrorReason
from tests.unit.indexer.venues.native.payloads import AAAQ, PAYLOADS, venue_of
from tests.unit.indexer.venues.native.wire import MS, NOW, PayloadTransport

Frame = dict[str, Any]


def _okx(action: str, bids: list[list[str]], book: str) -> Frame:
    """`book`: best bid and ask by turns, of which OKX signs a CRC-32."""
    checksum = zlib.crc32(book.encode())
    signed = checksum - (1 << 32) if checksum >= 1 << 31 else checksum
    asks = [["100.5", "1", "0", "1"]] if action == "snapshot" else []
    row = {"bids": bids, "asks": asks, "ts": str(MS - 80), "checksum": signed}
    sequence = {"prevSeqId": -1 if action == "snapshot" else 1, "seqId": 1}
    return {
        "arg": {"channel": "books", "instId": "AAAQ-USDT"},
        "action": action,
        "data": [row | (sequence if action == "snapshot" else {"prevSeqId": 1, "seqId": 2})],
    }


def _bybit(kind: str, bids: list[list[str]], asks: list[list[str]], number: int) -> Frame:
    return {
        "topic": "orderbook.200.AAAQUSDT",
        "type": kind,
        "ts": MS - 80,
        "data": {"s": "AAAQUSDT", "b": bids, "a": asks, "u": number, "seq": number},
        "cts": MS - 90,
    }


def _upbit(bid_size: float) -> Frame:
    units = [{"ask_price": 100.5, "bid_price": 100.0, "ask_size": 1.0, "bid_size": bid_size}]
    return {
        "type": "orderbook",
        "code": "KRW-AAAQ",
        "timestamp": MS - 80,
        "total_ask_size": 1.0,
        "total_bid_size": bid_size,
        "orderbook_units": units,
        "stream_type": "SNAPSHOT",
    }


def _binance(number: int, bids: list[list[str]]) -> Frame:
    return {
        "e": "depthUpdate",
        "E": MS - 80,
        "s": "AAAQUSDT",
        "U": number,
        "u": number,
        "b": bids,
        "a": [],
    }


def _gate(number: int, bids: list[list[str]], asks: list[list[str]], *, is_full: bool) -> Frame:
    row: Frame = {"t": MS - 80, "s": "ob.AAAQ_USDT.400", "u": number, "b": bids, "a": asks}
    row |= {"full": True} if is_full else {"U": number}
    return {"channel": "spot.obu", "result": row, "time_ms": MS - 79, "event": "update"}


# The second book takes the best bid's size from 2 to 5.
FRAMES: dict[str, list[Frame]] = {
    # the snapshot is asked for by REST once the subscription is confirmed
    "binance": [{"result": None, "id": 1}, _binance(8, [["100", "5"]])],
    "gate": [
        _gate(1, [["100", "2"]], [["100.5", "1"]], is_full=True),
        _gate(2, [["100", "5"]], [], is_full=False),
    ],
    "okx": [
        _okx("snapshot", [["100", "2", "0", "1"]], "100:2:100.5:1"),
        _okx("update", [["100", "5", "0", "1"]], "100:5:100.5:1"),
    ],
    "bybit": [
        _bybit("snapshot", [["100", "2"]], [["100.5", "1"]], 1),
        _bybit("delta", [["100", "5"]], [], 2),
    ],
    "upbit": [_upbit(2.0), _upbit(5.0)],
}


SNAPSHOTS: dict[str, dict[str, object]] = {
    "binance": {
        "/api/v3/depth": {"lastUpdateId": 7, "bids": [["100", "2"]], "asks": [["100.5", "1"]]}
    }
}
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


async def watched(venue: CcxtVenue, count: int) -> list[Book]:
    books: list[Book] = []
    stream = venue.watch_book(AAAQ[venue.exchange])
    try:
        async with asyncio.timeout(WITHIN_S):
            async for book in stream:
                books.append(book)
                if len(books) == count:
                    break
    finally:
        await stream.aclose()
        await venue.close()
    return books


@pytest.mark.parametrize("exchange", sorted(FRAMES))
def test_a_snapshot_and_a_change__are_two_books(exchange: str) -> None:
    venue = venue_of(exchange, **SNAPSHOTS.get(exchange, {}))  # type: ignore[arg-type]  # payloads
    frames = iter(FRAMES[exchange])

    def feed(client: Any, connection: Any) -> None:
        frame = next(frames, None)
        if frame is not None:
            client.handle_message(connection, frame)
            asyncio.get_running_loop().call_later(0.01, feed, client, connection)

    subscribed = wire(venue, feed)
    books = asyncio.run(watched(venue, 2))

    assert len(subscribed) == 2
    assert subscribed[-1] == "closed"
    assert [one.bids for one in books] == [((100.0, 2.0),), ((100.0, 5.0),)]
    assert [one.asks for one in books] == [((100.5, 1.0),)] * 2
    assert {one.received_at for one in books} == {NOW}


def test_a_connection_that_breaks__is_unreachable() -> None:
    venue = venue_of("bybit")
    wire(venue, lambda _, connection: connection.reject(NetworkError("closed")))

    with pytest.raises(VenueError) as refused:
        asyncio.run(watched(venue, 1))

    assert refused.value.reason is VenueErrorReason.UNREACHABLE


def test_a_recording__has_no_websocket_to_open() -> None:
    venue = CcxtVenue(
        "bybit", PayloadTransport(PAYLOADS["bybit"]), lambda: NOW, source=DataSource.REPLAY
    )

    with pytest.raises(VenueError) as refused:
        asyncio.run(watched(venue, 1))

    assert refused.value.reason is VenueErrorReason.REFUSED
    assert not venue.capabilities.websocket
