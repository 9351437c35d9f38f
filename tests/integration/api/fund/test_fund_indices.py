"""Indices: written once a day by the slow job, and read with their reasons (docs/fund.md#indices)."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from api.areas.fund import jobs
from api.kernel.operation import Deps
from core.fund import queries as fund
from core.fund.rules.frozen import FundKind
from core.market.tables import MarketListingState, MarketNetwork
from tests.each import each
from tests.integration.api.conftest import Clock, reason
from tests.integration.api.fund.conftest import Office
from tests.integration.api.fund.pilots import (
    IndexWorld,
    TransferChain,
    add_grade,
    list_coin,
    write_indices,
)

TWO = {"binance": 400_000.0, "okx": 100_000.0}


@pytest.fixture
def world(deps: Deps, clock: Clock, office: Office) -> IndexWorld:
    """BTC, LINK and UNI pass; AAVE, ADA and XRP do not, each for its reason; nobody lists the
    others. An exchange that gives no contracts lists LINK too.
    """
    with deps.database.write() as session:
        list_coin(session, clock.now, "BTC", TWO, withdraws=False)
        list_coin(session, clock.now, "LINK", TWO | {"upbit": 1e6}, contracts={"upbit": None})
        list_coin(
            session, clock.now, "UNI", {"binance": 100_000.0, "okx": 50_000.0}, withdraws=None
        )
        list_coin(session, clock.now, "AAVE", TWO, contracts={"okx": "0x" + "ee" * 20})
        list_coin(session, clock.now, "ADA", TWO, contracts={"okx": None})
        list_coin(session, clock.now, "XRP", {"binance": 400_000.0})
    world = IndexWorld(deps, clock, TransferChain(), office, 0)
    assert jobs.write_indices(world.job_place(), clock.now) == {"majors": 3, "sectors": 2}
    listed = office.client.get("/fund/indices").json()["indices"]
    world.index_id = next(one["id"] for one in listed if one["name"] == "Large coins")
    return world


def regrade(world: IndexWorld, ticker: str, hour: datetime, grade: str) -> None:
    """All listings of the coin, at that hour."""
    with world.deps.database.write() as session:
        of_coin = select(MarketListingState.listing_id).where(MarketListingState.token == ticker)
        for listing_id in session.scalars(of_coin).all():
            add_grade(session, listing_id, hour, grade)


def read(client: TestClient, world: IndexWorld, **query: str) -> dict[str, Any]:
    answer = client.get(world.path, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_list__counts_constituents_deliverables_and_funds(
    client: TestClient, world: IndexWorld
) -> None:
    first, second = client.get("/fund/indices").json()["indices"]
    assert first == {
        "id": world.index_id,
        "name": "Large coins",
        "delivery_chain": "eip155:1",
        "day": "2026-11-21",
        "published": first["published"],
        "constituents_count": 3,
        "deliverables_count": 1,
        "funds_count": 0,
        "vault_ids": [],
        "simulated": True,
    }
    assert (second["name"], second["constituents_count"]) == ("Sectors on Ethereum", 2)


def test_an_index_of_many_funds__names_the_oldest_and_counts_all(
    client: TestClient, world: IndexWorld
) -> None:
    with world.deps.database.write() as session:
        made = [
            fund.add_vault(
                session,
                "Majors",
                FundKind.SPOT,
                is_simulated=True,
                maker_id=None,
                now=world.clock.now,
                index_id=world.index_id,
            )
            for _ in range(101)
        ]
    shown = read(client, world)
    assert (shown["funds_count"], shown["vault_ids"]) == (101, made[:100])


def test_constituents__have_weights_markets_and_what_is_known_of_their_delivery(
    client: TestClient, world: IndexWorld
) -> None:
    # roots of 400,000, 400,000 and 100,000: three are of equal parts, since a quarter each is too little
    rows = read(client, world)["constituents"]
    assert [(one["token"], one["weight"], one["market"], one["deliverable"]) for one in rows] == [
        ("BTC", "0.3334", "binance_btc_usdt", False),
        ("LINK", "0.3333", "binance_link_usdt", True),
        ("UNI", "0.3333", "binance_uni_usdt", None),
    ]
    assert (rows[2]["depth_usd"], rows[2]["venues"]) == ("100000.000000", 2)


def test_a_category__filters_both_lists(client: TestClient, world: IndexWorld) -> None:
    said = read(client, world, category="defi")
    assert [one["token"] for one in said["constituents"]] == ["LINK", "UNI"]
    assert [one["token"] for one in said["excluded"]] == ["AAVE"]
    assert said["categories"] == ["ai", "defi", "l2"]


@each(
    ("query", "field"),
    [
        ({"category": "meme"}, "category"),
        ({"day": "2026-11-20"}, "day"),
        ({"day": "2026-13-01"}, "day"),
        ({"day": "today"}, "day"),
        ({"version": "0"}, "version"),
        ({"version": "2"}, "version"),
        ({"day": "2026-11-20", "version": "1"}, "version"),
    ],
)
def test_a_query_that_is_wrong__is_400_and_names_the_field(
    client: TestClient, world: IndexWorld, query: dict[str, str], field: str
) -> None:
    answer = client.get(world.path, params=query)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(f"{field}:")


def test_an_index_that_is_not_there__is_404(client: TestClient, world: IndexWorld) -> None:
    assert reason(client.get("/fund/indices/99")) == (404, "not_found")


def test_a_day__is_published_once_and_stays_readable(
    client: TestClient, world: IndexWorld, clock: Clock
) -> None:
    place = world.job_place()
    first = read(client, world)
    regrade(world, "LINK", clock.now, "D")
    clock.pass_(hours=11, minutes=59)
    assert jobs.write_indices(place, clock.now) == {}
    assert read(client, world) == first
    clock.pass_(minutes=1)
    assert jobs.write_indices(place, clock.now) == {"majors": 2, "sectors": 1}
    assert read(client, world)["day"] == "2026-11-22"
    assert [one["token"] for one in read(client, world)["constituents"]] == ["BTC", "UNI"]
    assert read(client, world, day="2026-11-21") == first


def test_a_grade_that_came_late__makes_another_version_of_the_day(
    client: TestClient, world: IndexWorld, clock: Clock
) -> None:
    """As of 11:00: a grade of 11:00 that was not there yet is in it, one of 12:00 is not."""
    first = read(client, world)
    assert first["published"] == {
        "day": "2026-11-21",
        "version": 1,
        "as_of": "2026-11-21T11:00:00Z",
        "computed_at": "2026-11-21T12:00:00Z",
        "cause": "first",
    }
    clock.pass_(minutes=15)
    regrade(world, "UNI", clock.now.replace(minute=0), "D")
    assert jobs.write_indices(world.job_place(), clock.now) == {}
    regrade(world, "LINK", clock.now.replace(hour=11, minute=0), "D")
    assert jobs.write_indices(world.job_place(), clock.now) == {"majors": 2, "sectors": 1}
    second = read(client, world)
    assert [one["token"] for one in second["constituents"]] == ["BTC", "UNI"]
    assert second["published"] == first["published"] | {
        "version": 2,
        "computed_at": "2026-11-21T12:15:00Z",
        "cause": "late_inputs",
    }
    listed = client.get("/fund/indices").json()["indices"]
    assert listed[0]["published"] == second["published"]
    assert read(client, world, version="1") == first
    assert read(client, world, day="2026-11-21", version="2") == second


def test_what_an_exchange_lets_out_now__makes_no_version(world: IndexWorld, clock: Clock) -> None:
    with world.deps.database.write() as session:
        session.execute(update(MarketNetwork).values(can_withdraw=False))
    assert jobs.write_indices(world.job_place(), clock.now) == {}


def test_a_day_without_any_grade__is_not_written(
    client: TestClient, deps: Deps, clock: Clock
) -> None:
    with deps.database.write() as session:
        list_coin(session, clock.now, "BTC", TWO, grade=None)
    index_id = write_indices(deps, clock.now)
    said = client.get(f"/fund/indices/{index_id}").json()
    assert (said["day"], said["constituents"], said["excluded"]) == (None, [], [])
