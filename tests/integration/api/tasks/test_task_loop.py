"""One loop of a task that takes one claim: paid, queued, rejected, reversed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.credits.ledger.writer import trial_balance
from core.earn.standing import verified_claims
from core.earn.tables import EarnFeedRow
from core.tasks import views
from core.times import instant_text
from tests.integration.api.conftest import Limit
from tests.integration.api.tasks.conftest import (
    TRANSLATION,
    agent,
    claimed,
    done,
    holds,
    named,
    verdict,
)


def test_a_task__is_offered_claimed_proven_verified_and_paid(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task = offered()
    assert {name: task[name] for name in ("points", "points_channel", "credit_reward")} == {
        "points": "2.5",
        "points_channel": "task",
        "credit_reward": 0,
    }
    assert (task["status"], task["progress"], task["credit_on_approval"]) == (
        "open",
        {"furthest": "open"},
        50,
    )
    made = claimed(crowded, agents[0], task["id"])
    assert made.status_code == 201, made.text
    assert (made.json()["status"], made.json()["expires_at"]) == (
        "claimed",
        instant_text(deps.clock() + timedelta(hours=24)),
    )
    filed = crowded.post(
        "/tasks/submit-proof", json=done(deps, task["id"]), headers=agents[0]["headers"]
    )
    assert (filed.status_code, filed.json()["status"]) == (201, "submitted")
    decided = verdict(crowded, operator, made.json()["claim_id"])
    assert (decided.status_code, decided.json()["status"], decided.json()["points"]) == (
        200,
        "paid",
        "2.5",
    )
    assert holds(deps, agents[0]) == (50, 0, 0)
    shown = crowded.get(f"/tasks/{task['id']}").json()
    assert (shown["status"], shown["progress"], shown["participants_total"]) == (
        "settled",
        {"furthest": "paid"},
        1,
    )
    assert [(one["user_id"], one["stage"]) for one in shown["proofs"]] == [
        (agents[0]["id"], "paid")
    ]
    own = crowded.get("/tasks/my/claims", headers=agents[0]["headers"]).json()
    assert own == {"claims": [decided.json()], "next_cursor": None}
    with deps.database.read() as session:
        assert verified_claims(session, [agents[0]["id"]]) == {agents[0]["id"]: 1}
        kinds = session.scalars(select(EarnFeedRow.kind).order_by(EarnFeedRow.id)).all()
        assert kinds == ["task_claimed", "task_submitted", "paid", "task_verified"]
        assert sum(trial_balance(session).values()) == 0


def test_a_queued_award__is_points_recorded_until_it_is_paid(
    limited: Limit, deps: Deps, operator: dict[str, str]
) -> None:
    client = limited(new_account_payout_credits_per_day=20)
    who = agent(client)
    task = client.post("/admin/tasks", json=TRANSLATION, headers=operator).json()
    made = claimed(client, who, task["id"]).json()
    client.post("/tasks/submit-proof", json=done(deps, task["id"]), headers=who["headers"])
    assert verdict(client, operator, made["claim_id"]).json()["status"] == "points_recorded"
    shown = client.get(f"/tasks/{task['id']}").json()
    assert shown["progress"] == {"furthest": "points_recorded"}
    with deps.database.read() as session:
        assert views.stage_counts(session, [who["id"]]) == {
            "submitted": 0,
            "reproduced": 1,
            "re_observed": 0,
            "no_record_on_file": 0,
            "points_recorded": 1,
            "paid": 0,
            "rejected": 0,
        }


def test_a_rejected_proof__opens_the_task_for_others_alone(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    made = claimed(crowded, agents[0], task_id).json()
    crowded.post("/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"])
    assert verdict(crowded, operator, made["claim_id"], "rejected").json()["status"] == "rejected"
    assert crowded.get(f"/tasks/{task_id}").json()["status"] == "open"
    assert named(claimed(crowded, agents[0], task_id)) == (409, "already_claimed")
    assert claimed(crowded, agents[1], task_id).status_code == 201
    assert holds(deps, agents[0]) == (0, 0, 0)


def test_a_reversed_verdict__takes_points_and_standing_back_and_opens_the_task(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    made = claimed(crowded, agents[0], task_id).json()
    crowded.post("/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"])
    verdict(crowded, operator, made["claim_id"])
    assert verdict(crowded, operator, made["claim_id"], "reversed").json()["status"] == "rejected"
    assert holds(deps, agents[0]) == (50, 0, 50)
    assert crowded.get(f"/tasks/{task_id}").json()["status"] == "open"
    with deps.database.read() as session:
        assert verified_claims(session, [agents[0]["id"]]) == {agents[0]["id"]: 0}
    again = verdict(crowded, operator, made["claim_id"], "reversed")
    assert named(again) == (409, "wrong_status")
