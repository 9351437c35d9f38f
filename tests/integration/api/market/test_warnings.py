"""Warnings, what they foresaw, and timelines over HTTP."""

from datetime import datetime, timedelta

import pytest
from starlette.testclient import TestClient

from core.db.engine import Database
from core.market import statistics, warning_views
from core.market.ledger import writer
from core.market.tables import MarketTransferEvent
from core.published import queries as published
from core.times import instant_text
from tests.each import each
from tests.integration.api.market.conftest import ReadJson
from tests.market_rows import MarketIds, warning

PATH = "/board/warnings"
TIMELINE = "/board/token/timeline"


def types(read: ReadJson, query: str = "") -> list[str]:
    return [one["type"] for one in read(f"{PATH}?{query}")["warnings"]]


def test_without_a_market__there_is_no_warning_and_no_rate(read: ReadJson) -> None:
    body = read(PATH)
    assert (body["warnings"], body["next_cursor"]) == ([], None)
    assert body["stats"] == {
        "published": None,
        "wci_rate": None,
        "wci_definition_version": "B3.1",
        "wci_definition_since": "2026-11-26",
        "precision_90d": None,
        "wci_b3": None,
        "wci_b31": None,
        "unsure_notices_90d": None,
    }


def test_open_warnings__come_newest_first(market: MarketIds, read: ReadJson, now: datetime) -> None:
    body = read(PATH)
    assert types(read) == ["delist_notice", "transfer_halt", "depth_collapse"]
    assert body["warnings"][2] == {
        "seq": 1,
        "type": "depth_collapse",
        "severity": "warning",
        "predictive": True,
        "token": "DUST",
        "exchange": "mexc",
        "exchange_code": "MX",
        "token_id": "mexc_dust_usdt",
        "issued_at": instant_text(now - timedelta(hours=48)),
        "cleared_at": None,
        "evidence": {"depth_lowest_1h_usd": "812.5"},
    }
    assert body["warnings"][0]["predictive"] is False
    assert body["simulated"] is True


def test_all__has_those_that_are_over_too(market: MarketIds, read: ReadJson, now: datetime) -> None:
    found = read(f"{PATH}?all=1")["warnings"]
    assert [one["type"] for one in found] == [
        "delist_notice",
        "transfer_halt",
        "spread_blowout",
        "depth_collapse",
    ]
    assert [one["cleared_at"] for one in found] == [
        None,
        None,
        instant_text(now - timedelta(hours=30)),
        None,
    ]


def test_a_warning_that_was_raised_again__is_not_over(
    market: MarketIds, read: ReadJson, database: Database
) -> None:
    new = warning(market, "binance_link_usdt", "volume_dryup", "notice")
    with database.write() as session:
        writer.write(session, [new], [])
    with database.write() as session:
        writer.write(session, [], [one for one in writer.standing(session) if one.key == new.key])
    with database.write() as session:
        writer.write(session, [new], [])

    [found] = read(f"{PATH}?all=1&type=volume_dryup")["warnings"]
    assert found["cleared_at"] is None
    kinds = [row["kind"] for row in read(f"{TIMELINE}?token=LINK&exchange=binance")["rows"]]
    assert kinds == ["warning_reopened", "warning_cleared", "warning_issued", "listed"]


@each(
    ("query", "found"),
    [
        ("exchange=upbit", ["transfer_halt"]),
        ("token=dust", ["delist_notice", "depth_collapse"]),
        ("type=depth_collapse", ["depth_collapse"]),
        ("severity=critical", ["delist_notice", "transfer_halt"]),
        ("token=BTC&severity=warning", []),
    ],
)
def test_filters__choose_warnings(
    market: MarketIds, read: ReadJson, query: str, found: list[str]
) -> None:
    assert types(read, query) == found


@pytest.mark.parametrize("all_", ["0", "1"])
def test_pages__are_the_list(market: MarketIds, read: ReadJson, all_: str) -> None:
    whole = types(read, f"all={all_}")
    found, cursor = list[str](), ""
    while cursor is not None:
        page = read(f"{PATH}?all={all_}&limit=1{cursor and '&cursor=' + cursor}")
        found += [one["type"] for one in page["warnings"]]
        cursor = page["next_cursor"]
    assert found == whole


