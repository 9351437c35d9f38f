"""Whole values, gold, and agents with an open case."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.areas.tasks.rules import Truth
from api.areas.tasks.tables import Task
from api.kernel.operation import Deps
from core.house import House
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from tests.integration.api.conftest import Limit
from tests.integration.api.tasks.conftest import Market

PROJECT_URL = "https://abc.example.com/project/of/a/listing"


@pytest.fixture
def listed(deps: Deps) -> None:
    with deps.database.write() as session:
        add_listings(
            session, "binance", [Symbol("ABC", "USDT")], is_simulated=True, now=deps.clock()
        )


def mined(client: TestClient, who: dict[str, Any]) -> int:
    """A value that the agent submits; its re-observation."""
    entry = {
        "field_name": "website_url",
        "field_value": PROJECT_URL,
        "evidence_url": "https://example.com/evidence/of/it",
    }
    body = {"exchange": "binance", "symbol": "ABC/USDT", "entries": [entry]}
    answer = client.post("/agent/mining/submit", json=body, headers=who["headers"])
    assert answer.status_code == 200, answer.text
    return int(answer.json()["entries"][0]["task_id"])


@pytest.mark.usefixtures("listed")
def test_a_whole_value__is_shown_to_its_submitter_and_to_open_claims_alone(market: Market) -> None:
    task_id = mined(market.client, market.agents[0])

    def seen(who: dict[str, Any] | None) -> tuple[Any, Any]:
        headers = who["headers"] if who else {}
        subject = market.client.get(f"/tasks/{task_id}", headers=headers).json()["subject"]
        return subject["value"], subject["evidence_url"]

    evidence = "https://example.com/evidence/of/it"
    assert [seen(who) for who in (None, *market.agents[:2])] == [
        (None, None),
        (PROJECT_URL, evidence),
        (None, None),
    ]
    made = market.claim(market.agents[1], task_id).json()
    assert made["subject"]["value"] == PROJECT_URL
    assert seen(market.agents[1]) == (PROJECT_URL, evidence)
    market.prove(market.agents[1], task_id)
    with market.deps.database.write() as session:
        entry_id = session.get_one(Task, task_id).entry_id
        assert entry_id is not None
    market.review(Truth.MATCH, entry_id)
    assert [seen(who) for who in market.agents[:2]] == [(PROJECT_URL, evidence), (None, None)]
    own = market.client.get("/tasks/my/claims", headers=market.agents[1]["headers"]).json()[
        "claims"
    ][0]
    assert own["subject"]["value"] is None
    public = market.client.get("/tasks/browse").text + market.client.get(f"/tasks/{task_id}").text
    assert PROJECT_URL not in public


@pytest.mark.usefixtures("listed")
def test_gold__is_a_submission_of_an_agent_of_the_house_like_any_other(
    market: Market, limited: Limit
) -> None:
    object.__setattr__(
        market.deps,
        "parts",
        market.deps.parts.having(House, House(house_agents=(market.agents[0]["id"],))),
    )
    market = replace(market, client=limited())
    value = {
        "exchange": "binance",
        "symbol": "ABC/USDT",
        "field_name": "website_url",
        "field_value": PROJECT_URL,
        "evidence_url": "https://example.com/evidence/of/it",
    }
    body = {"category": "reobserve", "gold": value, "agent_id": market.agents[0]["id"]}
    made = market.client.post("/admin/tasks", json=body, headers=market.operator)
    assert made.status_code == 201, made.text
    assert (made.json()["category"], made.json()["points"]) == ("reobserve", "3.0")
    shown = market.client.get(f"/tasks/{made.json()['id']}").json()
    assert "gold" not in str(shown)
    before = market.written()
    for changes, says in (
        ({"agent_id": market.agents[1]["id"]}, "agent_id: name an agent that the house runs."),
        ({"agent_id": None}, "agent_id: send it; a re-observation has it."),
        ({"gold": None}, "gold: send it; a re-observation has it."),
        ({"title": "A title"}, "title: leave it out; a task of this category has none."),
        ({"gold": value | {"exchange": "Binance"}}, "gold.exchange: "),
    ):
        refused = market.client.post("/admin/tasks", json=body | changes, headers=market.operator)
        assert refused.status_code == 400
        assert refused.json()["detail"].startswith(says)
    assert market.written() == before


def test_an_agent_with_an_open_case__claims_nothing(market: Market) -> None:
    case = {"agent_id": market.agents[0]["id"], "rule": "spam", "deadline": "2026-12-01T00:00:00Z"}
    assert (
        market.client.post("/admin/violations", json=case, headers=market.operator).status_code
        == 201
    )
    task_id = market.offer()["id"]
    before = market.written()
    assert market.claim(market.agents[0], task_id).status_code == 403
    assert market.written() == before
