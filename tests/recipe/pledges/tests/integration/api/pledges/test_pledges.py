"""Pledges, from the call to the row and back."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from api.areas.pledges import jobs as pledges
from api.areas.pledges.rules import GOOD_FOR

from api.kernel.jobs import area_jobs
from api.kernel.operation import Deps
from core.db import migrate
from tests.integration.api.conftest import KEY, TestClient, connect


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


def pledge(client: TestClient, agent: dict[str, str], amount: str = "5") -> Any:
    return client.post(
        "/pledges", json={"cause": "clean water", "amount_usdc": amount}, headers=agent
    )


def test_a_pledge__is_made_listed_read_and_withdrawn_once(
    client: TestClient, agent: dict[str, str]
) -> None:
    made = pledge(client, agent)
    assert made.status_code == 201, made.text
    path = f"/pledges/{made.json()['id']}"
    assert client.get("/pledges", headers=agent).json() == {"pledges": [made.json()]}
    assert client.get("/public/pledges").json() == {"pledges": [made.json()]}
    assert client.get(path, headers=agent).json()["amount_usdc"] == "5.000000"
    assert client.post(f"{path}/withdraw", headers=agent).json()["state"] == "withdrawn"
    again = client.post(f"{path}/withdraw", headers=agent)
    assert (again.status_code, again.json()["service"]["reason"]) == (409, "pledge_ended")


def test_too_large_a_pledge__is_refused_by_its_field(
    client: TestClient, agent: dict[str, str]
) -> None:
    refused = pledge(client, agent, "1000.000001")
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "amount_usdc: pledge at most 1000.000000.",
    )


def test_a_tool__makes_the_same_call(client: TestClient, agent: dict[str, str]) -> None:
    arguments = {"cause": "clean water", "amount_usdc": "5"}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "pledge_make", "arguments": arguments},
    }
    answer = client.post(
        "/mcp?profile=full", json=call, headers={**agent, "Accept": "application/json"}
    )
    assert answer.json()["result"]["structuredContent"]["state"] == "open"


def test_a_pledge_that_nobody_withdrew__lapses(
    client: TestClient, agent: dict[str, str], deps: Deps
) -> None:
    path = f"/pledges/{pledge(client, agent).json()['id']}"
    place: Any = SimpleNamespace(
        database=deps.database,
        reader=None,
        mark_retention_days=90,
        intent_retention_days=90,
        limits=None,
    )
    assert "pledges" in {job.name for job in area_jobs()}
    assert pledges.run(place, deps.clock() + GOOD_FOR) == {"lapsed": 0}
    assert pledges.run(place, deps.clock() + GOOD_FOR + timedelta(seconds=1)) == {"lapsed": 1}
    assert client.get(path, headers=agent).json()["state"] == "lapsed"


def test_the_migration__makes_the_table(database_url: str) -> None:
    assert migrate.differences(database_url) == []
