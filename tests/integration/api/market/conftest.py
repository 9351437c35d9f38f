"""The market of tests/market_rows.py behind the API."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from core.db.engine import Database
from tests.integration.api.conftest import Clock
from tests.integration.scenes import Scene, Scenes
from tests.market_rows import MarketIds, add_market

ReadJson = Callable[[str], Any]


@pytest.fixture
def now(clock: Clock) -> datetime:
    return clock.now


@pytest.fixture
def market_scene(scenes: Scenes, template: str) -> Scene:
    return scenes.play("market", template, _market)


def _market(database: Database) -> MarketIds:
    with database.write() as session:
        return add_market(session, Clock().now)


@pytest.fixture
def origin(request: pytest.FixtureRequest, template: str) -> str:
    """Where the test has a market, its rows stand already."""
    if "market" not in request.fixturenames:
        return template
    return str(request.getfixturevalue("market_scene").database)


@pytest.fixture
def market(market_scene: Scene) -> MarketIds:
    held: MarketIds = market_scene.held
    return held


@pytest.fixture
def read(client: TestClient) -> ReadJson:
    def get(path: str) -> Any:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return get
