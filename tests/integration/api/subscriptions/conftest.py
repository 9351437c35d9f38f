"""Agents with credits, and what they call."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database, WriteSession
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from core.market.tables import MarketAsset
from tests.integration.api.conftest import KEY, Clock, connect
from tests.market_rows import add_state

BASES = ("BTC", "ETH", "SOL")


@dataclass
class Subscriber:
    """`key`: the headers of an agent with 1,000,000 earned credits."""

    client: TestClient
    database: Database
    clock: Clock
    user_id: int
    key: dict[str, str] = field(default_factory=dict)

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        return self.client.post(path, json=body, headers=self.key | headers)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, params=query, headers=self.key)

    def preview(self, tier: int, months: int = 1) -> dict[str, Any]:
        answer = self.post("/subscriptions/upgrade/preview", {"tier": tier, "months": months})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def subscribe(self, tier: int, months: int = 1, **body: Any) -> Any:
        return self.post(
            "/subscriptions/credits/subscribe", {"tier": tier, "months": months, **body}
        )

    def subscribed(self, tier: int, months: int = 1, **body: Any) -> dict[str, Any]:
        answer = self.subscribe(tier, months, **body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def account(self) -> dict[str, Any]:
        answer = self.get("/subscriptions/account")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def available(self) -> int:
        return int(self.get("/credits/balance").json()["available"])


def subscriber_of(
    client: TestClient, deps: Deps, clock: Clock, amount: int = 1_000_000
) -> Subscriber:
    made = connect(client)
    if amount:
        with deps.database.write() as session:
            credit_ledger.earn(session, made["user_id"], amount, "test", {}, clock.now)
    return Subscriber(client, deps.database, clock, made["user_id"], {KEY: made["api_key"]})


@pytest.fixture
def subscriber(client: TestClient, deps: Deps, clock: Clock) -> Subscriber:
    return subscriber_of(client, deps, clock)


@pytest.fixture
def listed(deps: Deps, clock: Clock) -> None:
    """BTC, ETH and SOL in USDT at binance."""
    with deps.database.write() as session:
        pairs = [Symbol(base, "USDT") for base in BASES]
        add_listings(session, "binance", pairs, is_simulated=True, now=clock.now)


def measured(session: WriteSession, now: datetime) -> int:
    """BTC/USDT was looked at and graded; the asset's id."""
    asset_id = session.scalars(
        insert(MarketAsset).values(ticker="BTC").returning(MarketAsset.id)
    ).one()
    graded = {"in_depth_usd": 123_456.0, "in_spread_bps": 4.25, "in_slip_10k_bps": 8.5}
    graded |= {"in_volume_24h_usd": 5e7, "in_volume_30d_usd": 5e7, "in_uptime": 1.0}
    add_state(
        session,
        *("binance", "BTC", asset_id, now),
        **graded,
        listed_at=now - timedelta(days=100),
        in_hours=24.0,
        in_coverage=1.0,
        grade="B",
        mid=91_250.5,
        is_truncated=False,
    )
    return int(asset_id)
