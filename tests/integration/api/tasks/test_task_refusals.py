"""What the market refuses, by name: nothing is written and nothing charged."""

from dataclasses import replace
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import func, select

from api.areas.tasks.rules import Truth
from api.areas.tasks.tables import Task
from api.kernel.operation import Access
from tests.each import each
from tests.integration.api.conftest import Limit, login
from tests.integration.api.tasks.conftest import TRANSLATION, Market, named, owned_pair

BAD_PROOFS: dict[str, tuple[dict[str, Any], str]] = {
    "no verdict": ({"verdict": ...}, "verdict: write match, mismatch or unverifiable."),
    "another verdict": ({"verdict": "true"}, "verdict: "),
    "no observed_at": ({"observed_at": ...}, "observed_at: "),
    "no zone": ({"observed_at": "2026-11-21T12:00:00"}, "observed_at: "),
    "a future one": (
        {"observed_at": "2026-11-21T12:00:01Z"},
        "observed_at: write when you looked, a time that is past.",
    ),
    "an old one": (
        {"observed_at": "2026-11-14T11:59:59Z"},
        "observed_at: look again; an observation older than 7 days proves nothing now.",
    ),
    "no result": ({"observed_result": ...}, "observed_result: "),
    "an empty result": ({"observed_result": ""}, "observed_result: write 1 or more characters."),
    "a long result": ({"observed_result": "a" * 501}, "observed_result: "),
    "a bidi result": ({"observed_result": "a\u202eb"}, "observed_result: "),
    "no source": ({"source_url": ...}, "source_url: send it; name where you looked."),
    "a source of http": ({"source_url": "http://example.com"}, "source_url: write an https URL"),
    "a source with a password": ({"source_url": "https://a:b@example.com"}, "source_url: "),
    "a long source": ({"source_url": "https://example.com/" + "a" * 481}, "source_url: "),
}


@pytest.mark.parametrize(("changes", "says"), BAD_PROOFS.values(), ids=list(BAD_PROOFS))
def test_a_bad_proof__is_refused_by_its_field(
    market: Market, changes: dict[str, Any], says: str
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    market.claim(market.agents[1], task_id)
    before = market.written()
    refused = market.prove(market.agents[1], task_id, **changes)
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(says)
    assert market.written() == before
    assert market.prove(market.agents[1], task_id).status_code == 201


def test_a_verdict_on_another_category__is_refused(market: Market) -> None:
    task_id = market.offer()["id"]
    market.claim(market.agents[0], task_id)
    before = market.written()
    refused = market.prove(market.agents[0], task_id)
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "verdict: leave it out; a re-observation alone has one.",
    )
    assert market.written() == before


def test_a_claim_of_ones_own_subject__is_refused_whichever_of_its_agents_claims(
    market: Market, wallet: LocalAccount
) -> None:
    own, other = owned_pair(market.client, wallet)
    task_id = market.open_reobservation(own)
    before = market.written()
    assert named(market.claim(own, task_id)) == (403, "own_subject")
    assert named(market.claim(other, task_id)) == (403, "own_subject")
    assert market.written() == before


def test_a_claim__of_a_held_task_is_refused_and_so_is_a_second_one_of_ones_own(
    market: Market,
) -> None:
    task_id = market.offer()["id"]
    market.claim(market.agents[0], task_id)
    before = market.written()
    other = market.claim(market.agents[1], task_id)
    assert (named(other), other.json()["detail"]) == (
        (409, "already_claimed"),
        f"Another agent has claimed task {task_id}, which takes one claim at a time.",
    )
    assert named(market.claim(market.agents[0], task_id)) == (409, "already_claimed")
    assert market.written() == before


def test_a_proof__without_a_claim_or_filed_twice_is_refused(market: Market) -> None:
    task_id = market.open_reobservation(market.agents[0])
    assert named(market.prove(market.agents[1], task_id)) == (409, "not_claimed")
    market.claim(market.agents[1], task_id)
    assert market.prove(market.agents[1], task_id).status_code == 201
    before = market.written()
    again = market.prove(market.agents[1], task_id, verdict="mismatch")
    assert named(again) == (409, "already_submitted")
    assert market.written() == before


