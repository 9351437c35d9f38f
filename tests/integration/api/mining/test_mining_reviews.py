"""Reviews: what an approval pays, what a rejection says, what a reversal takes back."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from api.areas.earn.tables import EarnFeedRow
from api.areas.mining.tables import MiningReview
from core.credits.ledger.writer import trial_balance, verify
from core.db.engine import Database
from core.identity.tables import OperatorNumber
from tests.integration.api.conftest import connect, login
from tests.integration.api.mining.conftest import (
    CHAIN,
    CONTRACT,
    LINK,
    Mine,
    Rebuild,
    entry,
    key,
    record,
)


def kinds(database: Database, agent: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    """Rows of the feed of an agent: kind, tenths and credits."""
    with database.read() as session:
        query = select(EarnFeedRow).where(EarnFeedRow.account_id == agent["user_id"])
        rows = session.scalars(query.order_by(EarnFeedRow.id)).all()
    return [(row.kind, row.tenths, row.credits) for row in rows]


def test_an_approval__fills_the_field_and_pays_its_points(mine: Mine) -> None:
    made = mine.submit(mine.agent, CHAIN, CONTRACT)
    assert mine.approve(made) == {
        "submission_id": made["submission_id"],
        "entry_id": made["entries"][0]["entry_id"],
        "field_name": "blockchain",
        "status": "approved",
        "reason_code": None,
        "reviewed_by": "operator:1",
        "points": "2.0",
        "credits": 40,
        "repaid_credits": 0,
        "paid_credits": 40,
        "queued_credits": 0,
        "superseded": [],
    }
    assert mine.field("blockchain") | {"points": ""} == {
        "field": "blockchain",
        "points": "",
        "credit_on_approval": 40,
        "credit": 40,
        "current_value": "ethereum",
        "pending": False,
    }
    assert mine.fields()["total_empty"] == 8
    assert sorted(kinds(mine.database, mine.agent)[2:]) == [
        ("mine_approved", 20, 40),
        ("paid", None, 40),
    ]
    shown = mine.client.get("/agent/mining/balance", headers=key(mine.agent)).json()
    assert (shown["credit_balance"], shown["earned"], shown["owed"]) == (50, 40, 0)
    assert shown["recent_rewards"] == [
        {
            "submission_id": made["submission_id"],
            "entry_id": made["entries"][0]["entry_id"],
            "token_id": "binance_link_usdt",
            "field_name": "blockchain",
            "points": "2.0",
            "credits": 40,
            "queued_credits": 0,
            "approved_at": "2026-11-21T12:00:00Z",
        }
    ]


def stages(mine: Mine, agent: dict[str, Any], kind: str) -> dict[str, Any]:
    """How many of the agent's works of this kind are at each stage; zeros are left out."""
    found = mine.client.get("/agent/dashboard", headers=key(agent)).json()["review_stages"]
    lines = {**found, **found["verified"]}
    return {name: lines[name][kind] for name in lines if lines[name].get(kind)}


def test_a_dashboard__counts_ones_own_by_stage__and_what_is_queued_as_not_paid(
    mine_with: Rebuild,
) -> None:
    mine = mine_with(new_account_payout_credits_per_day=30)
    agent, observer = (connect(mine.client, agent_name=name) for name in ("miner", "observer"))
    name = entry("website_url", "https://chain.link/")
    made = mine.submit(agent, CHAIN, CONTRACT, name)
    mine.re_observe(observer, made["entries"][0]["task_id"])
    assert stages(mine, agent, "mining_submissions") == {"submitted": 3}
    mine.approve(made, 0)
    mine.reject(made, place=1)
    assert stages(mine, agent, "mining_submissions") == {
        "submitted": 1,
        "reproduced": 1,
        "points_recorded": 1,
        "rejected": 1,
    }
    assert stages(mine, agent, "task_claims") == {}
    assert stages(mine, observer, "task_claims") == {"re_observed": 1, "points_recorded": 1}
    assert stages(mine, observer, "mining_submissions") == {}


def test_a_dashboard__of_work_that_is_wholly_paid__says_so(mine: Mine) -> None:
    agent, observer = (connect(mine.client, agent_name=name) for name in ("miner", "observer"))
    made = mine.submit(agent, CHAIN)
    mine.re_observe(observer, made["entries"][0]["task_id"])
    mine.approve(made)
    shown = stages(mine, agent, "mining_submissions")
    assert shown == {"reproduced": 1, "points_recorded": 1, "paid": 1}
    shown = stages(mine, observer, "task_claims")
    assert shown == {"re_observed": 1, "points_recorded": 1, "paid": 1}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"match": False}, "match"),
        ({"match": None}, "match"),
        ({"observed_at": None}, "observed_at"),
        ({"observed_at": "2026-11-21T12:00:01Z"}, "observed_at"),
        ({"observed_at": "2026-11-21"}, "observed_at"),
        ({"method": "guessed"}, "method"),
        ({"source": "http://docs.chain.link/"}, "source"),
        ({"observed_result": "\u202e"}, "observed_result"),
        ({"observed_result": "x" * 501}, "observed_result"),
        ({"points": "900.0"}, "points"),
    ],
)
def test_an_approval_without_a_whole_record__is_refused_with_nothing_paid(
    mine: Mine, changes: dict[str, Any], field: str
) -> None:
    made = mine.submit(mine.agent, CHAIN)
    before = mine.rows()
    answer = mine.decide("approve", made["submission_id"], **(record(made) | changes))
    assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (400, field)
    assert mine.rows() == before


