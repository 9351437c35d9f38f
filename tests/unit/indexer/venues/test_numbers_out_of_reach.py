"""A venue's numbers that no market has cost their own row, and no time."""

import json
import time
from copy import deepcopy
from typing import Any

import pytest

from indexer.venues.port import Parsed, VenueError
from indexer.venues.reach import within_reach
from tests.each import each
from tests.unit.indexer.venues.native.payloads import PAYLOADS, venue_of
from tests.unit.indexer.venues.native.wire import asked

TICKERS = {
    "binance": ("/api/v3/ticker/24hr", ()),
    "okx": ("/api/v5/market/tickers", ("data",)),
    "bybit": ("/v5/market/tickers", ("result", "list")),
    "gate": ("/api/v4/spot/tickers", ()),
    "bitget": ("/api/v2/spot/market/tickers", ("data",)),
    "mexc": ("/api/v3/ticker/24hr", ()),
    "kucoin": ("/api/v1/market/allTickers", ("data", "ticker")),
}
FAR = ("1e999999999", "1E-999999999", " 1 e 9_999_999", "9" * 5_000, "NaN", "twelve", "1e400")


@each("exchange", TICKERS)
@each("price", FAR)
@pytest.mark.slow
def test_a_price_that_no_market_has__costs_its_own_row(exchange: str, price: str) -> None:
    path, keys = TICKERS[exchange]
    answer: Any = deepcopy(PAYLOADS[exchange][path])
    rows = answer
    for key in keys:
        rows = rows[key]
    bad = {name: price if _is_number(value) else value for name, value in rows[0].items()}
    rows.append(json.loads(json.dumps(bad).replace("AAAQ", "BBBQ")))
    venue = venue_of(exchange, **{path: answer})
    began = time.monotonic()

    found: Parsed[Any] = asked(venue.tickers())

    good = [one for one in found.values if "AAAQ" in one.native_id]
    assert [one.last is not None for one in good] == [True]
    assert all(one.last is None for one in found.values if "BBBQ" in one.native_id)
    assert time.monotonic() - began < 2


def test_a_book_with_such_a_level__is_not_understood_at_once() -> None:
    answer: Any = deepcopy(PAYLOADS["binance"]["/api/v3/depth"])
    answer["bids"].append(["1e999999999", "1e-999999999"])

    with pytest.raises(VenueError):
        asked(venue_of("binance", **{"/api/v3/depth": answer}).book("AAAQUSDT", 20))


def test_a_market_that_ccxt_cannot_read__leaves_the_others() -> None:
    answer: Any = deepcopy(PAYLOADS["binance"]["/api/v3/exchangeInfo"])
    answer["symbols"] += [{"symbol": "X"}, None, {"symbol": {}, "baseAsset": [], "status": 7}]

    found = asked(venue_of("binance", **{"/api/v3/exchangeInfo": answer}).markets())

    assert "AAAQUSDT" in [one.native_id for one in found.values]
    assert len(found.faults) >= 1


@each(
    "text",
    [
        '{"a": ["\\u0031e9999", 1]}',
        '{"a": ["1\\u00659999", 1]}',
        '{"a": [1e999, 1]}',
        '{"a": [%s, 1]}' % ("1" * 400),
    ],
)
def test_a_number_out_of_reach__is_null_however_it_is_written(text: str) -> None:
    assert within_reach(text, json.loads(text)) == {"a": [None, 1]}


@each("value", ["1e5", "-2.5E-12", "0xabe12345678", "12ab34e5678", "e9999", "", "1e999", 10**299])
def test_numbers_in_reach_and_texts__stay(value: object) -> None:
    text = json.dumps({"a": value, "b": "\u1234"})

    assert within_reach(text, json.loads(text))["a"] == value


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return isinstance(value, str)
