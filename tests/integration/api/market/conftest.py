"""The market of tests/market_rows.py behind the API."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.integration.api.conftest import Clock

ReadJson = Callable[[str], Any]


@pytest.fixture
def now(clock: Clock) -> datetime:
    return clock.now


@pytest.fixture
def read(client: TestClient) -> ReadJson:
    def get(path: str) -> Any:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return get
