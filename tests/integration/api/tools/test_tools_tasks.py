"""The tools of the task market make the calls of their routes."""

from typing import Any

import pytest

from api.kernel.operation import Deps
from core.db.engine import Database
from core.tasks import market
from tests.integration.api.conftest import KEY, TestClient, connect, set_apart
from tests.integration.api.tools.conftest import call

PROOF = {
    "verdict": "match",
    "observed_result": "The exchange lists it.",
    "source_url": "https://example.com/abc",
}


@pytest.fixture
def agents(client: TestClient, database: Database) -> list[dict[str, str]]:
    """Headers of two agents; the first one's value is to be re-observed."""
    made = [connect(client) for _ in range(2)]
    set_apart(database, *made)
    return [{KEY: one["api_key"]} for one in made]


@pytest.fixture
def task_id(client: TestClient, deps: Deps, agents: list[dict[str, str]]) -> int:
    submitter = client.get("/agent/status", headers=agents[0]).json()["user_id"]
    with deps.database.write() as session:
        return market.open_reobservation(
            session,
            7,
            "binance_abc_usdt",
            "website_url",
            submitter,
            f"agent:{submitter}",
            deps.clock(),
        )


def answered(result: dict[str, Any]) -> tuple[int, Any]:
    return result["_meta"]["service/status"], result["structuredContent"]


def routed(answer: Any) -> tuple[int, Any]:
    return answer.status_code, answer.json()


@pytest.mark.usefixtures("task_id")
def test_tasks_browse__answers_what_its_route_answers(client: TestClient) -> None:
    answer = client.get("/tasks/browse", params={"category": "reobserve", "limit": 1})
    assert answer.json()["tasks"]
    assert answered(call(client, "tasks_browse", category="reobserve", limit=1)) == routed(answer)


def test_task_claim__is_the_routes_call_under_the_same_idempotency_key(
    client: TestClient, agents: list[dict[str, str]], task_id: int
) -> None:
    key = {"Idempotency-Key": "claim"}
    answer = client.post(f"/tasks/{task_id}/claim", headers=agents[1] | key)
    assert answer.status_code == 201
    again = call(client, "task_claim", agents[1], id=task_id, idempotency_key="claim")
    assert answered(again) == routed(answer)


def test_task_claim__of_ones_own_subject_is_refused_as_the_route_refuses_it(
    client: TestClient, agents: list[dict[str, str]], task_id: int
) -> None:
    answer = client.post(f"/tasks/{task_id}/claim", headers=agents[0])
    assert (answer.status_code, answer.json()["error"]) == (403, "own_subject")
    assert answered(call(client, "task_claim", agents[0], id=task_id)) == routed(answer)


def test_task_submit_proof__is_the_routes_call_under_the_same_idempotency_key(
    client: TestClient, agents: list[dict[str, str]], task_id: int
) -> None:
    call(client, "task_claim", agents[1], id=task_id)
    proof = PROOF | {"task_id": task_id, "observed_at": "2026-11-21T12:00:00Z"}
    filed = call(client, "task_submit_proof", agents[1], **proof, idempotency_key="proof")
    assert filed["_meta"]["service/status"] == 201
    answer = client.post(
        "/tasks/submit-proof", json=proof, headers=agents[1] | {"Idempotency-Key": "proof"}
    )
    assert answered(filed) == routed(answer)
    refused = client.post("/tasks/submit-proof", json=proof, headers=agents[1])
    assert (refused.status_code, refused.json()["error"]) == (409, "already_submitted")
    assert answered(call(client, "task_submit_proof", agents[1], **proof)) == routed(refused)


def test_task_submit_proof__without_observed_at_names_the_field(
    client: TestClient, agents: list[dict[str, str]], task_id: int
) -> None:
    call(client, "task_claim", agents[1], id=task_id)
    proof = PROOF | {"task_id": task_id}
    answer = client.post("/tasks/submit-proof", json=proof, headers=agents[1])
    assert (answer.status_code, answer.json()["detail"][:12]) == (400, "observed_at:")
    assert answered(call(client, "task_submit_proof", agents[1], **proof)) == routed(answer)
