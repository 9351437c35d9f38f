"""Coverage, the watchlist, gaps, the reel and the snapshot of Tier 2 over HTTP."""

from datetime import datetime, timedelta

from starlette.testclient import TestClient

from core.db.engine import Database
from core.market import statistics
from core.market.facts import MarketStatus
from core.subscriptions.tables import Subscription
from core.times import instant_text
from tests.integration.api.conftest import KEY, connect, reason
from tests.integration.api.market.conftest import ReadJson
from tests.market_rows import ListedPair, MarketIds, add_pairs, add_venues

PRO = "/stats/arbitrage_snapshot_pro"


def test_before_anything_was_scanned__coverage_is_nothing(read: ReadJson) -> None:
    body = read("/stats/summary")
    assert (body["listings"], body["assets"], body["exchanges"]) == (0, None, [])
    assert (body["figures"], body["computed_at"], body["data_source"]) == (None, None, [])
    assert "simulated" not in body


def test_coverage__names_each_exchange_with_state_and_what_it_cannot_tell(
    market: MarketIds, read: ReadJson
) -> None:
    body = read("/stats/summary")

    assert (body["listings"], body["assets"]) == (6, None)  # tokens were not counted yet
    by_name = {one["exchange"]: one for one in body["exchanges"]}
    assert (by_name["mexc"]["state"], by_name["mexc"]["reason"]) == ("down", "timeout")
    assert by_name["upbit"]["unknowable"] == ["contracts"]
    assert by_name["binance"]["unknowable"] == []
    assert (body["data_source"], body["simulated"]) == (["simulated"], True)
    assert body["grade_version"] == "grade_v1"


def test_the_watchlist__has_the_lowest_of_the_graded__rounded_up(
    market: MarketIds, read: ReadJson
) -> None:
    body = read("/stats/critical_watchlist")

    assert (body["percent"], body["graded"], body["unknown"]) == (5, 3, None)
    assert [one["token"] for one in body["tokens"]] == ["DUST"]
    half = read("/stats/critical_watchlist?percent=50")
    assert [one["token"] for one in half["tokens"]] == ["DUST", "LINK"]


def test_tokens_without_a_grade__are_counted_and_not_listed(
    database: Database, now: datetime, read: ReadJson
) -> None:
    pairs = [
        ListedPair("binance", "AAA", "USDT", 1.0, 1e6, None),
        ListedPair("binance", "BBB", "USDT", 1.0, 1e6, "B"),
    ]
    with database.write() as session:
        add_pairs(session, pairs, now)
        statistics.summarise(session, now)
    body = read("/stats/critical_watchlist?percent=50")
    assert (body["graded"], body["unknown"]) == (1, 1)
    assert [one["token"] for one in body["tokens"]] == ["BBB"]


def test_gaps__come_by_what_they_earn(market: MarketIds, read: ReadJson) -> None:
    gaps = read("/stats/arbitrage_snapshot")["gaps"]

    assert [(one["buy_exchange"], one["net_1k_bps"]) for one in gaps] == [
        ("binance", 12.25),
        ("upbit", -60),
    ]
    assert (gaps[0]["gross_bps"], gaps[0]["net_10k_bps"]) == (35.5, None)
    assert (gaps[0]["transfer"], gaps[0]["actionable"]) == ("open", True)
    only = read("/stats/arbitrage_snapshot?actionable=1")["gaps"]
    assert [one["buy_exchange"] for one in only] == ["binance"]


def test_the_reel__pages_through_changes_newest_first(market: MarketIds, read: ReadJson) -> None:
    first = read("/stats/arb_reel?limit=2")
    second = read(f"/stats/arb_reel?limit=2&cursor={first['next_cursor']}")

    assert [one["gross_bps"] for one in first["changes"] + second["changes"]] == [32, 31, 30]
    assert (second["changes"][0]["was_bps"], second["next_cursor"]) == (None, None)


