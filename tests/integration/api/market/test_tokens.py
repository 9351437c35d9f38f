"""Search, a token's page, prices and their statistics over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from core.db.engine import Database
from core.market.tables import MarketListingState
from core.times import instant_text
from tests.each import each
from tests.integration.api.conftest import Clock
from tests.integration.api.market.conftest import ReadJson
from tests.market_rows import ListedPair, MarketIds, add_pairs

BTC = "/tokens/binance_btc_usdt"


def ids(body: Any) -> list[str]:
    return [row["token_id"] for row in body["rows"]]


@each(
    ("q", "found"),
    [
        ("btc", ["binance_btc_usdt", "upbit_btc_krw", "kraken_btc_usd"]),
        ("LINK/K", ["bithumb_link_krw"]),
        ("link_krw", ["bithumb_link_krw"]),
        ("B%25", []),
        ("%20", []),
        ("é", []),
    ],
)
def test_search__finds_by_the_beginning_of_symbols__never_by_wildcards(
    market: MarketIds, read: ReadJson, q: str, found: list[str]
) -> None:
    assert ids(read(f"/tokens/search?q={q}")) == found


def test_search__puts_the_very_ticker_first(
    database: Database, clock: Clock, read: ReadJson
) -> None:
    pairs = [
        ListedPair("binance", "BTCDOM", "USDT", 1.0, 9e9, "B"),
        ListedPair("binance", "BTC", "USDT", 9e4, 5e8, "A"),
    ]
    with database.write() as session:
        add_pairs(session, pairs, clock.now)
    assert ids(read("/tokens/search?q=BTC")) == ["binance_btc_usdt", "binance_btcdom_usdt"]


def test_search__answers_the_boards_rows_in_pages(market: MarketIds, read: ReadJson) -> None:
    board = {row["token_id"]: row for row in read("/board")["rows"]}
    first = read("/tokens/search?q=BTC&limit=2")
    second = read(f"/tokens/search?q=BTC&limit=2&offset={first['next_offset']}")

    assert first["rows"] == [board["binance_btc_usdt"], board["upbit_btc_krw"]]
    assert (ids(second), second["next_offset"]) == (["kraken_btc_usd"], None)


def test_a_price__says_how_old_it_is(market: MarketIds, read: ReadJson, clock: Clock) -> None:
    at = instant_text(clock.now)
    clock.pass_(seconds=90)
    price = read(f"{BTC}/price")

    assert (price["price"], price["price_usd"], price["fx_source"]) == (90_000, 90_000, "par")
    assert (price["sampled_at"], price["age_s"], price["stale"]) == (at, 90, False)
    assert (price["source"], price["simulated"]) == ("simulated", True)


def test_a_price_in_won__names_the_rate_that_made_dollars(
    market: MarketIds, read: ReadJson
) -> None:
    price = read("/tokens/upbit_btc_krw/price")
    assert price["fx_source"] == "upbit USDT/KRW"
    assert price["price"] * price["usd_per_quote"] == pytest.approx(price["price_usd"], rel=1e-6)


def test_a_price_that_was_never_seen__is_null(
    market: MarketIds, read: ReadJson, database: Database
) -> None:
    with database.write() as session:
        state = session.get_one(MarketListingState, market.listings["kraken_btc_usd"])
        state.mid = state.price_usd = state.sampled_at = None
    price = read("/tokens/kraken_btc_usd/price")
    assert (price["price"], price["age_s"], price["stale"]) == (None, None, True)


def test_a_token_id_in_capitals__is_told_its_right_form(
    market: MarketIds, client: TestClient
) -> None:
    answer = client.get("/tokens/binance_BTC_USDT")
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "A token_id is lower case; write binance_btc_usdt.",
    )


@pytest.mark.slow
def test_price_statistics__are_of_the_days_that_were_asked_for(
    market: MarketIds, read: ReadJson
) -> None:
    week, quarter = read(f"{BTC}/price/stats"), read(f"{BTC}/price/stats?days=90&series=1")

    assert (week["days"], week["buckets"], week["expected"], week["series"]) == (7, 84, 84, None)
    assert (quarter["buckets"], quarter["expected"]) == (1_080, 1_080)
    series = quarter["series"]
    assert len(series) == 1_080 // 6  # of twelve hours each, as its note says
    assert "12 hours" in quarter["note"]
    assert (quarter["open"], quarter["close"]) == (series[0]["open"], series[-1]["close"])
    assert quarter["high"] == max(one["high"] for one in series)
    assert quarter["low"] == min(one["low"] for one in series)
    assert quarter["change_bps"] == pytest.approx(
        (series[-1]["close"] / series[0]["open"] - 1) * 10_000, rel=1e-4
    )
    assert quarter["volatility_bps"] == pytest.approx(0.01 * 12**0.5 * 10_000)
    assert (quarter["spread_bps"], quarter["slip_10k_bps"], quarter["coverage"]) == (4, 9, 1)


def test_price_statistics_without_a_past__are_null(market: MarketIds, read: ReadJson) -> None:
    stats = read("/tokens/kraken_btc_usd/price/stats?series=1")
    assert (stats["buckets"], stats["series"], stats["coverage"]) == (0, [], None)
    unknown = ("open", "high", "low", "close", "change_bps", "volatility_bps", "spread_bps")
    assert {stats[name] for name in unknown} == {None}


def test_a_token__has_grade_parts_book_venues_and_gaps(market: MarketIds, read: ReadJson) -> None:
    token = read(BTC)

    assert token["grade"]["parts"] == {
        "depth": 0.9,
        "spread": 0.8,
        "slippage": 0.7,
        "volume": 0.6,
        "uptime": 1,
    }
    assert sum(token["grade"]["weights"].values()) == pytest.approx(1)
    assert (token["grade"]["letter"], token["grade"]["version"]) == ("A", "grade_v1")
    assert (token["book"]["bid_2_usd"], token["book"]["is_truncated"]) == (500_000, False)
    assert [row["token_id"] for row in token["venues"]] == [
        "binance_btc_usdt",
        "upbit_btc_krw",
        "kraken_btc_usd",
    ]
    assert (token["asset"]["grade"], token["asset"]["grade_worst"]) == ("A", "B")
    assert [one["type"] for one in token["warnings"]] == ["transfer_halt"]
    assert [one["net_1k_bps"] for one in token["gaps"]] == [12.25, -60]
    assert token["simulated"] is True


def test_a_halted_token__shows_its_networks_and_gates(market: MarketIds, read: ReadJson) -> None:
    token = read("/tokens/mexc_dust_usdt")

    assert token["grade"]["gates"] == ["thin_depth"]
    [network] = token["networks"]
    assert (network["deposit"], network["withdraw"]) == ("unknown", "closed")
    assert (network["chain"], network["withdraw_fee"]) == ("eip155:1", 3.5)


def test_the_identity_graph__has_contracts_groups_and_weak_links(
    market: MarketIds, read: ReadJson
) -> None:
    asset = read("/tokens/binance_link_usdt")["asset"]

    assert [one["chain"] for one in asset["contracts"]] == ["eip155:1", "eip155:10"]
    [group], [link] = asset["groups"], asset["links"]
    assert group["coins"] == ["binance:LINK", "bithumb:LINK"]
    assert (link["weak"], link["refused"], link["exchanges"]) == (True, False, ["binance"])
