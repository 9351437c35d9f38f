"""What the market refuses, by name: nothing is written and nothing charged."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import func, select
from starlette.testclient import TestClient

from api.kernel.operation import Access, Deps
from core.tasks.rules import Truth
from core.tasks.tables import Task
from tests.integration.api.conftest import Limit, login
from tests.integration.api.tasks.conftest import (
    TRANSLATION,
    agent,
    claimed,
    done,
    named,
    open_reobservation,
    owned_pair,
    prove,
    review,
    verdict,
    written,
)

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
    crowded: TestClient,
    deps: Deps,
    agents: list[dict[str, Any]],
    changes: dict[str, Any],
    says: str,
) -> None:
    task_id = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], task_id)
    before = written(deps)
    refused = prove(crowded, deps, agents[1], task_id, **changes)
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(says)
    assert written(deps) == before
    assert prove(crowded, deps, agents[1], task_id).status_code == 201


def test_an_observation_of_seven_days_ago__is_taken(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], task_id)
    filed = prove(crowded, deps, agents[1], task_id, observed_at="2026-11-14T12:00:00Z")
    assert filed.status_code == 201


def test_a_verdict_on_another_category__is_refused(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    claimed(crowded, agents[0], task_id)
    before = written(deps)
    refused = prove(crowded, deps, agents[0], task_id)
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "verdict: leave it out; a re-observation alone has one.",
    )
    assert written(deps) == before


def test_a_claim_of_ones_own_subject__is_refused_whichever_of_its_agents_claims(
    crowded: TestClient, deps: Deps, wallet: LocalAccount
) -> None:
    own, other = owned_pair(crowded, wallet)
    task_id = open_reobservation(deps, own)
    before = written(deps)
    assert named(claimed(crowded, own, task_id)) == (403, "own_subject")
    assert named(claimed(crowded, other, task_id)) == (403, "own_subject")
    assert written(deps) == before


def test_a_claim__of_a_held_task_is_refused_and_so_is_a_second_one_of_ones_own(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    claimed(crowded, agents[0], task_id)
    before = written(deps)
    other = claimed(crowded, agents[1], task_id)
    assert (named(other), other.json()["detail"]) == (
        (409, "already_claimed"),
        f"Another agent has claimed task {task_id}, which takes one claim at a time.",
    )
    assert named(claimed(crowded, agents[0], task_id)) == (409, "already_claimed")
    assert written(deps) == before


def test_a_proof__without_a_claim_or_filed_twice_is_refused(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    assert named(prove(crowded, deps, agents[1], task_id)) == (409, "not_claimed")
    claimed(crowded, agents[1], task_id)
    assert prove(crowded, deps, agents[1], task_id).status_code == 201
    before = written(deps)
    again = prove(crowded, deps, agents[1], task_id, verdict="mismatch")
    assert named(again) == (409, "already_submitted")
    assert written(deps) == before


def test_two_agents_of_one_owner__both_claim_and_file_one_proof(
    crowded: TestClient, deps: Deps, wallet: LocalAccount, agents: list[dict[str, Any]]
) -> None:
    one, other = owned_pair(crowded, wallet)
    task_id = open_reobservation(deps, agents[0])
    assert [claimed(crowded, who, task_id).status_code for who in (one, other)] == [201, 201]
    assert prove(crowded, deps, one, task_id).status_code == 201
    before = written(deps)
    assert named(prove(crowded, deps, other, task_id)) == (409, "already_submitted")
    assert written(deps) == before


def test_a_person_that_has_proven__claims_no_more(
    crowded: TestClient, deps: Deps, wallet: LocalAccount, agents: list[dict[str, Any]]
) -> None:
    one, other = owned_pair(crowded, wallet)
    task_id = open_reobservation(deps, agents[0])
    claimed(crowded, one, task_id)
    prove(crowded, deps, one, task_id)
    before = written(deps)
    assert named(claimed(crowded, other, task_id)) == (409, "already_submitted")
    assert written(deps) == before


@pytest.mark.parametrize("truth", list(Truth))
def test_after_the_review__no_claim_is_taken_and_after_the_settlement_no_proof(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]], truth: Truth
) -> None:
    task_id = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], task_id)
    review(deps, truth)
    before = written(deps)
    assert named(claimed(crowded, agents[2], task_id)) == (409, "task_closed")
    deps.clock.pass_(hours=24)  # type: ignore[attr-defined]
    assert named(prove(crowded, deps, agents[1], task_id)) == (409, "task_closed")
    assert written(deps) == before


@pytest.mark.parametrize("path", ["/tasks/7/claim", "/tasks/999999/claim"])
def test_a_task_that_is_not_there__is_not_found(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]], path: str
) -> None:
    refused = crowded.post(path, headers=agents[0]["headers"])
    assert refused.status_code == 404
    assert prove(crowded, deps, agents[0], 999_999).json()["detail"] == (
        "task_id: there is no task 999999."
    )
    assert crowded.get("/tasks/999999").status_code == 404


@pytest.mark.parametrize("points", ["0", "0.0", "100.1", "1.25", "-1", 0, 1000, "a", True])
def test_points__outside_their_range_are_refused(
    crowded: TestClient, deps: Deps, operator: dict[str, str], points: Any
) -> None:
    refused = crowded.post("/admin/tasks", json=TRANSLATION | {"points": points}, headers=operator)
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "points: write points from 0.1 to 100.0 with at most one decimal, such as 2.5.",
    )
    with deps.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 0


@pytest.mark.parametrize(
    ("points", "shown"), [("0.1", "0.1"), ("100", "100.0"), (2, "2.0"), (2.5, "2.5")]
)
def test_points__are_text_or_a_number_with_one_decimal(
    offered: Callable[..., dict[str, Any]], points: Any, shown: str
) -> None:
    assert offered(points=points)["points"] == shown


@pytest.mark.parametrize(
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
def test_a_bad_task__is_refused_by_its_field(
    crowded: TestClient, operator: dict[str, str], changes: dict[str, str]
) -> None:
    refused = crowded.post("/admin/tasks", json=TRANSLATION | changes, headers=operator)
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(f"{next(iter(changes))}: ")


def test_tasks__are_an_operators_to_offer_and_to_decide(
    crowded: TestClient, agents: list[dict[str, Any]]
) -> None:
    who = agents[0]["headers"]
    assert crowded.post("/admin/tasks", json=TRANSLATION, headers=who).status_code == 403
    assert verdict(crowded, who, 1).status_code == 403


def test_a_verdict__decides_on_a_submitted_claim_alone(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    made = claimed(crowded, agents[0], offered()["id"]).json()
    before = written(deps)
    early = verdict(crowded, operator, made["claim_id"])
    assert (named(early), early.json()["detail"]) == (
        (409, "wrong_status"),
        f"Claim {made['claim_id']} is claimed; verified is given to one that is submitted.",
    )
    assert verdict(crowded, operator, 999_999).status_code == 404
    assert written(deps) == before


def test_a_verdict_on_a_re_observation__is_the_reviews(
    crowded: TestClient, deps: Deps, operator: dict[str, str], agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    made = claimed(crowded, agents[1], task_id).json()
    prove(crowded, deps, agents[1], task_id)
    before = written(deps)
    assert named(verdict(crowded, operator, made["claim_id"])) == (409, "wrong_status")
    assert written(deps) == before


def test_an_operator_whose_wallet_owns_the_claimant__decides_nothing(
    crowded: TestClient,
    deps: Deps,
    limited: Limit,
    wallet: LocalAccount,
    offered: Callable[..., dict[str, Any]],
) -> None:
    own, _ = owned_pair(crowded, wallet)
    task_id = offered()["id"]
    made = claimed(crowded, own, task_id).json()
    crowded.post("/tasks/submit-proof", json=done(deps, task_id), headers=own["headers"])
    session = login(crowded, wallet)
    access = Access(operator_addresses=frozenset({wallet.address.lower()}))
    object.__setattr__(deps, "parts", deps.parts.having(Access, access))
    client = limited()
    before = written(deps)
    refused = verdict(client, session, made["claim_id"])
    assert named(refused) == (403, "conflict_of_interest")
    assert written(deps) == before


def test_a_key_without_the_scope_tx__claims_and_proves_nothing(
    crowded: TestClient, deps: Deps, wallet: LocalAccount, agents: list[dict[str, Any]]
) -> None:
    session = login(crowded, wallet)
    own = agent(crowded, session)
    task_id = open_reobservation(deps, agents[0])
    scopes = {"scopes": ["read"], "per_order_usd": None, "per_day_usd": None}
    assert crowded.put(f"/agents/{own['id']}/scopes", json=scopes, headers=session).is_success
    for refused in (claimed(crowded, own, task_id), prove(crowded, deps, own, task_id)):
        assert (refused.status_code, refused.json()["scope"]) == (403, "tx")