def test_an_entry__is_named_where_there_are_several_and_decided_once(mine: Mine) -> None:
    made = mine.submit(mine.agent, CHAIN, entry("website_url", "https://a.example/"))
    unnamed = mine.decide("reject", made["submission_id"], reason_code="out_of_date")
    assert unnamed.json()["detail"].startswith("entry_id: name the entry; the submission has")
    unknown = mine.decide("reject", made["submission_id"], entry_id=999, reason_code="out_of_date")
    assert unknown.status_code == 404
    nowhere = mine.decide("reject", 999, reason_code="out_of_date")
    assert nowhere.status_code == 404
    mine.approve(made)
    for verb, body in (("approve", record(made)), ("reject", {"reason_code": "value_wrong"})):
        named = body | {"entry_id": made["entries"][0]["entry_id"]}
        assert mine.decide(verb, made["submission_id"], **named).status_code == 409
    alone = mine.submit(mine.agent, entry("audit_url", "https://a.example/"))
    assert (
        mine.decide("reject", alone["submission_id"], reason_code="out_of_date").status_code == 200
    )


@pytest.mark.parametrize("reason", ["superseded", "reversed", "wrong", "", None])
def test_a_rejection__has_a_reason_that_reviewers_have(mine: Mine, reason: str | None) -> None:
    made = mine.submit(mine.agent, CHAIN)
    answer = mine.decide("reject", made["submission_id"], reason_code=reason)
    assert (answer.status_code, answer.json()["detail"][:11]) == (400, "reason_code")


def test_an_address__is_approved_after_its_chain(mine: Mine) -> None:
    made = mine.submit(mine.agent, CHAIN, CONTRACT)
    early = mine.decide("approve", made["submission_id"], **record(made, 1))
    assert (early.status_code, "approve a blockchain of the listing first" in early.text) == (
        409,
        True,
    )
    mine.approve(made, 0)
    mine.approve(made, 1)
    assert mine.field("contract_address")["current_value"] == LINK


@pytest.mark.parametrize(
    ("reason_code", "earned"),
    [("value_wrong", (60, -60)), ("evidence_insufficient", (0, 0))],
)
def test_re_observers__are_paid_by_the_truth_that_the_review_found(
    mine: Mine, reason_code: str, earned: tuple[int, int]
) -> None:
    made = mine.submit(mine.agent, CHAIN)
    honest, liar = (connect(mine.client, agent_name=name) for name in ("honest", "liar"))
    mine.re_observe(honest, made["entries"][0]["task_id"], "mismatch")
    mine.re_observe(liar, made["entries"][0]["task_id"], "match")
    mine.reject(made, reason_code)
    got = [mine.credits(one)["earned"] - mine.credits(one)["owed"] for one in (honest, liar)]
    assert tuple(got) == earned


def test_a_reversal__empties_the_field_and_takes_back_what_was_paid(mine: Mine) -> None:
    made = mine.submit(mine.agent, CHAIN)
    honest = connect(mine.client, agent_name="honest")
    mine.re_observe(honest, made["entries"][0]["task_id"])
    mine.approve(made)
    back = mine.decide("reverse", made["submission_id"], reason="The page was wrong.")
    assert back.status_code == 200, back.text
    assert {name: back.json()[name] for name in ("status", "reason_code", "owed_credits")} == {
        "status": "rejected",
        "reason_code": "reversed",
        "owed_credits": 40,
    }
    assert mine.field("blockchain")["current_value"] is None
    assert (mine.credits(mine.agent)["owed"], mine.credits(honest)["owed"]) == (40, 60)
    again = mine.decide("reverse", made["submission_id"], reason="Again.")
    assert again.status_code == 409
    assert ("mine_reversed", 20, 40) in kinds(mine.database, mine.agent)
    mine.approve(mine.submit(mine.agent, CHAIN))  # the next approval repays
    assert mine.credits(mine.agent)["owed"] == 0
    with mine.database.read() as session:
        assert sum(trial_balance(session).values()) == 0
        assert verify(session, mine.agent["user_id"]) == []


def test_a_chain__is_not_reversed_while_an_address_stands_on_it(mine: Mine) -> None:
    made = mine.submit(mine.agent, CHAIN, CONTRACT)
    mine.approve(made, 0)
    mine.approve(made, 1)
    ids = [one["entry_id"] for one in made["entries"]]
    refused = mine.decide("reverse", made["submission_id"], entry_id=ids[0], reason="No.")
    assert (refused.status_code, "reverse that one first" in refused.text) == (409, True)
    for entry_id in reversed(ids):
        answer = mine.decide("reverse", made["submission_id"], entry_id=entry_id, reason="No.")
        assert answer.status_code == 200, answer.text