@each("query", ["severity=high", "cursor=AAAA", "stats_day=2026-11-20", "stats_version=2"])
def test_what_is_no_filter__is_refused_by_name(
    market: MarketIds, client: TestClient, query: str
) -> None:
    answer = client.get(f"{PATH}?{query}")
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(query.partition("=")[0])


def test_statistics__show_recall_beside_precision_and_counts(
    market: MarketIds, read: ReadJson, now: datetime
) -> None:
    stats = read(PATH)["stats"]

    assert (stats["wci_rate"], stats["precision_90d"]) == (0.625, 0.25)
    report = stats["wci_b31"]
    assert (report["day"], report["xflag_credit"]) == (now.date().isoformat(), 1)
    assert report["wci_definition"].startswith("B3.1.")
    window = report["headline"]
    assert (window["days"], window["units"], window["hits"]) == (90, 8, 5)
    assert (window["warnings_issued"], window["precision"]) == (40, 0.25)
    assert window["by_type"] == [
        {"type": "st_tag", "units": 4, "hits": 2},
        {"type": "delist_notice", "units": 4, "hits": 3},
        {"type": "suspend_notice", "units": 0, "hits": 0},
        {"type": "delisting_confirmed", "units": 1, "hits": 1},
    ]
    assert stats["wci_b3"]["wci_definition"].startswith("B3.")


def test_a_later_version__is_shown_and_the_first_can_be_read(
    market: MarketIds, read: ReadJson, database: Database, now: datetime
) -> None:
    first = read(f"{PATH}?limit=1")["stats"]
    later = now + timedelta(hours=1)
    with database.write() as session:
        found = warning_views.statistics_of(session)
        assert found is not None
        report = found.figures["B3.1"]
        other = report | {"headline": report["headline"] | {"hits": 6, "rate": 0.75}}
        published.publish(
            session, statistics.SERIES, found.figures | {"B3.1": other}, found.as_of, later
        )

    stats = read(PATH)["stats"]
    day = now.date().isoformat()
    assert (stats["wci_rate"], stats["published"]) == (
        0.75,
        {
            "day": day,
            "version": 2,
            "as_of": instant_text(now),
            "computed_at": instant_text(later),
            "cause": "late_inputs",
        },
    )
    assert read(f"{PATH}?stats_version=1")["stats"] == first
    assert read(f"{PATH}?stats_day={day}&stats_version=2&limit=1")["stats"] == stats


def test_a_window_without_units__has_no_rate__not_zero(market: MarketIds, read: ReadJson) -> None:
    second = read(PATH)["stats"]["wci_b31"]["second"]
    assert (second["days"], second["units"], second["rate"], second["precision"]) == (
        60,
        0,
        None,
        None,
    )


def test_a_timeline__has_warnings_outcomes_transfers_and_listings_in_order(
    market: MarketIds, read: ReadJson
) -> None:
    body = read(f"{TIMELINE}?token=dust")

    assert (body["token"], body["simulated"]) == ("DUST", True)
    assert [(row["kind"], row["type"]) for row in body["rows"]] == [
        ("outcome", "delist_notice"),
        ("warning_issued", "delist_notice"),
        ("transfer", None),
        ("warning_cleared", "spread_blowout"),
        ("warning_issued", "spread_blowout"),
        ("warning_issued", "depth_collapse"),
        ("listed", None),
    ]
    transfer = body["rows"][2]
    assert (transfer["direction"], transfer["state"], transfer["chain"]) == (
        "withdraw",
        "closed",
        "eip155:1",
    )


def test_pages_of_a_timeline__lose_none_of_one_instant(
    market: MarketIds, read: ReadJson, database: Database, now: datetime
) -> None:
    with database.write() as session:
        for chain in range(5):
            session.add(
                MarketTransferEvent(
                    exchange="mexc",
                    native_base="DUST",
                    chain=f"eip155:{chain + 2}",
                    asset_id=market.assets["DUST"],
                    direction="deposit",
                    was_open=True,
                    is_open=None,
                    at=now - timedelta(hours=3),
                )
            )
    whole = read(f"{TIMELINE}?token=DUST")["rows"]
    assert sum(row["state"] == "unknown" for row in whole) == 5
    for limit in (1, 2, 3, 5):
        found, cursor = [], ""
        while cursor is not None:
            page = read(f"{TIMELINE}?token=DUST&limit={limit}{cursor and '&cursor=' + cursor}")
            found += page["rows"]
            cursor = page["next_cursor"]
        assert found == whole
