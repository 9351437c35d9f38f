"""Frames of order books, written by hand in each exchange's own shape: what is sent once AAAQ is
subscribed to, up to a whole book (best bid 100, 2 of it; best ask 100.5, 1 of it), and the change
after it (5 of the best bid).
"""

import zlib
from dataclasses import dataclass, field
from typing import Any

from tests.unit.indexer.venues.native.wire import MS

Frame = dict[str, Any]
Levels = list[list[str]]
AT = MS - 80


@dataclass(frozen=True, slots=True)
class BookFrames:
    """`rest`: payloads of calls that ccxt makes beside the websocket, by path."""

    book: list[Frame]
    change: list[Frame]
    rest: dict[str, object] = field(default_factory=dict)


def _signed_crc32(book: str) -> int:
    """Of best bid and ask by turns, as OKX and Bitget sign a book."""
    checksum = zlib.crc32(book.encode())
    return checksum - (1 << 32) if checksum >= 1 << 31 else checksum


def _binance(number: int, bids: Levels) -> Frame:
    return {
        "e": "depthUpdate",
        "E": AT,
        "s": "AAAQUSDT",
        "U": number,
        "u": number,
        "b": bids,
        "a": [],
    }


def _bybit(kind: str, bids: Levels, asks: Levels, number: int) -> Frame:
    return {
        "topic": "orderbook.200.AAAQUSDT",
        "type": kind,
        "ts": AT,
        "data": {"s": "AAAQUSDT", "b": bids, "a": asks, "u": number, "seq": number},
        "cts": AT - 10,
    }


def _okx(action: str, bids: Levels, book: str) -> Frame:
    asks = [["100.5", "1", "0", "1"]] if action == "snapshot" else []
    row = {"bids": bids, "asks": asks, "ts": str(AT), "checksum": _signed_crc32(book)}
    sequence = {"prevSeqId": -1 if action == "snapshot" else 1, "seqId": 1}
    return {
        "arg": {"channel": "books", "instId": "AAAQ-USDT"},
        "action": action,
        "data": [row | (sequence if action == "snapshot" else {"prevSeqId": 1, "seqId": 2})],
    }


def _kucoin(number: int, bids: Levels) -> Frame:
    return {
        "type": "message",
        "topic": "/market/level2:AAAQ-USDT",
        "subject": "trade.l2update",
        "data": {
            "sequenceStart": number,
            "sequenceEnd": number,
            "symbol": "AAAQ-USDT",
            "changes": {"asks": [], "bids": [[*one, str(number)] for one in bids]},
            "time": AT,
        },
    }


def _gate(number: int, bids: Levels, asks: Levels, *, is_full: bool) -> Frame:
    row: Frame = {"t": AT, "s": "ob.AAAQ_USDT.400", "u": number, "b": bids, "a": asks}
    row |= {"full": True} if is_full else {"U": number}
    return {"channel": "spot.obu", "result": row, "time_ms": AT + 1, "event": "update"}


def _bitget(action: str, bids: Levels, asks: Levels, book: str) -> Frame:
    row = {"asks": asks, "bids": bids, "checksum": _signed_crc32(book), "seq": 1, "ts": str(AT)}
    return {
        "action": action,
        "arg": {"instType": "SPOT", "channel": "books", "instId": "AAAQUSDT"},
        "data": [row],
        "ts": AT + 1,
    }


def _korean(bid_size: float, **more: object) -> Frame:
    """Of Upbit and Bithumb: each frame is the whole book."""
    units = [{"ask_price": 100.5, "bid_price": 100.0, "ask_size": 1.0, "bid_size": bid_size}]
    return {
        "type": "orderbook",
        "code": "KRW-AAAQ",
        "timestamp": AT,
        "total_ask_size": 1.0,
        "total_bid_size": bid_size,
        "orderbook_units": units,
        "stream_type": "SNAPSHOT",
        **more,
    }


