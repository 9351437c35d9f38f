"""Lists of tasks, participants, and what waits for operators."""

from typing import Any

from tests.integration.api.tasks.conftest import Market


def test_browse__pages_through_open_tasks_of_a_category(market: Market) -> None:
    mine = [market.offer()["id"] for _ in range(3)]
    other = market.offer(category="research")["id"]
    observed = market.open_reobservation(market.agents[0])
    market.claim(market.agents[1], mine[0])
    market.claim(market.agents[1], observed)

    def listed(**query: Any) -> tuple[list[int], str | None]:
        answer = market.client.get("/tasks/browse", params=query)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["tasks"]], answer.json()["next_cursor"]

    assert listed()[0] == [observed, other, mine[2], mine[1]]
    assert listed(category="reobserve")[0] == [observed]
    first, cursor = listed(category="translation", limit=1)
    assert first == [mine[2]]
    assert listed(category="translation", limit=1, cursor=cursor) == ([mine[1]], None)
    refused = market.client.get("/tasks/browse", params={"cursor": cursor})
    assert refused.status_code == 400


def test_participants__are_the_first_five_by_name_with_their_ids_and_the_total(
    market: Market,
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    for who in market.agents[1:8]:
        market.claim(who, task_id)
    for shown in (
        market.read(task_id),
        market.client.get("/tasks/browse").json()["tasks"][0],
    ):
        assert shown["participants"] == ["quant"] * 5
        assert shown["participant_ids"] == [who["id"] for who in market.agents[1:6]]
        assert shown["participants_total"] == 7
