"""What time ends, and bonds."""

import pytest
from sqlalchemy import text

from api.areas.tasks.rules import Truth
from api.kernel.jobs import area_jobs
from tests.integration.api.tasks.conftest import Market, named


def test_a_claim_without_a_proof__expires_after_24_hours_and_the_task_opens_again(
    market: Market,
) -> None:
    task_id = market.offer()["id"]
    market.claim(market.agents[0], task_id)
    market.clock.pass_(hours=23, minutes=59, seconds=59)
    assert named(market.claim(market.agents[1], task_id)) == (409, "already_claimed")
    market.clock.pass_(seconds=1)
    assert market.read(task_id)["status"] == "open"
    late = market.finish(market.agents[0], task_id)
    assert named(late) == (409, "claim_expired")
    assert market.claim(market.agents[1], task_id).status_code == 201  # nobody waits for the job
    assert market.stages(task_id) == [("expired", 0), ("claimed", 0)]
    late = market.finish(market.agents[0], task_id)
    assert named(late) == (409, "claim_expired")


def test_a_proof__one_second_before_the_end_counts(market: Market) -> None:
    task_id = market.offer()["id"]
    market.claim(market.agents[0], task_id)
    market.clock.pass_(hours=23, minutes=59, seconds=59)
    filed = market.finish(market.agents[0], task_id)
    assert filed.status_code == 201
    market.clock.pass_(hours=24)
    assert market.run_job() == {"ended": 0}  # it waits for its verdict


def test_the_job__lets_claims_expire_and_closing_tasks_settle(market: Market) -> None:
    assert "tasks" in {one.name for one in area_jobs()}
    held = market.offer()["id"]
    market.claim(market.agents[0], held)
    task_id = market.open_reobservation(market.agents[0])
    market.claim(market.agents[1], task_id)
    market.review(Truth.MATCH)
    market.clock.pass_(hours=24, seconds=-1)
    assert market.run_job() == {"ended": 0}
    market.clock.pass_(seconds=1)
    assert market.run_job() == {"ended": 2}
    assert market.run_job() == {"ended": 0}
    assert [one["id"] for one in market.client.get("/tasks/browse").json()["tasks"]] == [held]
    assert market.stages(task_id) == [("expired", 0)]
    settled = market.read(task_id)
    assert (settled["status"], settled["participants_total"]) == ("settled", 0)


@pytest.mark.usefixtures("guarded")
def test_from_level_2_on__a_claim_locks_a_bond_which_is_given_back(market: Market) -> None:
    task_id = market.offer()["id"]
    before = market.written()
    refused = market.claim(market.agents[0], task_id)
    assert (refused.status_code, refused.json()["service"]["credit"]) == (
        402,
        {"needed": 20, "available": 0, "shortfall": 20},
    )
    assert "accepts" not in refused.json()
    assert market.written() == before
    market.give(market.agents[0], 20)
    made = market.claim(market.agents[0], task_id).json()
    assert (made["bond_credits"], made["bond_held"], market.holds(market.agents[0])) == (
        20,
        True,
        (0, 20, 0),
    )
    market.finish(market.agents[0], task_id)
    decided = market.decide(made["claim_id"], "rejected").json()
    assert (decided["bond_held"], market.holds(market.agents[0])) == (False, (20, 0, 0))


@pytest.mark.usefixtures("guarded")
def test_a_bond__comes_back_when_the_claim_expires_or_the_review_ends(market: Market) -> None:
    for who in market.agents[:3]:
        market.give(who, 20)
    market.claim(market.agents[0], market.offer()["id"])
    task_id = market.open_reobservation(market.agents[8])
    for who in market.agents[1:3]:
        market.claim(who, task_id)
    market.prove(market.agents[1], task_id)
    market.review(Truth.VOID)
    assert [market.holds(who) for who in market.agents[:3]] == [(0, 20, 0), (20, 0, 0), (0, 20, 0)]
    market.prove(market.agents[2], task_id)  # evidence
    assert market.holds(market.agents[2]) == (20, 0, 0)
    market.clock.pass_(hours=24)
    assert market.run_job() == {"ended": 1}
    assert market.holds(market.agents[0]) == (20, 0, 0)


@pytest.mark.usefixtures("guarded")
def test_with_standing__a_claim_locks_nothing(market: Market) -> None:
    with market.deps.database.write() as session:
        session.execute(
            text("insert into earn_standing values (:id, 3)").bindparams(id=market.agents[0]["id"])
        )
    assert market.claim(market.agents[0], market.offer()["id"]).json()["bond_credits"] == 0


def test_a_task_that_cannot_end__keeps_no_other_from_it(market: Market) -> None:
    broken, sound = market.offer()["id"], market.offer()["id"]
    market.claim(market.agents[0], broken)
    market.claim(market.agents[1], sound)
    with market.deps.database.write() as session:  # a bond that the credit ledger does not know
        bond = text(
            "update task_claim set is_bond_held = true, bond_credits = 20 where task_id = :id"
        )
        session.execute(bond, {"id": broken})
    market.clock.pass_(hours=24)
    did = market.run_job()
    assert did["ended"] == 1
    assert "1 of 2" in did["attention"]
    assert market.stages(sound) == [("expired", 0)]
