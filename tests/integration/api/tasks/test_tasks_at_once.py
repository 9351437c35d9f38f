"""Calls of the market twice and at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from api.areas.tasks.rules import TaskFault, TaskRefusedError, Truth
from api.areas.tasks.tables import Task, TaskClaim
from api.areas.tasks.writes.claims import Claimant, claim
from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.writer import trial_balance
from core.credits.tables import CreditEntry
from core.db.engine import WriteSession
from core.identity.tables import Account
from tests.integration.api.tasks.conftest import Market


def claim_at_once(deps: Deps, task_id: int, agent_ids: list[int]) -> list[str]:
    """What each of them got, all at once."""

    def attempt(agent_id: int) -> str:
        with deps.database.write() as session:
            by = Claimant(agent_id, f"agent:{agent_id}")
            try:
                claim(session, task_id, by, 0, timedelta(hours=24), deps.clock())
            except TaskRefusedError as refused:
                return refused.fault.value
        return "claimed"

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(attempt, agent_ids))


def many(session: WriteSession, deps: Deps, count: int) -> list[int]:
    rows = [Account(kind="agent", name="quant", created_at=deps.clock()) for _ in range(count)]
    session.add_all(rows)
    session.flush()
    return [row.id for row in rows]


@pytest.mark.slow
def test_of_64_claims_at_once__an_exclusive_task_takes_one_and_a_re_observation_all(
    market: Market,
) -> None:
    with market.deps.database.write() as session:
        ids = many(session, market.deps, 64)
    exclusive = claim_at_once(market.deps, market.offer()["id"], ids)
    assert (exclusive.count("claimed"), exclusive.count(TaskFault.ALREADY_CLAIMED)) == (1, 63)
    task_id = market.open_reobservation(market.agents[0])
    assert claim_at_once(market.deps, task_id, ids) == ["claimed"] * 64
    with market.deps.database.read() as session:
        task = session.get_one(Task, task_id)
        assert (task.open_claims, task.participants) == (64, 64)


def test_of_claims_of_one_agent_at_once__as_many_hold_tasks_as_a_person_may(market: Market) -> None:
    tasks = [market.offer()["id"] for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda task_id: market.claim(market.agents[0], task_id), tasks))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), statuses.count(409)) == (5, 7)
    with market.deps.database.read() as session:
        held = select(func.count()).select_from(Task).where(Task.state == "held")
        assert session.scalar(held) == 5


@pytest.mark.usefixtures("guarded")
@pytest.mark.slow
def test_reviews_verdicts_and_claims_at_once__neither_wait_for_each_other_nor_lose_a_credit(
    market: Market,
) -> None:
    entries = range(100, 106)
    for who in market.agents:
        market.give(who, 400)
    tasks = {entry: market.open_reobservation(market.agents[0], entry) for entry in entries}
    for task_id in tasks.values():
        for who in market.agents[1:7]:
            market.claim(who, task_id)
            market.prove(who, task_id)
    more = [market.offer()["id"] for _ in range(6)]

    def decide(entry: int) -> None:
        market.review(Truth.MATCH if entry % 2 else Truth.MISMATCH, entry)

    def take(task_id: int) -> None:
        market.claim(market.agents[7], task_id)

    with ThreadPoolExecutor(12) as pool:
        running = [pool.submit(decide, entry) for entry in entries]
        running += [pool.submit(take, task_id) for task_id in (*more, *tasks.values())]
        for one in running:
            one.result(timeout=60)
    with market.deps.database.read() as session:
        assert sum(trial_balance(session).values()) == 0
        states = session.scalars(select(Task.state).where(Task.category == "reobserve")).all()
        assert set(states) <= {"settled", "closing"}
        for who in market.agents:
            assert credit_ledger.verify(session, who["id"]) == []
        right = session.scalar(select(func.count()).where(TaskClaim.stage == "points_recorded"))
        assert right == 3 * 5
        entries_of = select(func.count()).where(CreditEntry.kind == "release")
        assert session.scalar(entries_of) == 6 * 6
