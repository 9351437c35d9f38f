"""Feeds from the catalogue to the last row (docs/feeds.md)."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select
from starlette.testclient import TestClient

from api.areas.feeds.rules import FEEDS
from api.kernel.operation import Deps
from core.db.engine import Database, WriteSession
from core.market import gaps, outcomes, parts
from core.market.gaps import SeenSpread
from core.market.outcomes import NewOutcome
from core.market.queries import ensure_assets
from core.market.rules.arbitrage import ArbLeg, ArbSnapshot
from core.market.rules.notices import NoticeReading, OutcomeKind
from core.market.rules.transfer import GateState
from core.market.tables import (
    MarketAsset,
    MarketGapChange,
    MarketGrade,
    MarketListingState,
    MarketSpread,
    MarketTransferEvent,
    MarketVenueState,
)
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, connect, reason
from tests.integration.api.subscriptions.conftest import Subscriber, subscriber_of
from tests.market_rows import add_state

SETTLED_S = 5


@pytest.fixture
def reader(client: TestClient, deps: Deps, clock: Clock) -> Subscriber:
    """Has credits, and reads `transfers`, `board` and `designations`."""
    found = subscriber_of(client, deps, clock)
    for key in ("transfers", "board", "designations"):
        assert found.post("/feeds/subscribe", {"feed_key": key}).status_code == 200
    return found


def read(reader: Subscriber, key: str, **query: Any) -> dict[str, Any]:
    answer = reader.get(f"/feeds/data/{key}", **query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def add_asset(session: WriteSession) -> int:
    made = insert(MarketAsset).values(ticker="BTC").returning(MarketAsset.id)
    return int(session.scalars(made).one())


def add_transfers(session: WriteSession, asset_id: int, count: int, at: datetime) -> None:
    session.execute(
        insert(MarketTransferEvent),
        [
            {
                "exchange": "kucoin",
                "native_base": f"T{n}",
                "chain": "eip155:1",
                "asset_id": asset_id,
                "direction": "deposit",
                "was_open": True,
                "is_open": False,
                "at": at,
            }
            for n in range(count)
        ],
    )


def names(page: dict[str, Any]) -> list[str]:
    return [row["data"]["native_base"] for row in page["rows"]]


def test_the_catalogue__needs_no_key_and_has_every_feed(client: TestClient) -> None:
    answer = client.get("/feeds/catalog")
    feeds = {one["feed_key"]: one for one in answer.json()["feeds"]}
    assert list(feeds) == list(FEEDS)
    assert set(feeds["arb3"]) == {
        *("feed_key", "title", "schema", "cadence_s", "tier", "price", "sample")
    }
    assert (feeds["arb3"]["tier"], feeds["board"]["tier"], feeds["board"]["price"]) == (2, 0, 0)


def test_subscribing__is_idempotent(client: TestClient, clock: Clock) -> None:
    key = {KEY: connect(client)["api_key"]}
    first = client.post("/feeds/subscribe", json={"feed_key": "board"}, headers=key).json()
    clock.pass_(hours=1)
    assert client.post("/feeds/subscribe", json={"feed_key": "board"}, headers=key).json() == first


@each("key", ["nope", "BOARD", "../board", "a" * 40])
def test_an_unknown_feed__is_404_to_subscribe_and_to_read(reader: Subscriber, key: str) -> None:
    assert reason(reader.post("/feeds/subscribe", {"feed_key": key})) == (404, "not_found")
    if "/" not in key:
        assert reason(reader.get(f"/feeds/data/{key}")) == (404, "not_found")


def test_a_feed_that_was_not_subscribed__names_the_call_that_does(reader: Subscriber) -> None:
    refused = reader.get("/feeds/data/grades")
    assert reason(refused) == (403, "feed_not_subscribed")
    call = refused.json()["service"]["next"][0]
    assert reader.post(call["path"], call["body"]).status_code == 200
    assert read(reader, "grades")["rows"] == []


def test_arb3__is_tier_2s_and_stops_with_it(reader: Subscriber, deps: Deps, clock: Clock) -> None:
    body = {"feed_key": "arb3"}
    reader.subscribed(1)
    assert reason(reader.post("/feeds/subscribe", body)) == (403, "tier_required")
    reader.subscribed(2)
    assert reader.post("/feeds/subscribe", body).status_code == 200
    with deps.database.write() as session:
        asset_id = add_asset(session)
        spread = {
            "asset_id": asset_id,
            "token": "BTC",
            "venues": 3,
            "dispersion": 0.02,
            "size_usd": None,
            "profit_usd": None,
            "actionable_profit_usd": None,
            "legs": [{"buy": "binance"}],
            "is_actionable": False,
            "observed_at": clock.now - timedelta(minutes=1),
        }
        session.execute(insert(MarketSpread).values(spread))
    assert read(reader, "arb3")["rows"][0]["data"]["legs"] == [{"buy": "binance"}]
    clock.pass_(days=30)
    assert reason(reader.get("/feeds/data/arb3")) == (403, "tier_required")


def test_a_row_of_three_venues__has_one_profit_wherever_it_is_shown(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    reader.subscribed(2)
    assert reader.post("/feeds/subscribe", {"feed_key": "arb3"}).status_code == 200
    known = leg("kucoin", GateState.OPEN, profit_usd=7.5)
    rows: list[tuple[list[ArbLeg], tuple[float | None, float | None, bool]]] = [
        ([known, leg("gate", GateState.OPEN, profit_usd=-2.0)], (5.5, 7.5, True)),
        ([known, leg("gate", GateState.CLOSED, profit_usd=None)], (None, 7.5, True)),
        ([known, leg("gate", GateState.OPEN, profit_usd=None)], (None, None, True)),
        ([leg("gate", GateState.CLOSED, profit_usd=None)], (None, 0, False)),
    ]
    for legs, expected in rows:
        with deps.database.write() as session:
            spread = ArbSnapshot(("gate", "kucoin", "okx"), 0.02, 200.0, tuple(legs))
            [asset_id] = ensure_assets(session, ["BTC"], is_simulated=True, now=clock.now).values()
            gaps.write(session, [], [SeenSpread(asset_id, "BTC", spread)], clock.now)
        clock.pass_(seconds=60)
        [shown] = reader.get("/stats/arbitrage_snapshot_pro").json()["spreads"]
        fed = read(reader, "arb3")["rows"][-1]["data"]
        names = ("profit_usd", "actionable_profit_usd")
        assert (*(shown[name] for name in names), shown["actionable"]) == expected
        assert (*(fed[name] for name in names), fed["is_actionable"]) == expected


def leg(buy_at: str, gate: GateState, *, profit_usd: float | None) -> ArbLeg:
    return ArbLeg(buy_at, "okx", 1.0, 100.0, 108.0, profit_usd, gate)


def test_pages__have_every_row_once_in_order_and_go_on_when_more_is_written(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    with deps.database.write() as session:
        asset_id = add_asset(session)
        add_transfers(session, asset_id, 5, clock.now - timedelta(minutes=1))
    seen, since = list[str](), None
    while True:
        page = read(reader, "transfers", limit=2, **({} if since is None else {"since": since}))
        seen += names(page)
        since = page["next_since"]
        if not page["has_more"]:
            break
    assert seen == ["T0", "T1", "T2", "T3", "T4"]
    assert read(reader, "transfers", since=since) == {
        "feed_key": "transfers",
        "rows": [],
        "next_since": since,
        "has_more": False,
    }
    with deps.database.write() as session:
        add_transfers(session, asset_id, 1, clock.now)
    clock.pass_(seconds=SETTLED_S)
    assert names(read(reader, "transfers", since=since)) == ["T0"]


def test_a_row__is_held_back_for_five_seconds(reader: Subscriber, deps: Deps, clock: Clock) -> None:
    with deps.database.write() as session:
        add_transfers(session, add_asset(session), 1, clock.now)
    clock.pass_(seconds=SETTLED_S, microseconds=-1)
    assert read(reader, "transfers")["rows"] == []
    clock.pass_(microseconds=1)
    assert names(read(reader, "transfers")) == ["T0"]


def test_since_a_time__begins_there_inclusive(reader: Subscriber, deps: Deps, clock: Clock) -> None:
    start = clock.now
    with deps.database.write() as session:
        asset_id = add_asset(session)
        add_transfers(session, asset_id, 1, start - timedelta(hours=1))
        add_transfers(session, asset_id, 2, start)
    clock.pass_(minutes=1)
    assert names(read(reader, "transfers", since="2026-11-21T12:00:00Z")) == ["T0", "T1"]
    assert read(reader, "transfers", since="2026-11-21T12:00:01Z")["rows"] == []


@each("since", ["", "x", "1", "1-", "-1-1", "2026-11-21", "2026-13-21T12:00:00Z", "9" * 20 + "-1"])
def test_a_strange_since__is_refused_by_its_field(reader: Subscriber, since: str) -> None:
    refused = reader.get("/feeds/data/transfers", since=since)
    assert reason(refused) == (400, "invalid_parameter")
    assert refused.json()["detail"].startswith("since: ")


def test_a_state__comes_again_when_it_changed(reader: Subscriber, deps: Deps, clock: Clock) -> None:
    with deps.database.write() as session:
        add_market(session, clock.now)
    page = read(reader, "board")
    assert (page["rows"][0]["data"]["symbol"], page["simulated"]) == ("BTC/USDT", True)
    assert set(page["rows"][0]["data"]) == set(FEEDS["board"].fields)
    assert read(reader, "board", since=page["next_since"])["rows"] == []
    clock.pass_(seconds=1)
    with deps.database.write() as session:
        session.query(MarketListingState).update({"updated_at": clock.now, "price_usd": 2.0})
    again = read(reader, "board", since=page["next_since"])
    assert [row["data"]["price_usd"] for row in again["rows"]] == [2.0]


def add_market(session: WriteSession, now: datetime) -> None:
    add_state(session, "binance", "BTC", add_asset(session), now, price_usd=1.0)
    session.add(
        MarketVenueState(
            exchange="binance",
            source="simulated",
            state="ok",
            since=now,
            books_per_minute=1,
            listings=1,
            capabilities={},
            updated_at=now,
        )
    )


def test_gap_changes__are_read_by_the_reels_order(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    reader.post("/feeds/subscribe", {"feed_key": "arb2"})
    with deps.database.write() as session:
        change = {
            "asset_id": add_asset(session),
            "token": "BTC",
            "buy_exchange": "binance",
            "sell_exchange": "upbit",
            "was_bps": None,
            "net_1k_bps": None,
            "at": clock.now,
        }
        session.execute(
            insert(MarketGapChange), [change | {"gross_bps": float(n)} for n in (3, 1, 2)]
        )
    clock.pass_(seconds=SETTLED_S)
    assert [row["data"]["gross_bps"] for row in read(reader, "arb2")["rows"]] == [3.0, 1.0, 2.0]


def test_grades__have_every_hour_once_and_at_once(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    hour = clock.now.replace(minute=0, second=0, microsecond=0)
    with deps.database.write() as session:
        parts.ensure_ahead(session, clock.now)
        add_market(session, clock.now)
        listing_id = session.scalars(select(MarketListingState.listing_id)).one()

    def grade(at: datetime, letter: str | None) -> None:
        score = None if letter is None else 70.0
        with deps.database.write() as session:
            session.add(
                MarketGrade(
                    listing_id=listing_id,
                    hour=at,
                    letter=letter,
                    score=score,
                    is_provisional=False,
                    version="grade_v1",
                )
            )

    assert reader.post("/feeds/subscribe", {"feed_key": "grades"}).status_code == 200
    grade(hour - timedelta(hours=2), "B")
    grade(hour - timedelta(hours=1), "C")
    page = read(reader, "grades", limit=1)
    assert (page["rows"][0]["data"]["grade"], page["has_more"]) == ("B", True)
    assert set(page["rows"][0]["data"]) == set(FEEDS["grades"].fields)
    grade(hour, None)
    page = read(reader, "grades", since=page["next_since"])
    assert [row["data"]["grade"] for row in page["rows"]] == ["C", None]
    assert read(reader, "grades", since=page["next_since"])["rows"] == []


def test_designations__that_are_written_at_once__come_in_the_order_of_their_ids(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    with deps.database.write() as session:
        asset_id = add_asset(session)
    reading = NoticeReading(OutcomeKind.ST_TAG, None, is_genuine=True)

    def declare(session: WriteSession, exchange: str) -> None:
        outcomes.add_outcomes(session, [NewOutcome(exchange, asset_id, reading, clock.now, None)])

    other = threading.Thread(target=lambda: declared_apart(deps.database, declare))
    with deps.database.write() as session:
        declare(session, "gate")
        other.start()
        other.join(0.5)
        assert other.is_alive()  # it waits for this transaction, so its id is a later one
        assert read(reader, "designations")["rows"] == []
    other.join(10)
    page = read(reader, "designations")
    assert [row["data"]["exchange"] for row in page["rows"]] == ["gate", "mexc"]


def test_designations_since_a_time__begin_with_the_first_that_was_written__however_many_are_older(
    reader: Subscriber, deps: Deps, clock: Clock
) -> None:
    """An exchange lists its newest notice first, so that it is written before the older ones: it was
    not among the first thousand by time, and reading began behind it.
    """
    reading = NoticeReading(OutcomeKind.ST_TAG, None, is_genuine=True)
    with deps.database.write() as session:
        asset_id = add_asset(session)
        declared = [clock.now, *[clock.now - timedelta(minutes=1)] * 1_000]
        outcomes.add_outcomes(
            session,
            [NewOutcome(f"x{n}", asset_id, reading, at, None) for n, at in enumerate(declared)],
        )
    page = read(reader, "designations", since="2026-11-21T11:00:00Z", limit=1)
    assert [row["data"]["exchange"] for row in page["rows"]] == ["x0"]


def test_a_place_before_1970__can_be_sent_again(reader: Subscriber) -> None:
    page = read(reader, "board", since="1969-12-31T00:00:00Z")
    assert read(reader, "board", since=page["next_since"])["rows"] == []


def declared_apart(database: Database, declare: Callable[[WriteSession, str], None]) -> None:
    with database.write() as session:
        declare(session, "mexc")
