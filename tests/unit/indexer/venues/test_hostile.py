"""What a venue may answer that is wrong, and what becomes of it: a fault beside the rest, or a
VenueError; never an unexpected exception, and never a value that was not said.
"""

import json
import math
import time
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest

from core.market.rules.book import BookFault, TimeFault, judge_time
from indexer.venues.ccxt_venue import CcxtVenue
from indexer.venues.port import VenueError, VenueErrorReason
from indexer.venues.reading import RowError, text_in, volume_of
from indexer.venues.transport import VenueAnswer
from tests.each import each
from tests.market_books import judge
from tests.unit.indexer.venues.native.global_payloads import BINANCE, KUCOIN, OKX, kucoin_of, okx_of
from tests.unit.indexer.venues.native.long_tail_payloads import BITGET, GATE, bitget_of
from tests.unit.indexer.venues.native.payloads import AAAQ, PAYLOADS, venue_of
from tests.unit.indexer.venues.native.wire import MS, NOW, asked

HTML = VenueAnswer(200, "<html><body>Just a moment...</body></html>", {"Content-Type": "text/html"})
MARKETS = {
    "binance": "/api/v3/exchangeInfo",
    "bybit": "/v5/market/instruments-info",
    "okx": "/api/v5/public/instruments",
    "kucoin": "/api/v2/symbols",
    "gate": "/api/v4/spot/currency_pairs",
    "bitget": "/api/v2/spot/public/symbols",
    "mexc": "/api/v3/exchangeInfo",
    "upbit": "/v1/market/all",
    "bithumb": "/v1/market/all",
    "coinone": "/public/v2/ticker_new/KRW",
    "coinbase": "/api/v3/brokerage/market/products",
    "kraken": "/0/public/AssetPairs",
}


def refusal(call: Awaitable[object]) -> VenueErrorReason:
    with pytest.raises(VenueError) as refused:
        asked(call)
    return refused.value.reason


def okx_book(bids: list[list[str]], asks: list[list[str]], at_ms: int = MS - 80) -> CcxtVenue:
    row = {"bids": bids, "asks": asks, "ts": str(at_ms)}
    return venue_of("okx", **{"/api/v5/market/books": okx_of([row])})


GOOD_BID, GOOD_ASK = ["100", "2", "0", "1"], ["100.5", "1", "0", "1"]


@each("exchange", sorted(MARKETS))
def test_html_in_place_of_markets__is_not_understood_or_unreachable(exchange: str) -> None:
    reason = refusal(venue_of(exchange, **{MARKETS[exchange]: HTML}).markets())

    assert reason in (VenueErrorReason.NOT_UNDERSTOOD, VenueErrorReason.UNREACHABLE)


@each("exchange", sorted(MARKETS))
@each("answer", [[], {}, None, 7, "text", [[]], [None], {"data": "x"}])
def test_an_answer_of_another_shape__is_a_venue_error_and_nothing_else(
    exchange: str, answer: object
) -> None:
    try:
        found = asked(venue_of(exchange, **{MARKETS[exchange]: answer}).markets())
    except VenueError:
        return
    assert found.values == ()


def test_half_the_markets__are_taken_as_sent_so_that_who_counts_them_sees_it() -> None:
    half: dict[str, Any] = dict(BINANCE["/api/v3/exchangeInfo"])  # type: ignore[call-overload]  # a dict
    half["symbols"] = half["symbols"][:1]

    found = asked(venue_of("binance", **{"/api/v3/exchangeInfo": half}).markets())

    assert [one.native_id for one in found.values] == ["AAAQUSDT"]


def test_a_renamed_ticker__is_another_market_and_the_old_one_is_refused() -> None:
    renamed = json.loads(json.dumps(GATE["/api/v4/spot/currency_pairs"]).replace("AAAQ", "ZZZQ"))
    venue = venue_of("gate", **{"/api/v4/spot/currency_pairs": renamed})

    assert asked(venue.markets()).values[0].native_id == "ZZZQ_USDT"
    assert refusal(venue.book("AAAQ_USDT", 20)) is VenueErrorReason.REFUSED


def test_a_ticker_that_ccxt_gives_another_name__keeps_the_venues_own() -> None:
    """ccxt calls bitget's DEGEN DegenReborn."""
    symbols = json.loads(json.dumps(BITGET["/api/v2/spot/public/symbols"]).replace("AAAQ", "DEGEN"))
    venue = venue_of("bitget", **{"/api/v2/spot/public/symbols": symbols})
    first = asked(venue.markets()).values[0]

    assert (first.native_base, first.base) == ("DEGEN", "DEGEN")
    assert asked(venue.book("DEGENUSDT", 20)).native_id == "DEGENUSDT"


