"""What time ends, and bonds."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from api.areas.tasks import jobs as job
from api.kernel.jobs import area_jobs
from api.kernel.operation import Deps
from core.tasks.rules import Truth
from tests.integration.api.conftest import Clock
from tests.integration.api.tasks.conftest import (
    claimed,
    done,
    give,
    holds,
    named,
    open_reobservation,
    place,
    prove,
    review,
    stages,
    verdict,
    written,
)


def test_a_claim_without_a_proof__expires_after_24_hours_and_the_task_opens_again(
    crowded: TestClient,
    deps: Deps,
    clock: Clock,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    claimed(crowded, agents[0], task_id)
    clock.pass_(hours=23, minutes=59, seconds=59)
    assert named(claimed(crowded, agents[1], task_id)) == (409, "already_claimed")
    clock.pass_(seconds=1)
    assert crowded.get(f"/tasks/{task_id}").json()["status"] == "open"
    late = crowded.post(
        "/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"]
    )
    assert named(late) == (409, "claim_expired")
    assert claimed(crowded, agents[1], task_id).status_code == 201  # nobody waits for the job
    assert stages(deps, task_id) == [("expired", 0), ("claimed", 0)]
    late = crowded.post(
        "/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"]
    )
    assert named(late) == (409, "claim_expired")


def test_a_proof__one_second_before_the_end_counts(
    crowded: TestClient,
    deps: Deps,
    clock: Clock,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    claimed(crowded, agents[0], task_id)
    clock.pass_(hours=23, minutes=59, seconds=59)
    filed = crowded.post(
        "/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"]
    )
    assert filed.status_code == 201
    clock.pass_(hours=24)
    assert job.run(place(deps), clock.now) == {"ended": 0}  # it waits for its verdict


def test_the_job__lets_claims_expire_and_closing_tasks_settle(
    crowded: TestClient,
    deps: Deps,
    clock: Clock,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    assert "tasks" in {one.name for one in area_jobs()}
    held = offered()["id"]
    claimed(crowded, agents[0], held)
    task_id = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], task_id)
    review(deps, Truth.MATCH)
    clock.pass_(hours=24, seconds=-1)
    assert job.run(place(deps), clock.now) == {"ended": 0}
    clock.pass_(seconds=1)
    assert job.run(place(deps), clock.now) == {"ended": 2}
    assert job.run(place(deps), clock.now) == {"ended": 0}
    assert [one["id"] for one in crowded.get("/tasks/browse").json()["tasks"]] == [held]
    assert stages(deps, task_id) == [("expired", 0)]
    settled = crowded.get(f"/tasks/{task_id}").json()
    assert (settled["status"], settled["participants_total"]) == ("settled", 0)


@pytest.mark.usefixtures("guarded")
def test_from_level_2_on__a_claim_locks_a_bond_which_is_given_back(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    before = written(deps)
    refused = claimed(crowded, agents[0], task_id)
    assert (refused.status_code, refused.json()["service"]["credit"]) == (
        402,
        {"needed": 20, "available": 0, "shortfall": 20},
    )
    assert "accepts" not in refused.json()
    assert written(deps) == before
    give(deps, agents[0], 20)
    made = claimed(crowded, agents[0], task_id).json()
    assert (made["bond_credits"], made["bond_held"], holds(deps, agents[0])) == (
        20,
        True,
        (0, 20, 0),
    )
    crowded.post("/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"])
    decided = verdict(crowded, operator, made["claim_id"], "rejected").json()
    assert (decided["bond_held"], holds(deps, agents[0])) == (False, (20, 0, 0))


@pytest.mark.usefixtures("guarded")
def test_a_bond__comes_back_when_the_claim_expires_or_the_review_ends(
    crowded: TestClient,
    deps: Deps,
    clock: Clock,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    for who in agents[:3]:
        give(deps, who, 20)
    claimed(crowded, agents[0], offered()["id"])
    task_id = open_reobservation(deps, agents[8])
    for who in agents[1:3]:
        claimed(crowded, who, task_id)
    prove(crowded, deps, agents[1], task_id)
    review(deps, Truth.VOID)
    assert [holds(deps, who) for who in agents[:3]] == [(0, 20, 0), (20, 0, 0), (0, 20, 0)]
    prove(crowded, deps, agents[2], task_id)  # evidence
    assert holds(deps, agents[2]) == (20, 0, 0)
    clock.pass_(hours=24)
    assert job.run(place(deps), clock.now) == {"ended": 1}
    assert holds(deps, agents[0]) == (20, 0, 0)


@pytest.mark.usefixtures("guarded")
def test_with_standing__a_claim_locks_nothing(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    with deps.database.write() as session:
        session.execute(
            text("insert into earn_standing values (:id, 3)").bindparams(id=agents[0]["id"])
        )
    assert claimed(crowded, agents[0], offered()["id"]).json()["bond_credits"] == 0


def test_a_task_that_cannot_end__keeps_no_other_from_it(
    crowded: TestClient,
    deps: Deps,
    clock: Clock,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    broken, sound = offered()["id"], offered()["id"]
    claimed(crowded, agents[0], broken)
    claimed(crowded, agents[1], sound)
    with deps.database.write() as session:  # a bond that the credit ledger does not know
        bond = text(
            "update task_claim set is_bond_held = true, bond_credits = 20 where task_id = :id"
        )
        session.execute(bond, {"id": broken})
    clock.pass_(hours=24)
    did = job.run(place(deps), clock.now)
    assert did["ended"] == 1
    assert "1 of 2" in did["attention"]
    assert stages(deps, sound) == [("expired", 0)]
