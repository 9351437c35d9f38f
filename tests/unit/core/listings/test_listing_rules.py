"""Exchanges by their ids, and pairs in the forms of path and body."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidParameterError
from core.listings.rules import (
    EXCHANGES,
    Symbol,
    exchange_of,
    symbol_in_body,
    symbol_in_path,
    token_id,
)
from tests.each import each

TICKERS = st.text("ABCXYZ0189", min_size=1, max_size=20)


def test_exchanges__have_ids_and_codes_of_their_own() -> None:
    assert len({one.code for one in EXCHANGES.values()}) == len(EXCHANGES) == 13
    assert all(len(one.code) == 2 for one in EXCHANGES.values())
    assert [one.id for one in EXCHANGES.values() if one.country == "KR"] == [
        "upbit",
        "bithumb",
        "coinone",
        "korbit",
    ]


@each("sent", ["Binance", "BINANCE", " binance"])
def test_another_case_of_an_exchange__is_refused_with_its_id(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^exchange: write binance, the id of this"):
        exchange_of("exchange", sent)


@each("sent", ["", "BN", "nyse", "binance\u200b", "b\u0131nance", "b" * 10_000])
def test_what_is_no_exchange__is_refused_with_all_ids(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^exchange: write the id of an exchange: bin"):
        exchange_of("exchange", sent)


def test_a_pair__is_written_one_way_in_a_path_and_another_in_a_body() -> None:
    assert symbol_in_path("symbol", "BTC_USDT") == symbol_in_body("symbol", "BTC/USDT")
    assert Symbol("BTC", "USDT").in_path == "BTC_USDT"
    assert Symbol("BTC", "USDT").in_body == "BTC/USDT"
    assert token_id("binance", "BTC", "USDT") == "binance_btc_usdt"


@each("sent", ["BTC_USDT", "BTC-USDT", "btc/usdt", "btc_usdt", "BTC USDT"])
def test_another_form_of_a_pair__is_refused_in_a_body_with_the_right_one(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^symbol: write BTC/USDT; in a body"):
        symbol_in_body("symbol", sent)


@each("sent", ["BTC/USDT", "BTC-USDT", "btc_usdt"])
def test_another_form_of_a_pair__is_refused_in_a_path_with_the_right_one(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^symbol: write BTC_USDT; in a path"):
        symbol_in_path("symbol", sent)


@each(
    "sent",
    [
        "",
        "/",
        "BTC/",
        "/USDT",
        "BTCUSDT",
        "A/B/C",
        "BTC/USD_T",
        "\u0412\u0422\u0421/USDT",  # Cyrillic
        "BTC\u202e/USDT",
        "BTC/USDT\n",
        f"{'A' * 21}/USDT",
        f"USDT/{'A' * 21}",
        "BTC/USD\u0967",
    ],
)
def test_what_is_no_pair__is_refused(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^symbol: write"):
        symbol_in_body("symbol", sent)


def test_a_ticker_of_twenty_characters__is_taken() -> None:
    assert symbol_in_body("symbol", f"{'A' * 20}/{'B' * 20}") == Symbol("A" * 20, "B" * 20)


@given(TICKERS, TICKERS, TICKERS, TICKERS)
def test_two_pairs__never_share_a_token_id(a: str, b: str, c: str, d: str) -> None:
    assert (token_id("okx", a, b) == token_id("okx", c, d)) is ((a, b) == (c, d))