@each(
    ("ticker", "about"),
    [("$B/'", "$B/'-USDT"), ("A" * 1_000, "A" * 80)],
    ids=lambda case: case[0][:9],
)
def test_a_ticker_that_cannot_stand_in_a_path__is_a_fault_beside_the_others(
    ticker: str, about: str
) -> None:
    rows = json.loads(json.dumps(KUCOIN["/api/v2/symbols"]))
    rows["data"][1] |= {"symbol": f"{ticker}-USDT", "baseCurrency": ticker}
    found = asked(venue_of("kucoin", **{"/api/v2/symbols": rows}).markets())

    assert [one.base for one in found.values] == ["AAAQ", "CCCQ"]
    assert [one.about for one in found.faults] == [about]


def test_a_clock_an_hour_off__is_kept_as_the_venue_said_it_and_judged_later() -> None:
    book, stale = (
        asked(okx_book([GOOD_BID], [GOOD_ASK], at_ms).book(AAAQ["okx"], 20))
        for at_ms in (MS + 3_600_000, MS - 200_000)
    )

    assert book.at == NOW + timedelta(hours=1)
    assert judge_time(book, None) is TimeFault.CLOCK_SKEW
    assert judge_time(stale, None) is TimeFault.STALE


def test_a_time_of_the_year_1970__is_no_time() -> None:
    assert asked(okx_book([GOOD_BID], [GOOD_ASK], 7).book(AAAQ["okx"], 20)).at is None


@each(
    ("bids", "asks", "fault"),
    [
        ([["NaN", "2", "0", "1"]], [GOOD_ASK], BookFault.NOT_A_SIZE),
        ([["100", "-2", "0", "1"]], [GOOD_ASK], BookFault.NOT_A_SIZE),
        ([["101", "2", "0", "1"]], [GOOD_ASK], BookFault.CROSSED),
        ([], [], BookFault.EMPTY),
        ([GOOD_BID], [], BookFault.ONE_SIDED),
    ],
)
def test_a_book_that_is_none__is_kept_as_the_venue_said_it_and_judged_later(
    bids: list[list[str]], asks: list[list[str]], fault: BookFault
) -> None:
    assert judge(asked(okx_book(bids, asks).book(AAAQ["okx"], 20))) is fault


@pytest.mark.slow
def test_a_book_of_a_hundred_thousand_levels__is_cut_and_truncated() -> None:
    bids = [[str(100 - one / 100_000), "1", "0", "1"] for one in range(100_000)]
    book = asked(okx_book(bids, [GOOD_ASK]).book(AAAQ["okx"], 20))

    assert (len(book.bids), book.is_truncated) == (500, True)


def test_a_book_with_all_the_levels_that_were_asked_for__is_truncated() -> None:
    bids = [[str(100 - one), "1", "0", "1"] for one in range(20)]

    assert asked(okx_book(bids, [GOOD_ASK]).book(AAAQ["okx"], 20)).is_truncated


def test_a_level_without_a_size__is_not_understood() -> None:
    assert refusal(okx_book([["100"]], [GOOD_ASK]).book(AAAQ["okx"], 20)) is (
        VenueErrorReason.NOT_UNDERSTOOD
    )


def test_a_status_that_the_venue_never_used_before__is_unknown() -> None:
    rows = json.loads(json.dumps(OKX["/api/v5/public/instruments"]).replace('"live"', '"frozen"'))
    found = asked(venue_of("okx", **{"/api/v5/public/instruments": rows}).markets())

    assert found.values[0].status is None


def test_one_bad_network_row__leaves_the_others() -> None:
    rows = json.loads(json.dumps(BITGET["/api/v2/spot/public/coins"]))["data"]
    found = asked(
        venue_of("bitget", **{"/api/v2/spot/public/coins": bitget_of([7, {"coin": ""}, *rows])})
        .networks()
    )  # fmt: skip

    assert found is not None
    assert [one.native_base for one in found.values] == ["AAAQ", "AAAQ"]
    assert [one.what for one in found.faults] == ["not_an_object"]


def test_a_contract_of_a_megabyte__is_a_fault() -> None:
    row = {"currency": "AAAQ", "chains": [{"chainName": "ERC20", "contractAddress": "0" * 10**6}]}
    good = {"currency": "BBBQ", "chains": [{"chainName": "ERC20"}]}
    found = asked(venue_of("kucoin", **{"/api/v3/currencies": kucoin_of([row, good])}).networks())

    assert found is not None
    assert [one.native_base for one in found.values] == ["BBBQ"]
    assert [one.what for one in found.faults] == ["text_too_long"]


