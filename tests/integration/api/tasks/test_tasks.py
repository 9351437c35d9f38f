"""The task market, from the call to the row and back."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.writer import load_balance, trial_balance
from core.credits.tables import CreditEntry
from core.db.base import Base
from core.db.engine import WriteSession
from core.earn.limits import payout_limits
from core.earn.rules.payout import person_of
from core.earn.standing import verified_claims
from core.earn.tables import EarnFeedRow
from core.house import House
from core.identity.tables import Account
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from core.safety.queries import change_defense
from core.tasks import market, views
from core.tasks.claims import Claimant, claim
from core.tasks.rules import TaskFault, TaskRefusedError, Truth
from core.tasks.tables import Task, TaskClaim, TaskProof, TaskReview, TaskVerdict
from core.times import instant_text
from keeper.areas import tasks as job
from keeper.worker import jobs_of
from tests.integration.api.conftest import KEY, Clock, Limit, bearer, connect, login

TRANSLATION = {
    "category": "translation",
    "title": "Translate a notice",
    "points": "2.5",
    "subject": "Translate the notice of 2026-11-20.",
}
ENTRY = 12


def agent(client: TestClient, headers: dict[str, str] | None = None) -> dict[str, Any]:
    made = connect(client, headers)
    return {"id": made["user_id"], "headers": {KEY: made["api_key"]}}


@pytest.fixture
def crowded(limited: Limit) -> TestClient:
    return limited(
        registrations_per_minute=1_000, registrations_per_day=1_000, welcome_per_address_per_day=0
    )


@pytest.fixture
def agents(crowded: TestClient) -> list[dict[str, Any]]:
    return [agent(crowded) for _ in range(9)]


@pytest.fixture
def offered(crowded: TestClient, operator: dict[str, str]) -> Callable[..., dict[str, Any]]:
    def offer(**changes: Any) -> dict[str, Any]:
        answer = crowded.post("/admin/tasks", json=TRANSLATION | changes, headers=operator)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    return offer


def open_reobservation(deps: Deps, submitter: dict[str, Any], entry_id: int = ENTRY) -> int:
    with deps.database.write() as session:
        owner_id = session.get_one(Account, submitter["id"]).owner_id
        return market.open_reobservation(
            session,
            entry_id,
            "binance_abc_usdt",
            "contract_address",
            submitter["id"],
            person_of(submitter["id"], owner_id),
            deps.clock(),
        )


def review(deps: Deps, truth: Truth, entry_id: int = ENTRY) -> None:
    with deps.database.write() as session:
        limits = payout_limits(deps.limits)
        market.review_ended(session, entry_id, truth, limits, deps.clock())


def claimed(client: TestClient, who: dict[str, Any], task_id: int, **headers: str) -> Any:
    return client.post(f"/tasks/{task_id}/claim", headers=who["headers"] | headers)


def proof(deps: Deps, task_id: int, **changes: Any) -> dict[str, Any]:
    sent = {
        "task_id": task_id,
        "verdict": "match",
        "observed_at": instant_text(deps.clock()),
        "observed_result": "The exchange lists it.",
        "source_url": "https://example.com/abc",
    } | changes
    return {name: value for name, value in sent.items() if value is not ...}


def prove(client: TestClient, deps: Deps, who: dict[str, Any], task_id: int, **changes: Any) -> Any:
    return client.post(
        "/tasks/submit-proof", json=proof(deps, task_id, **changes), headers=who["headers"]
    )


def done(deps: Deps, task_id: int) -> dict[str, Any]:
    """A proof of a task that is no re-observation."""
    return proof(deps, task_id, verdict=..., source_url=...)


def verdict(
    client: TestClient, operator: dict[str, str], claim_id: int, word: str = "verified"
) -> Any:
    body = {"verdict": word, "note": "Compared with the notice."}
    return client.post(f"/admin/tasks/claims/{claim_id}/verdict", json=body, headers=operator)


def named(answer: Any) -> tuple[int, str]:
    body = answer.json()
    return answer.status_code, body.get("error") or body["service"]["reason"]


TABLES = ("task", "task_claim", "task_proof", "task_verdict", "task_review", "earn_award")
LEDGERS = ("earn_feed", "credit_entry", "earn_claim", "earn_queue")


def written(deps: Deps) -> dict[str, Any]:
    """Every row of the market, of what it pays and of credits."""
    with deps.database.read() as session:
        rows = {
            name: session.execute(text(f"select t::text from {name} t order by 1")).scalars().all()
            for name in (*TABLES, *LEDGERS)
        }
        return rows | {"heads": session.execute(text("select * from credit_head")).all()}


def holds(deps: Deps, who: dict[str, Any]) -> tuple[int, int, int]:
    """Earned, bonded and owed."""
    with deps.database.read() as session:
        held = load_balance(session, who["id"])
        return held.earned, held.bonded, held.owed


def give(deps: Deps, who: dict[str, Any], amount: int) -> None:
    with deps.database.write() as session:
        credit_ledger.earn(session, who["id"], amount, "test", {}, deps.clock())


def stages(deps: Deps, task_id: int) -> list[tuple[str, int]]:
    with deps.database.read() as session:
        query = select(TaskClaim.stage, TaskClaim.tenths).where(TaskClaim.task_id == task_id)
        return [(stage, tenths) for stage, tenths in session.execute(query.order_by(TaskClaim.id))]


def place(deps: Deps) -> Any:
    return SimpleNamespace(
        database=deps.database,
        reader=None,
        fence=lambda _: None,
        mark_retention_days=90,
        intent_retention_days=90,
        perps=None,
    )


# One loop of a task that takes one claim


def test_a_task__is_offered_claimed_proven_verified_and_paid(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task = offered()
    assert {name: task[name] for name in ("points", "points_channel", "credit_reward")} == {
        "points": "2.5",
        "points_channel": "task",
        "credit_reward": 0,
    }
    assert (task["status"], task["progress"], task["credit_on_approval"]) == (
        "open",
        {"furthest": "open"},
        50,
    )
    made = claimed(crowded, agents[0], task["id"])
    assert made.status_code == 201, made.text
    assert (made.json()["status"], made.json()["expires_at"]) == (
        "claimed",
        instant_text(deps.clock() + timedelta(hours=24)),
    )
    filed = crowded.post(
        "/tasks/submit-proof", json=done(deps, task["id"]), headers=agents[0]["headers"]
    )
    assert (filed.status_code, filed.json()["status"]) == (201, "submitted")
    decided = verdict(crowded, operator, made.json()["claim_id"])
    assert (decided.status_code, decided.json()["status"], decided.json()["points"]) == (
        200,
        "paid",
        "2.5",
    )
    assert holds(deps, agents[0]) == (50, 0, 0)
    shown = crowded.get(f"/tasks/{task['id']}").json()
    assert (shown["status"], shown["progress"], shown["participants_total"]) == (
        "settled",
        {"furthest": "paid"},
        1,
    )
    assert [(one["user_id"], one["stage"]) for one in shown["proofs"]] == [
        (agents[0]["id"], "paid")
    ]
    own = crowded.get("/tasks/my/claims", headers=agents[0]["headers"]).json()
    assert own == {"claims": [decided.json()], "next_cursor": None}
    with deps.database.read() as session:
        assert verified_claims(session, [agents[0]["id"]]) == {agents[0]["id"]: 1}
        kinds = session.scalars(select(EarnFeedRow.kind).order_by(EarnFeedRow.id)).all()
        assert kinds == ["task_claimed", "task_submitted", "paid", "task_verified"]
        assert sum(trial_balance(session).values()) == 0


def test_a_queued_award__is_points_recorded_until_it_is_paid(
    limited: Limit, deps: Deps, operator: dict[str, str]
) -> None:
    client = limited(new_account_payout_credits_per_day=20)
    who = agent(client)
    task = client.post("/admin/tasks", json=TRANSLATION, headers=operator).json()
    made = claimed(client, who, task["id"]).json()
    client.post("/tasks/submit-proof", json=done(deps, task["id"]), headers=who["headers"])
    assert verdict(client, operator, made["claim_id"]).json()["status"] == "points_recorded"
    shown = client.get(f"/tasks/{task['id']}").json()
    assert shown["progress"] == {"furthest": "points_recorded"}
    with deps.database.read() as session:
        assert views.stage_counts(session, [who["id"]]) == {
            "submitted": 0,
            "reproduced": 1,
            "re_observed": 0,
            "no_record_on_file": 0,
            "points_recorded": 1,
            "paid": 0,
            "rejected": 0,
        }


def test_a_rejected_proof__opens_the_task_for_others_alone(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    made = claimed(crowded, agents[0], task_id).json()
    crowded.post("/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"])
    assert verdict(crowded, operator, made["claim_id"], "rejected").json()["status"] == "rejected"
    assert crowded.get(f"/tasks/{task_id}").json()["status"] == "open"
    assert named(claimed(crowded, agents[0], task_id)) == (409, "already_claimed")
    assert claimed(crowded, agents[1], task_id).status_code == 201
    assert holds(deps, agents[0]) == (0, 0, 0)


def test_a_reversed_verdict__takes_points_and_standing_back_and_opens_the_task(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    task_id = offered()["id"]
    made = claimed(crowded, agents[0], task_id).json()
    crowded.post("/tasks/submit-proof", json=done(deps, task_id), headers=agents[0]["headers"])
    verdict(crowded, operator, made["claim_id"])
    assert verdict(crowded, operator, made["claim_id"], "reversed").json()["status"] == "rejected"
    assert holds(deps, agents[0]) == (50, 0, 50)
    assert crowded.get(f"/tasks/{task_id}").json()["status"] == "open"
    with deps.database.read() as session:
        assert verified_claims(session, [agents[0]["id"]]) == {agents[0]["id"]: 0}
    again = verdict(crowded, operator, made["claim_id"], "reversed")
    assert named(again) == (409, "wrong_status")


# Refusals: nothing written, nothing charged


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
    "an empty result": ({"observed_result": ""}, "observed_result: write 1 to 500 characters."),
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


def owned_pair(client: TestClient, wallet: LocalAccount) -> list[dict[str, Any]]:
    session = login(client, wallet)
    return [agent(client, session) for _ in range(2)]


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
    object.__setattr__(deps, "operator_addresses", frozenset({wallet.address.lower()}))
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


# Values of submissions, and gold


PROJECT_URL = "https://abc.example.com/project/of/a/listing"


@pytest.fixture
def listed(deps: Deps) -> None:
    with deps.database.write() as session:
        add_listings(
            session, "binance", [Symbol("ABC", "USDT")], is_simulated=True, now=deps.clock()
        )


def mined(client: TestClient, who: dict[str, Any]) -> int:
    """A value that the agent submits; its re-observation."""
    entry = {
        "field_name": "website_url",
        "field_value": PROJECT_URL,
        "evidence_url": "https://example.com/evidence/of/it",
    }
    body = {"exchange": "binance", "symbol": "ABC/USDT", "entries": [entry]}
    answer = client.post("/agent/mining/submit", json=body, headers=who["headers"])
    assert answer.status_code == 200, answer.text
    return int(answer.json()["entries"][0]["task_id"])


@pytest.mark.usefixtures("listed")
def test_a_whole_value__is_shown_to_its_submitter_and_to_open_claims_alone(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = mined(crowded, agents[0])

    def seen(who: dict[str, Any] | None) -> tuple[Any, Any]:
        headers = who["headers"] if who else {}
        subject = crowded.get(f"/tasks/{task_id}", headers=headers).json()["subject"]
        return subject["value"], subject["evidence_url"]

    evidence = "https://example.com/evidence/of/it"
    assert [seen(who) for who in (None, *agents[:2])] == [
        (None, None),
        (PROJECT_URL, evidence),
        (None, None),
    ]
    made = claimed(crowded, agents[1], task_id).json()
    assert made["subject"]["value"] == PROJECT_URL
    assert seen(agents[1]) == (PROJECT_URL, evidence)
    prove(crowded, deps, agents[1], task_id)
    with deps.database.write() as session:
        entry_id = session.get_one(Task, task_id).entry_id
        assert entry_id is not None
    review(deps, Truth.MATCH, entry_id)
    assert [seen(who) for who in agents[:2]] == [(PROJECT_URL, evidence), (None, None)]
    own = crowded.get("/tasks/my/claims", headers=agents[1]["headers"]).json()["claims"][0]
    assert own["subject"]["value"] is None
    public = crowded.get("/tasks/browse").text + crowded.get(f"/tasks/{task_id}").text
    assert PROJECT_URL not in public


@pytest.mark.usefixtures("listed")
def test_gold__is_a_submission_of_an_agent_of_the_house_like_any_other(
    crowded: TestClient,
    limited: Limit,
    deps: Deps,
    operator: dict[str, str],
    agents: list[dict[str, Any]],
) -> None:
    object.__setattr__(deps, "house", House(house_agents=(agents[0]["id"],)))
    client = limited()
    value = {
        "exchange": "binance",
        "symbol": "ABC/USDT",
        "field_name": "website_url",
        "field_value": PROJECT_URL,
        "evidence_url": "https://example.com/evidence/of/it",
    }
    body = {"category": "reobserve", "gold": value, "agent_id": agents[0]["id"]}
    made = client.post("/admin/tasks", json=body, headers=operator)
    assert made.status_code == 201, made.text
    assert (made.json()["category"], made.json()["points"]) == ("reobserve", "3.0")
    shown = client.get(f"/tasks/{made.json()['id']}").json()
    assert "gold" not in str(shown)
    before = written(deps)
    for changes, says in (
        ({"agent_id": agents[1]["id"]}, "agent_id: name an agent that the house runs."),
        ({"agent_id": None}, "agent_id: send it; a re-observation has it."),
        ({"gold": None}, "gold: send it; a re-observation has it."),
        ({"title": "A title"}, "title: leave it out; a task of this category has none."),
        ({"gold": value | {"exchange": "Binance"}}, "gold.exchange: "),
    ):
        refused = client.post("/admin/tasks", json=body | changes, headers=operator)
        assert refused.status_code == 400
        assert refused.json()["detail"].startswith(says)
    assert written(deps) == before


def test_an_agent_with_an_open_case__claims_nothing(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    case = {"agent_id": agents[0]["id"], "rule": "spam", "deadline": "2026-12-01T00:00:00Z"}
    assert crowded.post("/admin/violations", json=case, headers=operator).status_code == 201
    task_id = offered()["id"]
    before = written(deps)
    assert claimed(crowded, agents[0], task_id).status_code == 403
    assert written(deps) == before


# Time


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
    assert "tasks" in {one.name for one in jobs_of(place(deps))}
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


# Bonds


@pytest.fixture
def guarded(deps: Deps, operator: dict[str, str]) -> None:
    with deps.database.write() as session:
        operator_id = session.scalar(select(Account.id).where(Account.kind == "operator"))
        assert operator_id is not None
        change_defense(session, 2, operator_id, deps.clock())


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


# Re-observations


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
        assert views.re_observed(session, [ENTRY, 99]) == {ENTRY: 6, 99: 0}
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


# Lists


def test_browse__pages_through_open_tasks_of_a_category(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    mine = [offered()["id"] for _ in range(3)]
    other = offered(category="research")["id"]
    observed = open_reobservation(deps, agents[0])
    claimed(crowded, agents[1], mine[0])
    claimed(crowded, agents[1], observed)

    def listed(**query: Any) -> tuple[list[int], str | None]:
        answer = crowded.get("/tasks/browse", params=query)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["tasks"]], answer.json()["next_cursor"]

    assert listed()[0] == [observed, other, mine[2], mine[1]]
    assert listed(category="reobserve")[0] == [observed]
    first, cursor = listed(category="translation", limit=1)
    assert first == [mine[2]]
    assert listed(category="translation", limit=1, cursor=cursor) == ([mine[1]], None)
    refused = crowded.get("/tasks/browse", params={"cursor": cursor})
    assert refused.status_code == 400


def test_participants__are_the_first_five_by_name_with_their_ids_and_the_total(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    for who in agents[1:8]:
        claimed(crowded, who, task_id)
    for shown in (
        crowded.get(f"/tasks/{task_id}").json(),
        crowded.get("/tasks/browse").json()["tasks"][0],
    ):
        assert shown["participants"] == ["quant"] * 5
        assert shown["participant_ids"] == [who["id"] for who in agents[1:6]]
        assert shown["participants_total"] == 7


def test_the_queue__shows_what_waits_for_operators(
    crowded: TestClient,
    deps: Deps,
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    first, second = offered()["id"], offered()["id"]
    filed = claimed(crowded, agents[0], first).json()["claim_id"]
    crowded.post("/tasks/submit-proof", json=done(deps, first), headers=agents[0]["headers"])
    still = claimed(crowded, agents[1], second).json()["claim_id"]
    with deps.database.read() as session:
        assert [one.claim.id for one in views.waiting_proofs(session, None, 10)] == [filed]
        assert views.waiting_proofs(session, filed, 10) == []
        assert [one.claim.id for one in views.open_claims(session, None, 10)] == [still]
        assert views.open_claim_holders(session, second) == {agents[1]["id"]}


# Twice and at once


def test_a_claim_and_a_proof__are_written_once_per_idempotency_key(
    crowded: TestClient, deps: Deps, agents: list[dict[str, Any]]
) -> None:
    task_id = open_reobservation(deps, agents[0])
    key = {"Idempotency-Key": "claim-1"}
    first = claimed(crowded, agents[1], task_id, **key)
    again = claimed(crowded, agents[1], task_id, **key)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotent-Replay"] == "true"
    sent = {"json": proof(deps, task_id), "headers": agents[1]["headers"] | {**key}}
    sent["headers"]["Idempotency-Key"] = "proof-1"
    first = crowded.post("/tasks/submit-proof", **sent)
    again = crowded.post("/tasks/submit-proof", **sent)
    assert (again.status_code, again.json()) == (201, first.json())
    other = sent | {"json": proof(deps, task_id, verdict="mismatch")}
    assert crowded.post("/tasks/submit-proof", **other).status_code == 409
    with deps.database.read() as session:
        assert session.scalar(select(func.count()).select_from(TaskProof)) == 1


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


def test_of_64_claims_at_once__an_exclusive_task_takes_one_and_a_re_observation_all(
    deps: Deps, offered: Callable[..., dict[str, Any]], agents: list[dict[str, Any]]
) -> None:
    with deps.database.write() as session:
        ids = many(session, deps, 64)
    exclusive = claim_at_once(deps, offered()["id"], ids)
    assert (exclusive.count("claimed"), exclusive.count(TaskFault.ALREADY_CLAIMED)) == (1, 63)
    task_id = open_reobservation(deps, agents[0])
    assert claim_at_once(deps, task_id, ids) == ["claimed"] * 64
    with deps.database.read() as session:
        task = session.get_one(Task, task_id)
        assert (task.open_claims, task.participants) == (64, 64)


@pytest.mark.usefixtures("guarded")
def test_reviews_verdicts_and_claims_at_once__neither_wait_for_each_other_nor_lose_a_credit(
    crowded: TestClient,
    deps: Deps,
    operator: dict[str, str],
    offered: Callable[..., dict[str, Any]],
    agents: list[dict[str, Any]],
) -> None:
    entries = range(100, 106)
    for who in agents:
        give(deps, who, 400)
    tasks = {entry: open_reobservation(deps, agents[0], entry) for entry in entries}
    for task_id in tasks.values():
        for who in agents[1:7]:
            claimed(crowded, who, task_id)
            prove(crowded, deps, who, task_id)
    more = [offered()["id"] for _ in range(6)]

    def decide(entry: int) -> None:
        review(deps, Truth.MATCH if entry % 2 else Truth.MISMATCH, entry)

    def take(task_id: int) -> None:
        claimed(crowded, agents[7], task_id)

    with ThreadPoolExecutor(12) as pool:
        running = [pool.submit(decide, entry) for entry in entries]
        running += [pool.submit(take, task_id) for task_id in (*more, *tasks.values())]
        for one in running:
            one.result(timeout=60)
    with deps.database.read() as session:
        assert sum(trial_balance(session).values()) == 0
        states = session.scalars(select(Task.state).where(Task.category == "reobserve")).all()
        assert set(states) <= {"settled", "closing"}
        for who in agents:
            assert credit_ledger.verify(session, who["id"]) == []
        right = session.scalar(select(func.count()).where(TaskClaim.stage == "points_recorded"))
        assert right == 3 * 5
        entries_of = select(func.count()).where(CreditEntry.kind == "release")
        assert session.scalar(entries_of) == 6 * 6


@pytest.mark.parametrize("table", [TaskProof, TaskVerdict, TaskReview])
def test_proofs_verdicts_and_reviews__are_never_changed(deps: Deps, table: type[Base]) -> None:
    with pytest.raises(DBAPIError, match="append-only"), deps.database.write() as session:
        session.execute(text(f"delete from {table.__tablename__}"))


def test_a_bearer_of_connect__claims_nothing(crowded: TestClient, deps: Deps) -> None:
    made = connect(crowded)
    refused = crowded.post("/tasks/1/claim", headers=bearer(made["bearer_token"]))
    assert refused.status_code == 401
