"""Re-observations and what the review of their values settles."""

from datetime import timedelta

from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from api.areas.earn.tables import EarnFeedRow
from api.areas.earn.views.standing import verified_claims
from api.areas.tasks.rules import Truth
from api.areas.tasks.tables import TaskReview
from api.areas.tasks.writes import market as reviews
from core.credits.ledger.writer import trial_balance
from core.identity.tables import Account
from core.times import instant_text
from tests.integration.api.conftest import login
from tests.integration.api.tasks.conftest import ENTRY, Market, named, owned_pair


def test_a_re_observation__pays_the_first_five_and_charges_the_wrong_ones(market: Market) -> None:
    task_id = market.open_reobservation(market.agents[0])
    words = ["mismatch", *["match"] * 6, "unverifiable"]
    for who, word in zip(market.agents[1:], words, strict=True):
        assert market.claim(who, task_id).status_code == 201
        assert market.prove(who, task_id, verdict=word).status_code == 201
    assert market.read(task_id)["progress"] == {"furthest": "submitted"}
    market.review(Truth.MATCH)
    assert market.stages(task_id) == [
        ("rejected", -30),
        *[("points_recorded", 30)] * 5,
        ("verified", 0),
        ("void", 0),
    ]
    assert [market.holds(who) for who in market.agents] == [
        (0, 0, 0),
        (0, 0, 60),
        *[(60, 0, 0)] * 5,
        (0, 0, 0),
        (0, 0, 0),
    ]
    with market.deps.database.read() as session:
        counted = verified_claims(session, [who["id"] for who in market.agents])
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
    shown = market.read(task_id)
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


def test_an_agent_that_gets_an_owner_before_the_review__shares_its_owners_place(
    market: Market, wallet: LocalAccount
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    pair = owned_pair(market.client, wallet)
    for who in [pair[0], market.agents[1]]:
        market.claim(who, task_id)
        assert market.prove(who, task_id).status_code == 201
    with market.deps.database.write() as session:
        owner_id = session.get_one(Account, pair[0]["id"]).owner_id
        session.get_one(Account, market.agents[1]["id"]).owner_id = owner_id
    market.review(Truth.MATCH)
    assert market.stages(task_id) == [("points_recorded", 30), ("verified", 0)]


def test_a_review_that_ends_twice__pays_once(market: Market) -> None:
    task_id = market.open_reobservation(market.agents[0])
    market.claim(market.agents[1], task_id)
    market.prove(market.agents[1], task_id)
    market.review(Truth.MATCH)
    before = market.written()
    market.review(Truth.MISMATCH)
    assert market.written() == before


def test_evidence_after_the_verdict__pays_nothing_and_the_last_one_settles_the_task(
    market: Market,
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    for who in market.agents[1:4]:
        market.claim(who, task_id)
    market.prove(market.agents[1], task_id)
    market.review(Truth.MATCH)
    closing = market.read(task_id)
    assert (closing["status"], closing["settles_at"]) == (
        "closing",
        instant_text(market.clock.now + timedelta(hours=24)),
    )
    assert closing["proofs"] == []  # still hidden
    market.clock.pass_(hours=23, minutes=59, seconds=59)
    for who, word in ((market.agents[2], "match"), (market.agents[3], "mismatch")):
        filed = market.prove(who, task_id, verdict=word).json()
        assert (filed["status"], filed["points"], filed["proof"]["is_evidence"]) == (
            "void",
            "0.0",
            True,
        )
        assert market.holds(who) == (0, 0, 0)
    settled = market.read(task_id)
    assert (settled["status"], len(settled["proofs"])) == ("settled", 3)
    again = market.prove(market.agents[4], task_id)
    assert named(again) == (409, "not_claimed")


def test_a_closing_task_whose_time_is_up__reads_as_settled_before_the_job_runs(
    market: Market,
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    for who in market.agents[1:3]:
        market.claim(who, task_id)
    market.prove(market.agents[1], task_id)
    market.review(Truth.MATCH)
    market.clock.pass_(hours=24)
    shown = market.read(task_id)
    assert (shown["status"], len(shown["proofs"])) == ("settled", 1)


def test_a_reversed_review__takes_pay_debts_and_standing_back_once(market: Market) -> None:
    task_id = market.open_reobservation(market.agents[0])
    for who, word in zip(market.agents[1:4], ["match", "mismatch", "unverifiable"], strict=True):
        market.claim(who, task_id)
        market.prove(who, task_id, verdict=word)
    market.review(Truth.MATCH)
    for _ in range(2):
        with market.deps.database.write() as session:
            reviews.review_reversed(session, ENTRY, market.deps.clock())
        assert market.stages(task_id) == [("void", 0)] * 3
        assert [market.holds(who) for who in market.agents[1:4]] == [
            (60, 0, 60),
            (0, 0, 0),
            (0, 0, 0),
        ]
    with market.deps.database.read() as session:
        assert verified_claims(session, [market.agents[1]["id"]]) == {market.agents[1]["id"]: 0}
        assert sum(trial_balance(session).values()) == 0
    assert market.read(task_id)["truth"] == "void"


def test_other_peoples_verdicts__stay_hidden_until_the_task_has_settled(
    market: Market, wallet: LocalAccount
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    for who in market.agents[1:3]:
        market.claim(who, task_id)
        market.prove(who, task_id)
    path = f"/tasks/{task_id}"
    shown = market.client.get(path).json()
    assert (shown["proofs"], shown["proofs_total"], shown["truth"]) == ([], 2, None)
    assert market.client.get(path, headers=login(market.client, wallet)).json()["proofs"] == []
    mine = market.client.get(path, headers=market.agents[1]["headers"]).json()["proofs"]
    assert [one["user_id"] for one in mine] == [market.agents[1]["id"]]
    market.review(Truth.MATCH)
    both = market.client.get(path).json()["proofs"]
    assert [one["user_id"] for one in both] == [market.agents[1]["id"], market.agents[2]["id"]]