def test_the_pro_snapshot__needs_tier_2(
    market: MarketIds, client: TestClient, database: Database, now: datetime
) -> None:
    assert reason(client.get(PRO)) == (401, "auth_required")
    made = connect(client)
    headers = {KEY: made["api_key"]}
    refused = client.get(PRO, headers=headers)
    assert reason(refused) == (403, "tier_required")
    calls = [one["path"] for one in refused.json()["service"]["next"]]
    assert "/subscriptions/credits/subscribe" in calls

    with database.write() as session:
        session.merge(
            Subscription(
                account_id=made["user_id"],
                until=now + timedelta(days=1),
                tier_2_until=None,
                purchases=1,
            )
        )
    assert reason(client.get(PRO, headers=headers)) == (403, "tier_required")

    with database.write() as session:
        row = session.get_one(Subscription, made["user_id"])
        row.tier_2_until = now + timedelta(days=1)
    answer = client.get(PRO, headers=headers)
    assert answer.status_code == 200
    [spread] = answer.json()["spreads"]
    assert (spread["token"], spread["venues"]) == ("BTC", 3)
    assert (spread["profit_usd"], spread["actionable_profit_usd"]) == (30, 30)
    assert spread["legs"] == [
        {
            "buy_exchange": "binance",
            "sell_exchange": "upbit",
            "base": 0.25,
            "buy_usd": 22_500,
            "sell_usd": 22_530,
            "profit_usd": 30,
            "transfer": "open",
        }
    ]


def test_the_summary__has_the_figures_of_the_whole_once_they_were_counted(
    market: MarketIds, database: Database, now: datetime, read: ReadJson
) -> None:
    with database.write() as session:
        statistics.summarise(session, now)
    found = read("/stats/summary")
    figures = {name: found["figures"][name] for name in ("listings", "tokens", "graded_listings")}
    assert figures == {"listings": 6, "tokens": 3, "graded_listings": 5}
    assert found["figures"]["grades"] == {"A": 2, "B": 2, "F": 1}
    assert found["computed_at"] == instant_text(now)


def test_what_nobody_lists_any_more__is_no_listing_and_no_token(
    database: Database, now: datetime, read: ReadJson
) -> None:
    """AAA has three listings and a former one, BBB one, CCC former ones alone; each was graded."""
    delisted = MarketStatus.DELISTED
    pairs = [
        ListedPair("binance", "AAA", "USDT", 1.0, 1e6, "A"),
        ListedPair("binance", "AAA", "USDC", 1.0, 1e6, "B"),
        ListedPair("mexc", "AAA", "USDT", 1.0, 1e6, "B"),
        ListedPair("kraken", "AAA", "USD", 1.0, 1e6, "F", status=delisted),
        ListedPair("mexc", "BBB", "USDT", 1.0, 1e6, None),
        ListedPair("kraken", "CCC", "USD", 1.0, 1e6, None, status=delisted),
        ListedPair("mexc", "CCC", "USDT", 1.0, 1e6, None, status=delisted),
    ]
    with database.write() as session:
        add_pairs(session, pairs, now)
        add_venues(session, pairs, now)
        statistics.summarise(session, now)

    found = read("/stats/summary")
    assert (found["listings"], found["assets"]) == (4, 2)
    listed = {one["exchange"]: one["listings"] for one in found["exchanges"]}
    assert listed == {"binance": 2, "mexc": 2}
    names = ("listings", "simulated_listings", "exchanges", "tokens")
    assert [found["figures"][name] for name in names] == [4, 4, 2, 2]
    graded = ("graded_listings", "graded_tokens", "grades")
    assert [found["figures"][name] for name in graded] == [3, 1, {"A": 1, "B": 2}]
    watched = read("/stats/critical_watchlist")
    assert (watched["graded"], watched["unknown"]) == (1, 1)  # of AAA and BBB
    board = read("/board")
    assert (board["total"], len(board["rows"])) == (7, 7)  # rows of delisted pairs too
