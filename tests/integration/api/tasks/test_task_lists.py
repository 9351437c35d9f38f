"""Lists of tasks, participants, and what waits for operators."""

from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.tasks import views
from tests.integration.api.tasks.conftest import claimed, done, open_reobservation


def test_browse__pages_through_open_tasks_of_a_category(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    mine = [offered()["id"] for _ in range(3)]
    other = offered(category="research")["id"]
    observed = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], mine[0])
    claimed(crowded, agents[1], observed)

    def listed(**query: Any) -> tuple[list[int], str | None]:
        answer = crowded.get("/tasks/browse", params=query)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["tasks"]], answer.json()["next_cursor"]

    assert listed()[0] == [observed, other, mine[2], mine[1]]
    assert listed(category="reobserve")[0] == [observed]
    first, cursor = listed(category="translation", limit=1)
    assert first == [mine[2]]
    assert listed(category="translation", limit=1, cursor=cursor) == ([mine[1]], None)
    refused = crowded.get("/tasks/browse", params={"cursor": cursor})
    assert refused.status_code == 400


def test_participants__are_the_first_five_by_name_with_their_ids_and_the_total(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who in agents[1:8]:
        claimed(crowded, who, task_id)
    for shown in (
        crowded.get(f"/tasks/{task_id}").json(),
        crowded.get("/tasks/browse").json()["tasks"][0],
    ):
        assert shown["participants"] == ["quant"] * 5
        assert shown["participant_ids"] == [who["id"] for who in agents[1:6]]
        assert shown["participants_total"] == 7


def test_the_queue__shows_what_waits_for_operators(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    first, second = offered()["id"], offered()["id"]
    filed = claimed(crowded, agents[0], first).json()["claim_id"]
    crowded.post("/tasks/submit-proof", json=done(deps, first), headers=agents[0]["headers"])
    still = claimed(crowded, agents[1], second).json()["claim_id"]
    with deps.database.read() as session:
        assert [one.claim.id for one in views.waiting_proofs(session, None, 10)] == [filed]
        assert views.waiting_proofs(session, filed, 10) == []
        assert [one.claim.id for one in views.open_claims(session, None, 10)] == [still]
        assert views.holds_open_claim(session, second, [agents[1]["id"]])
        assert not views.holds_open_claim(session, second, [agents[0]["id"]])
