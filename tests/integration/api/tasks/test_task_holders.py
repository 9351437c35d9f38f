"""How many tasks one holds at once, and what a claim that lapsed costs: else one agent would hold all
of them, for nothing and for good.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from eth_account.signers.local import LocalAccount
from sqlalchemy import text
from starlette.testclient import TestClient

from api.areas.tasks import jobs as job
from api.kernel.operation import Deps
from core.tasks.claims import Claimant, claim
from core.tasks.rules import ClaimBounds, TaskFault, TaskRefusedError
from tests.integration.api.conftest import Clock, login
from tests.integration.api.tasks.conftest import (
    agent,
    at_address,
    claimed,
    done,
    named,
    open_reobservation,
    owned_pair,
    place,
    prove,
    verdict,
    written,
)
from tests.integration.core.earn.people import fund

Offer = Callable[..., dict[str, Any]]


def hold(client: TestClient, offered: Offer, who: dict[str, Any], count: int) -> list[Any]:
    """The answers to as many claims, each of a task of its own."""
    return [claimed(client, who, offered()["id"]) for _ in range(count)]


def test_a_person__holds_five_tasks_at_once(
    crowded: TestClient, deps: Deps, offered: Offer, agents: list[dict[str, Any]]
) -> None:
    made = hold(crowded, offered, agents[0], 5)
    assert [answer.status_code for answer in made] == [201] * 5
    task_id = offered()["id"]
    before = written(deps)
    refused = claimed(crowded, agents[0], task_id)
    assert (named(refused), refused.json()["detail"]) == (
        (409, "too_many_claims"),
        (
            "You hold 5 tasks, the most at once; file the proofs, or wait until one is decided or "
            "expires."
        ),
    )
    assert written(deps) == before
    assert claimed(crowded, agents[1], task_id).status_code == 201


def test_a_proof__holds_the_task_until_it_is_decided(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Offer,
    agents: list[dict[str, Any]],
) -> None:
    first = hold(crowded, offered, agents[0], 5)[0].json()
    body = done(deps, first["task_id"])
    crowded.post("/tasks/submit-proof", json=body, headers=agents[0]["headers"])
    task_id = offered()["id"]
    assert named(claimed(crowded, agents[0], task_id)) == (409, "too_many_claims")
    verdict(crowded, operator, first["claim_id"], "rejected")
    assert claimed(crowded, agents[0], task_id).status_code == 201


def test_the_agents_of_an_owner__hold_five_together(
    crowded: TestClient, offered: Offer, wallet: LocalAccount
) -> None:
    session = login(crowded, wallet)
    one, other = agent(crowded, session), agent(crowded, session)
    hold(crowded, offered, one, 3)
    answers = hold(crowded, offered, other, 3)
    assert [answer.status_code for answer in answers] == [201, 201, 409]


def test_the_unowned_agents_of_an_address__hold_ten_together(
    crowded: TestClient, offered: Offer, agents: list[dict[str, Any]]
) -> None:
    swarm = [agent(crowded, at_address(99)) for _ in range(3)]
    for who in swarm[:2]:
        hold(crowded, offered, who, 5)
    refused = claimed(crowded, swarm[2], offered()["id"])
    assert refused.json()["detail"].startswith("The agents of your network address hold 10 tasks")
    assert hold(crowded, offered, agents[0], 1)[0].status_code == 201


def test_the_unowned_agents_of_a_funding_wallet__hold_ten_together(
    deps: Deps, offered: Offer, agents: list[dict[str, Any]]
) -> None:
    with deps.database.write() as session:
        for number, who in enumerate(agents[:3], 1):
            fund(session, who["id"], "0x01", number)
    task_ids = [offered()["id"] for _ in range(3)]
    bounds = ClaimBounds(of_person=5, of_address=2)
    faults = list[TaskFault]()
    for who, task_id in zip(agents[:3], task_ids, strict=True):
        by = Claimant(who["id"], f"agent:{who['id']}")
        with deps.database.write() as session:
            try:
                claim(session, task_id, by, 0, timedelta(hours=24), deps.clock(), bounds)
            except TaskRefusedError as refused:
                faults.append(refused.fault)
    assert faults == [TaskFault.TOO_MANY_CLAIMS]


def test_a_re_observation__admits_whoever_holds_five(
    crowded: TestClient, deps: Deps, offered: Offer, agents: list[dict[str, Any]]
) -> None:
    hold(crowded, offered, agents[0], 5)
    for entry_id in range(100, 107):
        task_id = open_reobservation(deps, agents[1], entry_id)
        assert claimed(crowded, agents[0], task_id).status_code == 201
        assert prove(crowded, deps, agents[0], task_id).status_code == 201


def test_a_claim_that_ran_out_of_time__counts_no_more_before_the_job_runs(
    crowded: TestClient, clock: Clock, offered: Offer, agents: list[dict[str, Any]]
) -> None:
    hold(crowded, offered, agents[0], 5)
    clock.pass_(hours=24)
    assert claimed(crowded, agents[0], offered()["id"]).status_code == 201


def test_who_let_a_task_lapse__claims_it_again_after_24_hours(
    crowded: TestClient, deps: Deps, clock: Clock, offered: Offer, agents: list[dict[str, Any]]
) -> None:
    task_id = offered()["id"]
    claimed(crowded, agents[0], task_id)
    clock.pass_(hours=24)
    for _ in range(2):  # before the job has run, and after it
        before = written(deps)
        refused = claimed(crowded, agents[0], task_id)
        assert named(refused) == (409, "claim_lapsed")
        assert written(deps) == before
        job.run(place(deps), clock.now)
    assert refused.json()["detail"] == (
        f"A claim of yours or of your group let task {task_id} lapse; claim it again from 2026-11-23T12:00:00Z on."
    )
    clock.pass_(hours=24, seconds=-1)
    assert named(claimed(crowded, agents[0], task_id)) == (409, "claim_lapsed")
    clock.pass_(seconds=1)
    assert claimed(crowded, agents[0], task_id).status_code == 201


def test_who_let_a_task_lapse__is_a_person_whichever_of_its_agents_claims(
    crowded: TestClient,
    clock: Clock,
    offered: Offer,
    wallet: LocalAccount,
    agents: list[dict[str, Any]],
) -> None:
    one, other = owned_pair(crowded, wallet)
    task_id = offered()["id"]
    claimed(crowded, one, task_id)
    clock.pass_(hours=24)
    assert named(claimed(crowded, other, task_id)) == (409, "claim_lapsed")
    assert claimed(crowded, agents[0], task_id).status_code == 201


def test_counts_of_held_tasks__read_an_index_however_many_there_are(deps: Deps) -> None:
    with deps.database.write() as session:
        session.execute(text("set local enable_seqscan = off"))
        session.execute(text("drop index uq_task_claim_held"))  # the shorter way in an empty table
        plan = session.scalars(
            text(
                "explain select 1 from task_claim where groups @> '{x}' and is_exclusive "
                "and stage in ('claimed','submitted') limit 5"
            )
        ).all()
        session.rollback()
    assert "ix_task_claim_held_groups" in " ".join(plan)
