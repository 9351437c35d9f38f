"""Research of a priority target over HTTP, and who may read it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.areas.research.schemas import KpiBucket, ResearchPair
from core.db.engine import Database
from core.listings.queries import add_listings, find_listing
from core.listings.rules import Symbol
from core.market.bursts import packed
from core.market.rules.research import BurstSample
from core.market.scan_tables import MarketBurst, MarketOnchain
from core.subscriptions.tables import Subscription
from core.targets.queries import add_target
from core.times import instant_text
from tests.integration.api.conftest import KEY, Clock, connect, reason
from tests.market_rows import MarketIds

PATH = "/agent/research/binance/BTC_USDT"
Research = Callable[..., Any]


@pytest.fixture
def agent(client: TestClient) -> dict[str, Any]:
    return connect(client)


@pytest.fixture
def headers(agent: dict[str, Any]) -> dict[str, str]:
    return {KEY: agent["api_key"]}


@pytest.fixture
def target(
    market: MarketIds, agent: dict[str, Any], database: Database, now: datetime
) -> MarketIds:
    """BTC at binance is a target of the agent, which has Tier 2 for thirty days."""
    until = now + timedelta(days=30)
    with database.write() as session:
        session.merge(
            Subscription(account_id=agent["user_id"], until=until, tier_2_until=until, purchases=1)
        )
        add_target(session, agent["user_id"], market.listings["binance_btc_usdt"], 7, now)
    return market


@pytest.fixture
def research(client: TestClient, headers: dict[str, str]) -> Research:
    def read(path: str = PATH) -> Any:
        answer = client.get(path, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return read


def test_without_a_target__the_next_call_adds_it(
    market: MarketIds, client: TestClient, headers: dict[str, str]
) -> None:
    answer = client.get(PATH, headers=headers)

    assert reason(answer) == (403, "target_required")
    first = answer.json()["service"]["next"][0]
    assert (first["method"], first["path"]) == ("POST", "/agent/targets/add")
    assert first["body"] == {"exchange": "binance", "symbol": "BTC/USDT"}


def test_the_target_of_another__is_none_of_yours(target: MarketIds, client: TestClient) -> None:
    other = connect(client, agent_name="other")
    answer = client.get(PATH, headers={KEY: other["api_key"]})
    assert reason(answer) == (403, "target_required")


def test_days__are_21_unless_told(target: MarketIds, research: Research, now: datetime) -> None:
    body = research()
    assert (body["meta"]["days"], len(body["kpi_2h"])) == (21, 21 * 12)
    assert body["meta"]["since"] == instant_text(now - timedelta(days=21))
    assert body["simulated"] is True


def test_ninety_days__are_1080_buckets_in_the_order_of_time__as_their_model_is_sent(
    target: MarketIds, research: Research
) -> None:
    body = research(f"{PATH}?days=90")
    assert ResearchPair.model_validate(body).model_dump(mode="json", exclude_unset=True) == body
    buckets = body["kpi_2h"]
    assert set(buckets[0]) == set(KpiBucket.model_fields)
    times = [one["at"] for one in buckets]
    assert (len(buckets), times) == (1_080, sorted(times))
    assert (buckets[0]["spread_p50_bps"], buckets[0]["deposit_open_share"]) == (4, 1)
    assert buckets[0]["withdraw_open_share"] is None


def test_both_routes__answer_alike(target: MarketIds, research: Research) -> None:
    assert research("/research/pair?exchange=binance&symbol=BTC/USDT&days=3") == research(
        f"{PATH}?days=3"
    )


def test_percentiles__rank_the_newest_value_among_its_own_and_its_peers(
    target: MarketIds, research: Research
) -> None:
    found = research()["percentiles"]

    assert found["spread_bps"] == {"value": 4, "own": 50, "peers": 50, "peers_n": 2}
    assert found["volume_24h_usd"]["peers"] == 0
    assert 0 <= found["depth_2_usd"]["own"] <= 100


def test_bursts__show_the_quota_of_the_target(
    target: MarketIds, research: Research, database: Database, now: datetime
) -> None:
    with database.write() as session:
        for hours in (1, 24 * 30):
            began = now - timedelta(hours=hours)
            session.add(
                MarketBurst(
                    listing_id=target.listings["binance_btc_usdt"],
                    trigger="move",
                    began_at=began,
                    ended_at=began + timedelta(minutes=1),
                    count=60,
                    max_move_bps=82.5,
                    max_spread_bps=12.0,
                    min_depth_usd=90_000.0,
                    recovery_s=None,
                    samples=packed([BurstSample(began, 100.5, 3.0, 9e4)]),
                )
            )
    bursts = research()["microburst"]
    assert (bursts["quota_per_day"], bursts["used_today"]) == (7, 0)
    [one] = bursts["captures"]
    assert (one["trigger"], one["samples"], one["max_move_bps"]) == ("move", 60, 82.5)
    assert one["recovery_s"] is None
    [second] = one["seconds"]
    assert (second["mid"], second["spread_bps"], second["depth_usd"]) == (100.5, 3, 90_000)


def test_onchain_figures__are_the_newest_of_each_chain(
    target: MarketIds, research: Research, database: Database, now: datetime
) -> None:
    assert research()["onchain"] == {"chains": [], "reason": "no_source"}
    with database.write() as session:
        for back, supply in ((0, 21.0), (1, 20.0)):
            session.add(
                MarketOnchain(
                    asset_id=target.assets["BTC"],
                    chain="eip155:1",
                    day=(now - timedelta(days=back)).date(),
                    supply=supply,
                    holders=10,
                    top10_share=None,
                    transfers_24h=3,
                    at=now,
                )
            )
    onchain = research()["onchain"]
    assert [(one["supply"], one["top10_share"]) for one in onchain["chains"]] == [(21, None)]
    assert onchain["reason"] is None


@pytest.mark.parametrize(("later_s", "status"), [(179, "ok"), (180, "stale")])
def test_health__turns_stale_after_three_minutes(
    target: MarketIds, research: Research, clock: Clock, later_s: int, status: str
) -> None:
    clock.pass_(seconds=later_s)
    health = research()["data_health"]
    assert (health["status"], health["staleness_s"]) == (status, later_s)
    assert (health["coverage"], health["rejected"], health["clock_skew_ms"]) == (1, 0, None)


def test_a_target_without_a_sample__has_no_data(
    target: MarketIds,
    research: Research,
    agent: dict[str, Any],
    database: Database,
    now: datetime,
) -> None:
    with database.write() as session:
        add_target(session, agent["user_id"], target.listings["kraken_btc_usd"], 0, now)
    body = research("/agent/research/kraken/BTC_USD")
    assert (body["data_health"]["status"], body["kpi_2h"]) == ("no_data", [])
    assert body["percentiles"]["spread_bps"]["value"] is None


def test_a_target_that_nobody_scanned_yet__says_so(
    target: MarketIds,
    client: TestClient,
    headers: dict[str, str],
    agent: dict[str, Any],
    database: Database,
    now: datetime,
) -> None:
    with database.write() as session:
        add_listings(session, "okx", [Symbol("NEW", "USDT")], is_simulated=True, now=now)
        listing = find_listing(session, "okx", Symbol("NEW", "USDT"))
        assert listing is not None
        add_target(session, agent["user_id"], listing.id, 0, now)
    answer = client.get("/agent/research/okx/NEW_USDT", headers=headers)
    assert reason(answer) == (404, "not_found")
    assert answer.json()["detail"].startswith("There is no data for okx NEW/USDT yet")


def test_a_target_after_the_subscription__is_paused__and_still_read(
    target: MarketIds, research: Research, clock: Clock
) -> None:
    assert research()["meta"]["target_state"] == "active"
    clock.pass_(days=31)
    assert research()["meta"]["target_state"] == "paused"