def test_two_agents_of_one_owner__both_claim_and_file_one_proof(
    market: Market, wallet: LocalAccount
) -> None:
    one, other = owned_pair(market.client, wallet)
    task_id = market.open_reobservation(market.agents[0])
    assert [market.claim(who, task_id).status_code for who in (one, other)] == [201, 201]
    assert market.prove(one, task_id).status_code == 201
    before = market.written()
    assert named(market.prove(other, task_id)) == (409, "already_submitted")
    assert market.written() == before


def test_a_person_that_has_proven__claims_no_more(market: Market, wallet: LocalAccount) -> None:
    one, other = owned_pair(market.client, wallet)
    task_id = market.open_reobservation(market.agents[0])
    market.claim(one, task_id)
    market.prove(one, task_id)
    before = market.written()
    assert named(market.claim(other, task_id)) == (409, "already_submitted")
    assert market.written() == before


@pytest.mark.parametrize("truth", list(Truth))
def test_after_the_review__no_claim_is_taken_and_after_the_settlement_no_proof(
    market: Market, truth: Truth
) -> None:
    task_id = market.open_reobservation(market.agents[0])
    market.claim(market.agents[1], task_id)
    market.review(truth)
    before = market.written()
    assert named(market.claim(market.agents[2], task_id)) == (409, "task_closed")
    market.deps.clock.pass_(hours=24)  # type: ignore[attr-defined]
    assert named(market.prove(market.agents[1], task_id)) == (409, "task_closed")
    assert market.written() == before


@each("points", ["0", "0.0", "100.1", "1.25", "-1", 0, 1000, "a", True])
def test_points__outside_their_range_are_refused(market: Market, points: Any) -> None:
    refused = market.client.post(
        "/admin/tasks", json=TRANSLATION | {"points": points}, headers=market.operator
    )
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "points: write points from 0.1 to 100.0 with at most one decimal, such as 2.5.",
    )
    with market.deps.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 0


@each(
    "changes",
    [
        {"category": "Translation"},
        {"title": None},
        {"points": None},
        {"subject": None},
        {"agent_id": 1001},
        {"title": ""},
        {"title": "a\nb"},
        {"title": "a" * 121},
        {"subject": "a" * 501},
        {"subject": "\u200fa"},
    ],
)
def test_a_bad_task__is_refused_by_its_field(market: Market, changes: dict[str, str]) -> None:
    refused = market.client.post(
        "/admin/tasks", json=TRANSLATION | changes, headers=market.operator
    )
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(f"{next(iter(changes))}: ")


def test_a_verdict__decides_on_a_submitted_claim_alone(market: Market) -> None:
    made = market.claim(market.agents[0], market.offer()["id"]).json()
    before = market.written()
    early = market.decide(made["claim_id"])
    assert (named(early), early.json()["detail"]) == (
        (409, "wrong_status"),
        f"Claim {made['claim_id']} is claimed; verified is given to one that is submitted.",
    )
    assert market.decide(999_999).status_code == 404
    assert market.written() == before


def test_a_verdict_on_a_re_observation__is_the_reviews(market: Market) -> None:
    task_id = market.open_reobservation(market.agents[0])
    made = market.claim(market.agents[1], task_id).json()
    market.prove(market.agents[1], task_id)
    before = market.written()
    assert named(market.decide(made["claim_id"])) == (409, "wrong_status")
    assert market.written() == before


def test_an_operator_whose_wallet_owns_the_claimant__decides_nothing(
    market: Market, limited: Limit, wallet: LocalAccount
) -> None:
    own, _ = owned_pair(market.client, wallet)
    task_id = market.offer()["id"]
    made = market.claim(own, task_id).json()
    market.finish(own, task_id)
    session = login(market.client, wallet)
    access = Access(operator_addresses=frozenset({wallet.address.lower()}))
    object.__setattr__(market.deps, "parts", market.deps.parts.having(Access, access))
    market = replace(market, client=limited(), operator=session)
    before = market.written()
    refused = market.decide(made["claim_id"])
    assert named(refused) == (403, "conflict_of_interest")
    assert market.written() == before
