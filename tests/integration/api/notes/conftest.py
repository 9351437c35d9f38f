"""Notes over the market of tests/market_rows.py."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from core.db.engine import Database
from tests.integration.api.conftest import KEY, Clock
from tests.market_rows import MarketIds, add_market

Note = Callable[..., Any]


@pytest.fixture
def market(database: Database, clock: Clock) -> MarketIds:
    with database.write() as session:
        return add_market(session, clock.now)


@pytest.fixture
def key(client: TestClient) -> str:
    made = client.post("/auth/agent/connect", json={"agent_name": "reader"})
    return str(made.json()["api_key"])