def test_networks_that_can_all_not_be_read__are_not_understood() -> None:
    venue = venue_of("kucoin", **{"/api/v3/currencies": kucoin_of([1, 2, 3])})

    assert refusal(venue.networks()) is VenueErrorReason.NOT_UNDERSTOOD


def test_a_thousand_faults__are_counted_and_not_kept() -> None:
    rows = [*range(1_000), {"currency": "BBBQ", "chains": [{"chainName": "ERC20"}]}]
    found = asked(venue_of("kucoin", **{"/api/v3/currencies": kucoin_of(rows)}).networks())

    assert found is not None
    assert len(found.faults) == 200
    assert (found.faults[-1].what, found.faults[-1].about) == ("more_faults", "801")


def test_json_nested_a_hundred_thousand_deep__is_a_venue_error() -> None:
    deep = VenueAnswer(200, "[" * 100_000 + "]" * 100_000, {})

    assert isinstance(
        refusal(venue_of("gate", **{"/api/v4/spot/currency_pairs": deep}).markets()),
        VenueErrorReason,
    )


@each(
    ("status", "reason"),
    [
        (429, VenueErrorReason.RATE_LIMITED),
        (503, VenueErrorReason.UNREACHABLE),
        (504, VenueErrorReason.TIMEOUT),
    ],
)
def test_an_http_status__has_its_reason(status: int, reason: VenueErrorReason) -> None:
    answer = VenueAnswer(status, "{}", {})

    assert refusal(venue_of("coinone", **{MARKETS["coinone"]: answer}).markets()) is reason


def test_the_key_of_an_account__is_in_no_error() -> None:
    answer = VenueAnswer(403, '{"code":-2015,"msg":"Invalid API-key"}', {})
    venue = venue_of("binance", has_keys=True, **{"/sapi/v1/capital/config/getall": answer})

    with pytest.raises(VenueError) as refused:
        asked(venue.networks())

    assert refused.value.reason is VenueErrorReason.REFUSED
    assert "signature" not in str(refused.value)
    assert "a key of a test" not in str(refused.value)


def test_an_infinite_volume__is_unknown() -> None:
    row = dict(PAYLOADS["okx"]["/api/v5/market/tickers"]["data"][0])  # type: ignore[index]  # a dict
    venue = venue_of(
        "okx", **{"/api/v5/market/tickers": okx_of([row | {"volCcy24h": "1e999", "last": "0"}])}
    )
    (only,) = asked(venue.tickers()).values

    assert (only.volume_24h_quote, only.last) == (None, None)
    assert not math.isinf(only.bid or 0)


@each(
    ("volume", "base", "last", "told"),
    [("1e300", "1", "1", 1), ("", "1e20", "1e20", None), ("1e-300", "", "1", None)],
)
def test_a_volume_that_no_market_has__is_unknown(
    volume: str, base: str, last: str, told: float | None
) -> None:
    assert volume_of({"quoteVolume": volume, "baseVolume": base, "last": last}) == told


@each(
    "url",
    ["https://a.test/\x00", "https://a.test/\u202e", 'https://a.test/"><i>', "https://u:p@a.test/"],
)
def test_a_link_that_no_page_may_show__is_none_beside_its_notice(url: str) -> None:
    row = {"annId": "7", "annTitle": "Delisting of AAAQ", "annUrl": url, "cTime": MS}
    venue = venue_of("kucoin", **{"/api/v3/announcements": kucoin_of({"items": [row]})})

    found = asked(venue.notices(NOW - timedelta(days=2)))

    assert found is not None
    assert [(one.url, one.id) for one in found.values] == [(None, "7")]


@each("sign", ["\x00", "\ud800", "\u202e"])
def test_a_text_that_no_database_keeps__is_a_fault_beside_the_others(sign: str) -> None:
    with pytest.raises(RowError):
        text_in({"chain": f"ETH{sign}"}, "chain")


def test_a_book_of_a_million_levels__is_refused_before_it_is_read() -> None:
    levels = ",".join(['["100","2"]'] * 1_000_000)
    text = '{"lastUpdateId": 1, "bids": [' + levels + '], "asks": [["101", "1"]]}'
    venue = venue_of("binance", **{"/api/v3/depth": VenueAnswer(200, text, {})})
    asked(venue.markets())
    began = time.process_time()

    assert refusal(venue.book(AAAQ["binance"], 20)) is VenueErrorReason.NOT_UNDERSTOOD
    assert time.process_time() - began < 0.5
