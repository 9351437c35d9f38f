"""The board over HTTP: rows in their order, filters, bounds, what is unknown."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from api.areas.board.schemas import BoardPage
from api.areas.tokens.schemas import FoundTokens
from api.shared.board_row import BoardRow
from core.db.engine import Database
from core.market.ledger.writer import write
from core.market.tables import MarketListingState
from tests.each import each
from tests.integration.api.conftest import Clock, reason
from tests.integration.api.market.conftest import ReadJson
from tests.market_rows import MarketIds, warning

BY_VOLUME = [
    "binance_btc_usdt", "upbit_btc_krw", "kraken_btc_usd", "binance_link_usdt",
    "bithumb_link_krw", "mexc_dust_usdt",
]  # fmt: skip


def ids(body: Any) -> list[str]:
    return [row["token_id"] for row in body["rows"]]


def row(read: ReadJson, token_id: str) -> Any:
    return next(one for one in read("/board")["rows"] if one["token_id"] == token_id)


def test_before_anything_was_scanned__the_board_is_empty(read: ReadJson) -> None:
    assert read("/board") == {
        "rows": [],
        "limit": 200,
        "offset": 0,
        "next_offset": None,
        "next_cursor": None,
        "total": 0,
    }


def test_rows__come_by_volume__with_the_total(market: MarketIds, read: ReadJson) -> None:
    board = read("/board")

    assert ids(board) == BY_VOLUME
    assert (board["total"], board["limit"], board["next_offset"]) == (6, 200, None)
    assert board["simulated"] is True


def test_a_row__says_how_its_price_moved_in_a_day_and_a_week(
    market: MarketIds, read: ReadJson
) -> None:
    found = row(read, "binance_btc_usdt")
    assert (found["change_24h_bps"], found["change_7d_bps"]) == (416.66667, 1111.1111)
    assert (len(found["week_closes"]), found["week_closes"][0]) == (15, 81_000.0)


def test_a_row_without_a_past__has_no_changes(market: MarketIds, read: ReadJson) -> None:
    found = row(read, "bithumb_link_krw")
    changes = (found["change_24h_bps"], found["change_7d_bps"], found["week_closes"])
    assert changes == (None, None, [])


def test_pages__are_the_board_in_its_order(market: MarketIds, read: ReadJson) -> None:
    found, offset = [], 0
    while offset is not None:
        page = read(f"/board?limit=4&offset={offset}")
        found += ids(page)
        offset = page["next_offset"]
    assert found == BY_VOLUME


@each("query", ["", "&exchange=binance", "&q=BTC", "&q=B"])
@each("first", ["", "&offset=1"])
def test_cursors__walk_the_same_way_as_offsets(
    market: MarketIds, read: ReadJson, query: str, first: str
) -> None:
    whole = ids(read(f"/board?limit=100{query}{first}"))
    place: str | None = first
    found = list[str]()
    while place is not None:
        page = read(f"/board?limit=1{query}{place}")
        found += ids(page)
        place = None if page["next_cursor"] is None else f"&cursor={page['next_cursor']}"
    assert found == whole


def test_cursors__pass_by_equal_volumes_once_each(
    market: MarketIds, read: ReadJson, database: Database
) -> None:
    with database.write() as session:
        for row in session.query(MarketListingState):
            row.order_usd = 0.0
    place: str | None = ""
    found = list[str]()
    while place is not None:
        page = read(f"/board?limit=2{place}")
        found += ids(page)
        place = None if page["next_cursor"] is None else f"&cursor={page['next_cursor']}"
    assert sorted(found) == sorted(BY_VOLUME)
    assert len(found) == len(BY_VOLUME)


def test_far_down__an_offset_is_refused_with_the_way_on(
    market: MarketIds, client: TestClient
) -> None:
    assert client.get("/board?offset=10000").status_code == 200
    for query in ("offset=10001", "offset=100000"):
        refused = client.get(f"/board?{query}")
        assert reason(refused) == (400, "invalid_parameter")
        assert refused.json()["detail"].startswith(
            "offset: at most 10000, and never together with cursor"
        )
        assert refused.json()["service"]["next"][0]["path"] == "/board"


def test_a_cursor__of_other_filters_or_beside_an_offset_is_refused(
    market: MarketIds, client: TestClient, read: ReadJson
) -> None:
    cursor = read("/board?limit=1")["next_cursor"]
    for query in (f"exchange=binance&cursor={cursor}", f"offset=1&cursor={cursor}", "cursor=x"):
        assert reason(client.get(f"/board?{query}")) == (400, "invalid_parameter")


def test_an_offset_past_the_end__is_an_empty_page(market: MarketIds, read: ReadJson) -> None:
    page = read("/board?offset=6")
    assert (page["rows"], page["next_offset"], page["total"]) == ([], None, 6)


def test_a_graded_row__shows_the_letter_beside_its_inputs(
    market: MarketIds, read: ReadJson
) -> None:
    one = row(read, "upbit_btc_krw")

    assert (one["grade"], one["score"], one["provisional"]) == ("A", 88, False)
    assert one["grade_inputs"] == {
        "depth_usd": 200_000,
        "spread_bps": 4,
        "slip_10k_bps": 9,
        "volume_24h_usd": 200_000_000,
        "volume_30d_usd": 200_000_000,
        "uptime": 1,
        "hours": 24,
        "coverage": 1,
    }
    assert (one["exchange_code"], one["symbol"], one["token"]) == ("UP", "BTC/KRW", "BTC")
    assert one["price_usd"] == pytest.approx(126_000_000 / 1_395, rel=1e-7)
    assert one["simulated"] is True


def test_what_is_unknown__is_null_or_unknown__never_closed_or_f(
    market: MarketIds, read: ReadJson
) -> None:
    one = row(read, "bithumb_link_krw")

    assert (one["grade"], one["score"], one["provisional"]) == (None, None, None)
    assert set(one["grade_inputs"].values()) == {None}
    assert (one["deposit"], one["withdraw"]) == ("unknown", "unknown")
    assert one["has_st_tag"] is None


def test_a_closed_wallet__is_closed__and_an_exhausted_book_has_no_slippage(
    market: MarketIds, read: ReadJson
) -> None:
    one = row(read, "mexc_dust_usdt")

    assert (one["deposit"], one["withdraw"], one["status"]) == ("closed", "closed", "halted")
    assert one["slip_10k_bps"] is None


def test_a_row__carries_the_open_warnings_of_its_exchange(
    market: MarketIds, read: ReadJson
) -> None:
    types = [one["type"] for one in row(read, "mexc_dust_usdt")["warnings"]]

    assert types == ["delist_notice", "depth_collapse"]
    assert [one["type"] for one in row(read, "upbit_btc_krw")["warnings"]] == ["transfer_halt"]
    assert row(read, "binance_btc_usdt")["warnings"] == []


def test_a_row__is_stale_after_three_minutes(
    market: MarketIds, read: ReadJson, clock: Clock
) -> None:
    clock.pass_(seconds=180)
    assert row(read, "binance_btc_usdt")["stale"] is False
    clock.pass_(seconds=10)
    assert row(read, "binance_btc_usdt")["stale"] is True


def test_a_listing_that_was_never_measured__is_stale_without_a_price(
    market: MarketIds, read: ReadJson, database: Database
) -> None:
    with database.write() as session:
        state = session.get_one(MarketListingState, market.listings["binance_link_usdt"])
        state.mid = state.price_usd = state.sampled_at = None
        state.fault = "crossed"

    one = row(read, "binance_link_usdt")
    assert (one["price"], one["price_usd"], one["sampled_at"]) == (None, None, None)
    assert (one["stale"], one["fault"]) == (True, "crossed")


@each(
    ("query", "found"),
    [
        ("exchange=binance", ["binance_btc_usdt", "binance_link_usdt"]),
        ("q=btc", ["binance_btc_usdt", "upbit_btc_krw", "kraken_btc_usd"]),
        ("q=BTC/K", ["upbit_btc_krw"]),
        ("q=btc_usd", ["binance_btc_usdt", "kraken_btc_usd"]),
        ("q=LINK&exchange=bithumb", ["bithumb_link_krw"]),
        ("q=%25", []),
        ("q=%25TC", []),
        ("q=_", []),
        ("q=B_C", []),
        ("q=%5C", []),
        ("q='; drop table listing; --", []),
        ("q=NOSUCH", []),
    ],
)
def test_q_and_exchange__choose_rows__and_wildcards_are_letters(
    market: MarketIds, read: ReadJson, query: str, found: list[str]
) -> None:
    board = read(f"/board?{query}")
    assert (ids(board), board["total"]) == (found, None)


def test_within_max_age__everybody_gets_the_same_bytes_with_their_age(
    market: MarketIds, client: TestClient, database: Database, clock: Clock
) -> None:
    first = client.get("/board?limit=3")
    with database.write() as session:
        session.get_one(MarketListingState, market.listings["upbit_btc_krw"]).mid = 1.0
    clock.pass_(seconds=4)
    again = client.get("/board?limit=3")

    assert again.content == first.content
    assert (again.headers["age"], again.headers["etag"]) == ("4", first.headers["etag"])
    assert again.headers["cache-control"] == "public, max-age=5"
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    same = client.get("/board?limit=3", headers={"If-None-Match": first.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    clock.pass_(seconds=1)
    later = client.get("/board?limit=3", headers={"If-None-Match": first.headers["etag"]})
    assert (later.status_code, later.json()["rows"][1]["price"]) == (200, 1)


def test_a_refusal__is_not_kept(market: MarketIds, client: TestClient) -> None:
    first, again = (client.get("/board?limit=0") for _ in range(2))
    assert (first.status_code, again.status_code) == (400, 400)
    assert "age" not in again.headers


def test_each_answer_of_rows__is_what_its_model_would_be_sent_as(
    market: MarketIds, read: ReadJson
) -> None:
    for kind, path in ((BoardPage, "/board"), (FoundTokens, "/tokens/search?q=BTC")):
        body = read(path)
        assert body["rows"]
        assert kind.model_validate(body).model_dump(mode="json", exclude_unset=True) == body
        assert set(body["rows"][0]) == set(BoardRow.model_fields)


def test_a_warning_that_was_issued_since__is_shown_beside_a_row_that_was_kept(
    market: MarketIds, read: ReadJson, database: Database, clock: Clock
) -> None:
    assert row(read, "kraken_btc_usd")["warnings"] == []
    with database.write() as session:
        write(session, [warning(market, "kraken_btc_usd", "spread_blowout", "warning")], [])
    clock.pass_(seconds=5)
    assert [one["type"] for one in row(read, "kraken_btc_usd")["warnings"]] == ["spread_blowout"]