@pytest.mark.slow
def test_the_owner_of_the_submitter__decides_nothing_about_it(
    mine: Mine, operators_wallet: LocalAccount, signed_in: Callable[[], tuple[Any, dict[str, str]]]
) -> None:
    owned = connect(mine.client, login(mine.client, operators_wallet))
    made = mine.submit(owned, CHAIN)
    other = mine.submit(connect(mine.client, agent_name="other"), entry(value="base"))
    client, headers = signed_in()
    before = mine.rows()
    with client:
        path = f"/admin/mining/submissions/{made['submission_id']}"
        for verb, body in (("approve", record(made)), ("reject", {"reason_code": "value_wrong"})):
            answer = client.post(f"{path}/{verb}", json=body, headers=headers)
            assert (answer.status_code, "which your wallet owns" in answer.text) == (403, True)
        assert mine.rows() == before
        decided = client.post(
            f"/admin/mining/submissions/{other['submission_id']}/reject",
            json={"reason_code": "value_wrong"},
            headers=headers,
        )
        by = decided.json()["reviewed_by"]
    approved = mine.approve(made)
    with mine.database.read() as session:
        names = [*session.scalars(select(MiningReview.operator).order_by(MiningReview.id))]
        numbers = {f"operator:{n}" for n in session.scalars(select(OperatorNumber.number))}
    assert names == [by, approved["reviewed_by"]]
    assert set(names) == numbers
    assert len(numbers) == 2


def test_the_owner_of_a_re_observer__decides_nothing_about_what_it_saw(
    mine: Mine, operators_wallet: LocalAccount, signed_in: Callable[[], tuple[Any, dict[str, str]]]
) -> None:
    owned = connect(mine.client, login(mine.client, operators_wallet), agent_name="observer")
    made = mine.submit(mine.agent, CHAIN)
    path = f"/admin/mining/submissions/{made['submission_id']}"
    mine.re_observe(owned, made["entries"][0]["task_id"])
    client, headers = signed_in()

    def is_refused(verb: str, body: dict[str, Any]) -> bool:
        before = mine.rows()
        answer = client.post(f"{path}/{verb}", json=body, headers=headers)
        assert mine.rows() == before
        detail = answer.json()["detail"]
        return answer.status_code == 403 and detail.startswith("An agent that your wallet owns")

    with client:
        assert is_refused("approve", record(made))
        assert is_refused("reject", {"reason_code": "value_wrong"})
        mine.approve(made)
        assert is_refused("reverse", {"reason": "No."})


# At once


def at_once(calls: list[Callable[[], int]]) -> list[int]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return sorted(future.result() for future in [pool.submit(call) for call in calls])


def test_the_same_value_twice_at_once__is_one_submission_and_one_duplicate(mine: Mine) -> None:
    agents = [connect(mine.client, agent_name=f"agent {n}") for n in range(4)]
    body = {"exchange": "binance", "symbol": "LINK/USDT", "entries": [CHAIN, CONTRACT]}

    def send(agent: dict[str, Any]) -> Callable[[], int]:
        return lambda: (
            mine.client.post("/agent/mining/submit", json=body, headers=key(agent)).status_code
        )

    assert at_once([send(agent) for agent in agents]) == [200, 409, 409, 409]
    assert mine.rows()["mining_entry"] == 2


def test_two_approvals_at_once__pay_once(mine: Mine) -> None:
    made = mine.submit(mine.agent, CHAIN)
    other = mine.submit(connect(mine.client, agent_name="other"), entry(value="base"))

    def send(what: dict[str, Any]) -> Callable[[], int]:
        return lambda: mine.decide("approve", what["submission_id"], **record(what)).status_code

    assert at_once([send(made), send(made), send(other), send(other)]) == [200, 409, 409, 409]
    assert mine.rows()["earn_award"] == mine.rows()["mining_fact"] == 1


def test_approvals_and_submissions_at_once__wait_for_one_another_and_all_end(mine: Mine) -> None:
    agents = [connect(mine.client, agent_name=f"agent {n}") for n in range(4)]
    names = ("website_url", "audit_url", "supply_url", "unlocks_url")
    made = [
        mine.submit(agent, entry(name, "https://a.example/"))
        for agent, name in zip(agents, names, strict=True)
    ]

    def approve(what: dict[str, Any]) -> Callable[[], int]:
        return lambda: mine.decide("approve", what["submission_id"], **record(what)).status_code

    def send(agent: dict[str, Any], value: str) -> Callable[[], int]:
        body = {"exchange": "binance", "symbol": "LINK/USDT", "entries": [entry(value=value)]}
        return lambda: (
            mine.client.post("/agent/mining/submit", json=body, headers=key(agent)).status_code
        )

    chains = ("base", "bsc", "tron", "solana")
    calls = [*map(approve, made), *map(send, agents, chains)]
    assert at_once(calls) == [200] * 8
