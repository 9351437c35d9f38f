"""The paper fund and insights behind the API (docs/shadow-fund.md)."""

from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from core.db.engine import Database
from core.market.shadow_tables import (
    MarketInsight,
    ShadowBin,
    ShadowBook,
    ShadowSlice,
    ShadowVenue,
)
from tests.each import each
from tests.integration.api.conftest import Clock

E6 = 1_000_000


@pytest.fixture
def held(database: Database, clock: Clock) -> None:
    """Three trades: +30 and -10 dollars with everything known, +5 over a chain that is not."""
    with database.write() as session:
        session.add(
            ShadowBook(
                id=1,
                episode_id=3,
                unplaced_usd_e6=80_000 * E6,
                is_simulated=True,
                computed_at=clock.now,
            )
        )
        for exchange, usd, hits, pnl, worst in (
            ("binance", 9_000, 2, 35, 5),
            ("upbit", 11_025, 0, -10, -10),
        ):
            session.add(
                ShadowVenue(
                    exchange=exchange,
                    usd_e6=usd * E6,
                    opportunity_usd=10.0,
                    opportunity_at=clock.now,
                    quote="KRW" if exchange == "upbit" else "USDT",
                    usd_per_quote=1 / 1_395 if exchange == "upbit" else 1.0,
                    rate_at=clock.now,
                    settled=2 if hits else 1,
                    returned=0,
                    voided=1,
                    skipped=0,
                    hits=hits,
                    pnl_usd_e6=pnl * E6,
                    worst_usd_e6=worst * E6,
                )
            )
        for bps in (-100, 50, 300):
            session.add(ShadowBin(pnl_bps=bps, n=1))
        for cause, chain, pnl in (
            ("price_lead", "eip155:1", 30),
            ("won_premium", "eip155:1", -10),
            ("price_lead", "unknown", 5),
        ):
            session.add(
                ShadowSlice(
                    gap_cause=cause,
                    deviation_pattern="fresh",
                    venue_pair="binance>upbit",
                    chain=chain,
                    grade_pair="A/B",
                    session="asia",
                    n=1,
                    hits=int(pnl > 0),
                    pnl_usd_e6=pnl * E6,
                )
            )


def read(client: TestClient, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_fund_that_never_ran__knows_nothing_and_says_no_zero(client: TestClient) -> None:
    fund = read(client, "/arb/shadow/fund")
    assert (fund["paper"], fund["n"], fund["by_venue"]) == (True, 0, [])
    unknown = ("pnl_usd", "mean_bps", "p5_bps", "p50_bps", "hit_rate", "worst_usd", "computed_at")
    assert {fund[name] for name in unknown} == {None}
    bands = read(client, "/arb/shadow/quartermaster")
    assert (bands["venues"], bands["planned"], bands["computed_at"]) == ([], [], None)
    assert bands["unplaced_usd"] is None
    slices = read(client, "/arb/shadow/attribution")
    assert (slices["slices"], slices["pnl_usd"], slices["fingerprint_coverage"]) == ([], None, None)
    assert read(client, "/arb/insights") == {"days": 7, "cards": []}


@pytest.mark.usefixtures("held")
def test_the_fund__shows_how_results_lie(client: TestClient) -> None:
    fund = read(client, "/arb/shadow/fund")
    assert (fund["n"], fund["pnl_usd"], fund["worst_usd"], fund["void"]) == (
        3,
        "25.000000",
        "-10.000000",
        2,
    )
    assert (fund["p5_bps"], fund["p50_bps"], fund["p95_bps"]) == (-100, 50, 300)
    assert fund["mean_bps"] == pytest.approx(250 / 3)
    assert fund["hit_rate"] == pytest.approx(2 / 3)
    assert fund["simulated"] is True
    assert sum(one["settled"] for one in fund["by_venue"]) == fund["n"]


@pytest.mark.usefixtures("held")
def test_an_exchange_without_a_result__has_no_sum_of_results(
    client: TestClient, database: Database
) -> None:
    """It was 0.000000, as of an exchange whose gains and losses are equal."""
    with database.write() as session:
        venue = session.get_one(ShadowVenue, "upbit")
        venue.settled, venue.pnl_usd_e6, venue.worst_usd_e6 = 0, 0, None
    (_, upbit) = read(client, "/arb/shadow/fund")["by_venue"]
    assert (upbit["hit_rate"], upbit["pnl_usd"], upbit["worst_usd"]) == (None, None, None)


@pytest.mark.usefixtures("held")
def test_the_quartermaster__shows_bands_rates_and_the_move_that_is_planned(
    client: TestClient,
) -> None:
    shown = read(client, "/arb/shadow/quartermaster")
    assert (shown["capital_usd"], shown["unplaced_usd"]) == ("20025.000000", "80000.000000")
    assert [(one["exchange"], one["status"]) for one in shown["venues"]] == [
        ("binance", "over"),
        ("upbit", "over"),
    ]
    assert shown["concentrated"] == ["binance", "upbit"]
    assert shown["planned"] == []
    assert shown["fx"][1]["quote"] == "KRW"
    assert shown["hedge"] == {
        "reserved_usd": "0.000000",
        "in_transit_usd": "0.000000",
        "positions": 0,
        "unknown": 0,
    }


@pytest.mark.usefixtures("held")
@each("min_n", [1, 2, 3])
@each("dims", ["gap_cause", "gap_cause,deviation_pattern", "chain,session,grade_pair"])
def test_slices__sum_to_the_whole(client: TestClient, dims: str, min_n: int) -> None:
    shown = read(client, f"/arb/shadow/attribution?dims={dims}&min_n={min_n}")
    assert sum(one["n"] for one in shown["slices"]) == shown["n"] == 3
    sums = sum(round(float(one["pnl_usd"]) * E6) for one in shown["slices"])
    assert sums == round(float(shown["pnl_usd"]) * E6) == 25 * E6
    assert shown["fingerprint_coverage"] == pytest.approx(2 / 3)


def test_dimensions__are_one_to_three_known_ones_each_once(client: TestClient) -> None:
    four = "gap_cause,deviation_pattern,chain,session"
    for dims in ("pnl", "", "chain,chain", four):
        refused = client.get(f"/arb/shadow/attribution?dims={dims}")
        assert (refused.status_code, "one to 3 of" in refused.json()["detail"]) == (400, True), dims


def test_cards__are_those_of_the_days_asked_for_without_the_suppressed(
    client: TestClient, database: Database, clock: Clock
) -> None:
    with database.write() as session:
        for back, token, is_suppressed in ((0, "ABC", False), (1, "DEF", False), (0, "GHI", True)):
            at = clock.now - timedelta(days=back)
            session.add(
                MarketInsight(
                    key=f"{token}",
                    kind="venue_drain",
                    exchange="mexc",
                    token=token,
                    day=at.date(),
                    headline="mexc closed transfers",
                    evidence={"depth_share": 0.4},
                    is_suppressed=is_suppressed,
                    is_simulated=True,
                    at=at,
                    updated_at=at,
                )
            )
    today = read(client, "/arb/insights?days=1")["cards"]
    assert [(one["token"], one["detector"], one["simulated"]) for one in today] == [
        ("ABC", "venue_drain", True)
    ]
    assert [one["token"] for one in read(client, "/arb/insights?days=2")["cards"]] == ["ABC", "DEF"]
