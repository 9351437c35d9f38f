"""How many tasks one holds at once, and what a claim that lapsed costs: else one agent would hold all
of them, for nothing and for good.
"""

from datetime import timedelta
from typing import Any

from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from api.areas.tasks.rules import ClaimBounds, TaskFault, TaskRefusedError
from api.areas.tasks.writes.claims import Claimant, claim
from tests.integration.api.conftest import login
from tests.integration.api.tasks.conftest import Market, agent, at_address, named


def hold(market: Market, who: dict[str, Any], count: int) -> list[Any]:
    """The answers to as many claims, each of a task of its own."""
    return [market.claim(who, market.offer()["id"]) for _ in range(count)]


def test_a_person__holds_five_tasks_at_once(market: Market) -> None:
    made = hold(market, market.agents[0], 5)
    assert [answer.status_code for answer in made] == [201] * 5
    task_id = market.offer()["id"]
    before = market.written()
    refused = market.claim(market.agents[0], task_id)
    assert (named(refused), refused.json()["detail"]) == (
        (409, "too_many_claims"),
        (
            "You hold 5 tasks, the most at once; file the proofs, or wait until one is decided or "
            "expires."
        ),
    )
    assert market.written() == before
    assert market.claim(market.agents[1], task_id).status_code == 201


def test_a_proof__holds_the_task_until_it_is_decided(market: Market) -> None:
    first = hold(market, market.agents[0], 5)[0].json()
    market.finish(market.agents[0], first["task_id"])
    task_id = market.offer()["id"]
    assert named(market.claim(market.agents[0], task_id)) == (409, "too_many_claims")
    market.decide(first["claim_id"], "rejected")
    assert market.claim(market.agents[0], task_id).status_code == 201


def test_the_agents_of_an_owner__hold_five_together(market: Market, wallet: LocalAccount) -> None:
    session = login(market.client, wallet)
    one, other = agent(market.client, session), agent(market.client, session)
    hold(market, one, 3)
    answers = hold(market, other, 3)
    assert [answer.status_code for answer in answers] == [201, 201, 409]


def test_the_unowned_agents_of_an_address__hold_ten_together(market: Market) -> None:
    swarm = [agent(market.client, at_address(99)) for _ in range(3)]
    for who in swarm[:2]:
        hold(market, who, 5)
    refused = market.claim(swarm[2], market.offer()["id"])
    assert refused.json()["detail"].startswith("The agents of your network address hold 10 tasks")
    assert hold(market, market.agents[0], 1)[0].status_code == 201


def test_the_unowned_agents_of_a_funding_wallet__hold_ten_together(market: Market) -> None:
    market.fund(market.agents[:3])
    task_ids = [market.offer()["id"] for _ in range(3)]
    bounds = ClaimBounds(of_person=5, of_address=2)
    faults = list[TaskFault]()
    for who, task_id in zip(market.agents[:3], task_ids, strict=True):
        by = Claimant(who["id"], f"agent:{who['id']}")
        with market.deps.database.write() as session:
            try:
                claim(session, task_id, by, 0, timedelta(hours=24), market.deps.clock(), bounds)
            except TaskRefusedError as refused:
                faults.append(refused.fault)
    assert faults == [TaskFault.TOO_MANY_CLAIMS]


def test_a_re_observation__admits_whoever_holds_five(market: Market) -> None:
    hold(market, market.agents[0], 5)
    for entry_id in range(100, 107):
        task_id = market.open_reobservation(market.agents[1], entry_id)
        assert market.claim(market.agents[0], task_id).status_code == 201
        assert market.prove(market.agents[0], task_id).status_code == 201


def test_a_claim_that_ran_out_of_time__counts_no_more_before_the_job_runs(market: Market) -> None:
    hold(market, market.agents[0], 5)
    market.clock.pass_(hours=24)
    assert market.claim(market.agents[0], market.offer()["id"]).status_code == 201


def test_who_let_a_task_lapse__claims_it_again_after_24_hours(market: Market) -> None:
    task_id = market.offer()["id"]
    market.claim(market.agents[0], task_id)
    market.clock.pass_(hours=24)
    for _ in range(2):  # before the job has run, and after it
        before = market.written()
        refused = market.claim(market.agents[0], task_id)
        assert named(refused) == (409, "claim_lapsed")
        assert market.written() == before
        market.run_job()
    assert refused.json()["detail"] == (
        f"A claim of yours or of your group let task {task_id} lapse; claim it again from 2026-11-23T12:00:00Z on."
    )
    market.clock.pass_(hours=24, seconds=-1)
    assert named(market.claim(market.agents[0], task_id)) == (409, "claim_lapsed")
    market.clock.pass_(seconds=1)
    assert market.claim(market.agents[0], task_id).status_code == 201


def test_counts_of_held_tasks__read_an_index_however_many_there_are(market: Market) -> None:
    with market.deps.database.write() as session:
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