def _coinone(bid_size: str) -> Frame:
    return {
        "response_type": "DATA",
        "channel": "ORDERBOOK",
        "data": {
            "quote_currency": "KRW",
            "target_currency": "AAAQ",
            "timestamp": AT,
            "id": f"{AT}001",
            "asks": [{"price": "100.5", "qty": "1"}],
            "bids": [{"price": "100", "qty": bid_size}],
        },
    }


def _coinbase(kind: str, **sizes: str) -> Frame:
    """`sizes`: of the best bid and the best ask (`offer`)."""
    prices = {"bid": "100", "offer": "100.5"}
    updates = [
        {
            "side": side,
            "event_time": "2026-11-26T11:59:59.920Z",
            "price_level": prices[side],
            "new_quantity": size,
        }
        for side, size in sizes.items()
    ]
    return {
        "channel": "l2_data",
        "client_id": "",
        "timestamp": "2026-11-26T11:59:59.920000000Z",
        "sequence_num": 0,
        "events": [{"type": kind, "product_id": "AAAQ-USD", "updates": updates}],
    }


def _kraken(kind: str, bid_size: float, asks: list[dict[str, float]]) -> Frame:
    row = {"symbol": "AAAQ/USD", "bids": [{"price": 100.0, "qty": bid_size}], "asks": asks}
    told = {"checksum": 2439117997, "timestamp": "2026-11-26T11:59:59.920000Z"}
    return {"channel": "book", "type": kind, "data": [row | told]}


FRAMES: dict[str, BookFrames] = {
    # the snapshot is asked for by REST once the subscription is confirmed
    "binance": BookFrames(
        [{"result": None, "id": 1}],
        [_binance(8, [["100", "5"]])],
        {"/api/v3/depth": {"lastUpdateId": 7, "bids": [["100", "2"]], "asks": [["100.5", "1"]]}},
    ),
    "bybit": BookFrames(
        [_bybit("snapshot", [["100", "2"]], [["100.5", "1"]], 1)],
        [_bybit("delta", [["100", "5"]], [], 2)],
    ),
    "okx": BookFrames(
        [_okx("snapshot", [["100", "2", "0", "1"]], "100:2:100.5:1")],
        [_okx("update", [["100", "5", "0", "1"]], "100:5:100.5:1")],
    ),
    # where to connect is asked for by REST, and the snapshot once six changes have come
    "kucoin": BookFrames(
        [{"id": "1", "type": "ack"}, *(_kucoin(number, [["99", "0"]]) for number in range(1, 7))],
        [_kucoin(7, [["100", "5"]])],
        {
            "/api/v1/bullet-public": {
                "code": "200000",
                "data": {
                    "token": "a token of a test",
                    "instanceServers": [
                        {
                            "endpoint": "wss://ws-api-spot.kucoin.com/",
                            "encrypt": True,
                            "protocol": "websocket",
                            "pingInterval": 18_000,
                            "pingTimeout": 10_000,
                        }
                    ],
                },
            },
            "/api/v1/market/orderbook/level2_100": {
                "code": "200000",
                "data": {
                    "time": AT,
                    "sequence": "6",
                    "bids": [["100", "2"]],
                    "asks": [["100.5", "1"]],
                },
            },
        },
    ),
    "gate": BookFrames(
        [_gate(1, [["100", "2"]], [["100.5", "1"]], is_full=True)],
        [_gate(2, [["100", "5"]], [], is_full=False)],
    ),
    "bitget": BookFrames(
        [_bitget("snapshot", [["100", "2"]], [["100.5", "1"]], "100:2:100.5:1")],
        [_bitget("update", [["100", "5"]], [], "100:5:100.5:1")],
    ),
    "upbit": BookFrames([_korean(2.0)], [_korean(5.0)]),
    "bithumb": BookFrames([_korean(2.0, level=1)], [_korean(5.0, level=1)]),
    "coinone": BookFrames([_coinone("2")], [_coinone("5")]),
    "coinbase": BookFrames(
        [_coinbase("snapshot", bid="2", offer="1")], [_coinbase("update", bid="5")]
    ),
    "kraken": BookFrames(
        [_kraken("snapshot", 2.0, [{"price": 100.5, "qty": 1.0}])], [_kraken("update", 5.0, [])]
    ),
}
