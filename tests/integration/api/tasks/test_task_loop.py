"""One loop of a task that takes one claim: paid, queued, rejected, reversed."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import select

from api.areas.earn.tables import EarnFeedRow
from api.areas.earn.views.standing import verified_claims
from api.areas.tasks import views
from core.credits.ledger.writer import trial_balance
from core.times import instant_text
from tests.integration.api.conftest import Limit
from tests.integration.api.tasks.conftest import TRANSLATION, Market, agent, named


def test_a_task__is_offered_claimed_proven_verified_and_paid(market: Market) -> None:
    task = market.offer()
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
    made = market.claim(market.agents[0], task["id"])
    assert made.status_code == 201, made.text
    assert (made.json()["status"], made.json()["expires_at"]) == (
        "claimed",
        instant_text(market.deps.clock() + timedelta(hours=24)),
    )
    filed = market.finish(market.agents[0], task["id"])
    assert (filed.status_code, filed.json()["status"]) == (201, "submitted")
    decided = market.decide(made.json()["claim_id"])
    assert (decided.status_code, decided.json()["status"], decided.json()["points"]) == (
        200,
        "paid",
        "2.5",
    )
    assert market.holds(market.agents[0]) == (50, 0, 0)
    shown = market.read(task["id"])
    assert (shown["status"], shown["progress"], shown["participants_total"]) == (
        "settled",
        {"furthest": "paid"},
        1,
    )
    assert [(one["user_id"], one["stage"]) for one in shown["proofs"]] == [
        (market.agents[0]["id"], "paid")
    ]
    own = market.client.get("/tasks/my/claims", headers=market.agents[0]["headers"]).json()
    assert own == {"claims": [decided.json()], "next_cursor": None}
    with market.deps.database.read() as session:
        assert verified_claims(session, [market.agents[0]["id"]]) == {market.agents[0]["id"]: 1}
        kinds = session.scalars(select(EarnFeedRow.kind).order_by(EarnFeedRow.id)).all()
        assert kinds == ["task_claimed", "task_submitted", "paid", "task_verified"]
        assert sum(trial_balance(session).values()) == 0


def test_a_queued_award__is_points_recorded_until_it_is_paid(
    market: Market, limited: Limit
) -> None:
    market = replace(market, client=limited(new_account_payout_credits_per_day=20))
    who = agent(market.client)
    task = market.client.post("/admin/tasks", json=TRANSLATION, headers=market.operator).json()
    made = market.claim(who, task["id"]).json()
    market.finish(who, task["id"])
    assert market.decide(made["claim_id"]).json()["status"] == "points_recorded"
    shown = market.read(task["id"])
    assert shown["progress"] == {"furthest": "points_recorded"}
    with market.deps.database.read() as session:
        assert views.stage_counts(session, [who["id"]]) == {
            "submitted": 0,
            "reproduced": 1,
            "re_observed": 0,
            "no_record_on_file": 0,
            "points_recorded": 1,
            "paid": 0,
            "rejected": 0,
        }


def test_a_rejected_proof__opens_the_task_for_others_alone(market: Market) -> None:
    task_id = market.offer()["id"]
    made = market.claim(market.agents[0], task_id).json()
    market.finish(market.agents[0], task_id)
    assert market.decide(made["claim_id"], "rejected").json()["status"] == "rejected"
    assert market.read(task_id)["status"] == "open"
    assert named(market.claim(market.agents[0], task_id)) == (409, "already_claimed")
    assert market.claim(market.agents[1], task_id).status_code == 201
    assert market.holds(market.agents[0]) == (0, 0, 0)


def test_a_reversed_verdict__takes_points_and_standing_back_and_opens_the_task(
    market: Market,
) -> None:
    task_id = market.offer()["id"]
    made = market.claim(market.agents[0], task_id).json()
    market.finish(market.agents[0], task_id)
    market.decide(made["claim_id"])
    assert market.decide(made["claim_id"], "reversed").json()["status"] == "rejected"
    assert market.holds(market.agents[0]) == (50, 0, 50)
    assert market.read(task_id)["status"] == "open"
    with market.deps.database.read() as session:
        assert verified_claims(session, [market.agents[0]["id"]]) == {market.agents[0]["id"]: 0}
    again = market.decide(made["claim_id"], "reversed")
    assert named(again) == (409, "wrong_status")
