"""Re-observations and what the review of their values settles."""

from datetime import timedelta
from typing import Any

from eth_account.signers.local import LocalAccount
from sqlalchemy import select
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.credits.ledger.writer import trial_balance
from core.earn.standing import verified_claims
from core.earn.tables import EarnFeedRow
from core.identity.tables import Account
from core.tasks import market
from core.tasks.rules import Truth
from core.tasks.tables import TaskReview
from core.times import instant_text
from tests.integration.api.conftest import Clock, login
from tests.integration.api.tasks.conftest import (
    ENTRY,
    agent,
    at_address,
    claimed,
    holds,
    named,
    open_reobservation,
    owned_pair,
    prove,
    review,
    stages,
    written,
)


def test_a_re_observation__pays_the_first_five_and_charges_the_wrong_ones(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    words = ["mismatch", *["match"] * 6, "unverifiable"]
    for who, word in zip(agents[1:], words, strict=True):
        assert claimed(crowded, who, task_id).status_code == 201
        assert prove(crowded, deps, who, task_id, verdict=word).status_code == 201
    assert crowded.get(f"/tasks/{task_id}").json()["progress"] == {"furthest": "submitted"}
    review(deps, Truth.MATCH)
    assert stages(deps, task_id) == [
        ("rejected", -30),
        *[("points_recorded", 30)] * 5,
        ("verified", 0),
        ("void", 0),
    ]
    assert [holds(deps, who) for who in agents] == [
        (0, 0, 0),
        (0, 0, 60),
        *[(60, 0, 0)] * 5,
        (0, 0, 0),
        (0, 0, 0),
    ]
    with deps.database.read() as session:
        counted = verified_claims(session, [who["id"] for who in agents])
        assert list(counted.values()) == [0, 0, 1, 1, 1, 1, 1, 1, 0]
        row = session.scalars(select(TaskReview)).one()
        assert (row.event, row.truth, row.granted_tenths, row.owed_tenths) == (
            "ended",
            "match",
            150,
            30,
        )
        settled = session.execute(
            select(EarnFeedRow.tenths, EarnFeedRow.credits)
            .where(EarnFeedRow.kind == "reobserve_settled")
            .order_by(EarnFeedRow.id)
        ).all()
        assert settled == [(None, None), *[(30, 60)] * 5, (0, 0), (None, None)]
        assert sum(trial_balance(session).values()) == 0
    shown = crowded.get(f"/tasks/{task_id}").json()
    assert (shown["status"], shown["truth"], shown["progress"]) == (
        "settled",
        "match",
        {"furthest": "paid"},
    )
    assert [one["points"] for one in shown["proofs"]] == [
        "-3.0",
        *["3.0"] * 5,
        "0.0",
        "0.0",
    ]


def test_agents_of_one_address__take_one_of_the_paid_places(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    """One that registers at the same address first would else take all five, risk-free."""
    task_id = open_reobservation(deps, agents[0])
    swarm = [agent(crowded, at_address(99)) for _ in range(5)]
    lone = [agent(crowded, at_address(99)), *agents[1:4]]
    words = ["match"] * 5 + ["mismatch"] + ["match"] * 3
    for who, word in zip([*swarm, *lone], words, strict=True):
        assert claimed(crowded, who, task_id).status_code == 201
        assert prove(crowded, deps, who, task_id, verdict=word).status_code == 201
    review(deps, Truth.MATCH)
    assert stages(deps, task_id) == [
        ("points_recorded", 30),
        *[("verified", 0)] * 4,
        ("rejected", -30),
        *[("points_recorded", 30)] * 3,
    ]
    assert [holds(deps, who) for who in [*swarm, *lone]] == [
        (60, 0, 0),
        *[(0, 0, 0)] * 4,
        (0, 0, 60),
        *[(60, 0, 0)] * 3,
    ]


def test_an_agent_that_gets_an_owner_before_the_review__shares_its_owners_place(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]], wallet: LocalAccount
) -> None:
    task_id = open_reobservation(deps, agents[0])
    pair = owned_pair(crowded, wallet)
    for who in [pair[0], agents[1]]:
        claimed(crowded, who, task_id)
        assert prove(crowded, deps, who, task_id).status_code == 201
    with deps.database.write() as session:
        owner_id = session.get_one(Account, pair[0]["id"]).owner_id
        session.get_one(Account, agents[1]["id"]).owner_id = owner_id
    review(deps, Truth.MATCH)
    assert stages(deps, task_id) == [("points_recorded", 30), ("verified", 0)]


