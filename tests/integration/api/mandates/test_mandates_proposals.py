"""POST /mandate-wallet/proposals: an agent proposes, its owner edits and signs; and what is
refused.
"""

from typing import Any

from tests.each import each
from tests.integration.api.mandates.stage import Stage, reason

GOAL = {
    "budget_usdc": "250.000000",
    "horizon_days": 14,
    "stop_floor_bps": 800,
    "per_tx_cap_usdc": "20",
    "daily_cap_usdc": 60,
}


def proposal(stage: Stage, **changes: Any) -> dict[str, Any]:
    return {"agent_id": stage.agent_id, "title": "Lend at the test venue", "goal": GOAL} | changes


def test_propose__makes_a_draft_of_the_owner_that_names_its_agent(stage: Stage) -> None:
    made = stage.post("/proposals", stage.agent, proposal(stage), status=201)["mandate"]
    assert (made["status"], made["agent_id"], made["proposed_by_agent_id"]) == (
        "draft",
        stage.agent_id,
        stage.agent_id,
    )
    assert (made["purpose"], made["budget_usdc"], made["stop_floor_usdc"]) == (
        "Lend at the test venue",
        "250.000000",
        "230.000000",
    )
    assert (made["per_tx_cap_usdc"], made["daily_cap_usdc"], made["horizon_days"]) == (
        "20.000000",
        "60.000000",
        14,
    )
    assert made["id"] in [one["id"] for one in stage.get("/mandates", stage.owner)["mandates"]]


@each(
    ("changes", "expected"),
    [
        ({"agent_id": "1"}, (403, "not_owner")),
        ({"title": ""}, (400, "invalid_parameter")),
        ({"goal": {**GOAL, "budget_usdc": "0"}}, (400, "invalid_number")),
        ({"goal": {**GOAL, "budget_usdc": "1.0000001"}}, (400, "invalid_number")),
        ({"goal": {**GOAL, "stop_floor_bps": 10_001}}, (400, "invalid_number")),
        ({"goal": {**GOAL, "api_key": "k"}}, (400, "secret_field_refused")),
        ({"goal": {**GOAL, "leverage": 3}}, (400, "invalid_parameter")),
        ({"goal": None}, (400, "invalid_parameter")),
    ],
)
def test_propose__bad_input__is_refused_and_nothing_is_written(
    stage: Stage, changes: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert (
        reason(stage.call("POST", "/proposals", stage.agent, proposal(stage, **changes)))
        == expected
    )
    assert stage.get("/mandates", stage.owner)["mandates"] == []


def test_propose__names_a_field_by_where_it_was_sent(stage: Stage) -> None:
    body = proposal(stage, goal={**GOAL, "budget_usdc": "0"})
    answer = stage.call("POST", "/proposals", stage.agent, body)
    assert answer.json()["detail"].split(": ")[0] == "goal.budget_usdc"


def test_propose__needs_no_policy_that_accepts_mandates(stage: Stage) -> None:
    """The owner decides by signing, and the agent's policy is asked when it accepts: a proposal
    commits nobody.
    """
    stage.accept_mandates(stage.agent_id, accepts=False)
    made = stage.post("/proposals", stage.agent, proposal(stage), status=201)["mandate"]
    assert (made["status"], made["agent_id"]) == ("draft", stage.agent_id)