def test_a_review_that_ends_twice__pays_once(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], task_id)
    prove(crowded, deps, agents[1], task_id)
    review(deps, Truth.MATCH)
    before = written(deps)
    review(deps, Truth.MISMATCH)
    assert written(deps) == before


def test_without_a_truth__nobody_is_paid_or_charged(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who, word in zip(agents[1:4], ["match", "mismatch", "unverifiable"], strict=True):
        claimed(crowded, who, task_id)
        prove(crowded, deps, who, task_id, verdict=word)
    review(deps, Truth.VOID)
    assert stages(deps, task_id) == [("void", 0)] * 3
    assert [holds(deps, who) for who in agents[1:4]] == [(0, 0, 0)] * 3


def test_evidence_after_the_verdict__pays_nothing_and_the_last_one_settles_the_task(
    crowded: TestClient, deps: Deps, clock: Clock, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who in agents[1:4]:
        claimed(crowded, who, task_id)
    prove(crowded, deps, agents[1], task_id)
    review(deps, Truth.MATCH)
    closing = crowded.get(f"/tasks/{task_id}").json()
    assert (closing["status"], closing["settles_at"]) == (
        "closing",
        instant_text(clock.now + timedelta(hours=24)),
    )
    assert closing["proofs"] == []  # still hidden
    clock.pass_(hours=23, minutes=59, seconds=59)
    for who, word in ((agents[2], "match"), (agents[3], "mismatch")):
        filed = prove(crowded, deps, who, task_id, verdict=word).json()
        assert (filed["status"], filed["points"], filed["proof"]["is_evidence"]) == (
            "void",
            "0.0",
            True,
        )
        assert holds(deps, who) == (0, 0, 0)
    settled = crowded.get(f"/tasks/{task_id}").json()
    assert (settled["status"], len(settled["proofs"])) == ("settled", 3)
    again = prove(crowded, deps, agents[4], task_id)
    assert named(again) == (409, "not_claimed")


def test_a_closing_task_whose_time_is_up__reads_as_settled_before_the_job_runs(
    crowded: TestClient, deps: Deps, clock: Clock, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who in agents[1:3]:
        claimed(crowded, who, task_id)
    prove(crowded, deps, agents[1], task_id)
    review(deps, Truth.MATCH)
    clock.pass_(hours=24)
    shown = crowded.get(f"/tasks/{task_id}").json()
    assert (shown["status"], len(shown["proofs"])) == ("settled", 1)


def test_a_reversed_review__takes_pay_debts_and_standing_back_once(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who, word in zip(agents[1:4], ["match", "mismatch", "unverifiable"], strict=True):
        claimed(crowded, who, task_id)
        prove(crowded, deps, who, task_id, verdict=word)
    review(deps, Truth.MATCH)
    for _ in range(2):
        with deps.database.write() as session:
            market.review_reversed(session, ENTRY, deps.clock())
        assert stages(deps, task_id) == [("void", 0)] * 3
        assert [holds(deps, who) for who in agents[1:4]] == [(60, 0, 60), (0, 0, 0), (0, 0, 0)]
    with deps.database.read() as session:
        assert verified_claims(session, [agents[1]["id"]]) == {agents[1]["id"]: 0}
        assert sum(trial_balance(session).values()) == 0
    assert crowded.get(f"/tasks/{task_id}").json()["truth"] == "void"


def test_other_peoples_verdicts__stay_hidden_until_the_task_has_settled(
    crowded: TestClient, deps: Deps, wallet: LocalAccount, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who in agents[1:3]:
        claimed(crowded, who, task_id)
        prove(crowded, deps, who, task_id)
    path = f"/tasks/{task_id}"
    shown = crowded.get(path).json()
    assert (shown["proofs"], shown["proofs_total"], shown["truth"]) == ([], 2, None)
    assert crowded.get(path, headers=login(crowded, wallet)).json()["proofs"] == []
    mine = crowded.get(path, headers=agents[1]["headers"]).json()["proofs"]
    assert [one["user_id"] for one in mine] == [agents[1]["id"]]
    review(deps, Truth.MATCH)
    both = crowded.get(path).json()["proofs"]
    assert [one["user_id"] for one in both] == [agents[1]["id"], agents[2]["id"]]
