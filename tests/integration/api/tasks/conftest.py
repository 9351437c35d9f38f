"""Agents, tasks and reviews that the tests of the market are made of."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import select, text
from starlette.testclient import TestClient

from api.kernel.jobs import JobPlace
from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.main import create_app
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.writer import load_balance
from core.db.engine import Database
from core.earn.limits import payout_limits
from core.earn.rules.payout import PayoutLimits, person_of
from core.identity.tables import Account
from core.safety.queries import change_defense
from core.targets.rules import TargetLimits
from core.tasks import market
from core.tasks.rules import Truth
from core.tasks.tables import TaskClaim
from core.times import instant_text
from tests.integration.api.conftest import (
    BASE_URL,
    KEY,
    Clock,
    FewAnswersChain,
    Limit,
    connect,
    deps_of,
    login,
)
from tests.integration.api.in_process import AppClient
from tests.integration.scenes import Scene, Scenes

TRANSLATION = {
    "category": "translation",
    "title": "Translate a notice",
    "points": "2.5",
    "subject": "Translate the notice of 2026-11-20.",
}
ENTRY = 12
TRUSTED_PROXY = "10.0.0.1"


def agent(client: TestClient, headers: dict[str, str] | None = None) -> dict[str, Any]:
    made = connect(client, headers)
    return {"id": made["user_id"], "headers": {KEY: made["api_key"]}}


CROWD: dict[str, int] = {
    "registrations_per_minute": 1_000,
    "registrations_per_day": 1_000,
    "welcome_per_address_per_day": 0,
}


@pytest.fixture
def crowded(limited: Limit) -> TestClient:
    return limited(TRUSTED_PROXY, **CROWD)


def at_address(number: int) -> dict[str, str]:
    """Headers of a call from a network address of its own."""
    return {"X-Forwarded-For": f"198.51.100.{number}"}


@pytest.fixture
def nine(scenes: Scenes, template: str) -> Scene:
    return scenes.play("nine agents", template, _registered)


def _registered(database: Database) -> list[dict[str, Any]]:
    deps = replace(deps_of(database, Clock(), FewAnswersChain()), limits=Limits(**CROWD))
    with AppClient(create_app(deps), base_url=BASE_URL, client=(TRUSTED_PROXY, 5000)) as client:
        return [agent(client, at_address(number)) for number in range(1, 10)]


@pytest.fixture
def origin(request: pytest.FixtureRequest, template: str) -> str:
    """Where the test has the nine, they are registered already."""
    return request.getfixturevalue("nine").database if "nine" in request.fixturenames else template


@pytest.fixture
def agents(nine: Scene, crowded: TestClient) -> list[dict[str, Any]]:
    """Nine persons, each at a network address of its own."""
    return copy.deepcopy(nine.held)


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


def place(deps: Deps) -> JobPlace:
    return JobPlace(
        database=deps.database,
        reader=deps.chain,
        mark_retention_days=90,
        intent_retention_days=90,
        payouts=PayoutLimits(),
        targets=TargetLimits(20, 100),
    )


def owned_pair(client: TestClient, wallet: LocalAccount) -> list[dict[str, Any]]:
    session = login(client, wallet)
    return [agent(client, session) for _ in range(2)]


@pytest.fixture
def guarded(deps: Deps, operator: dict[str, str]) -> None:
    with deps.database.write() as session:
        operator_id = session.scalar(select(Account.id).where(Account.kind == "operator"))
        assert operator_id is not None
        change_defense(session, 2, operator_id, deps.clock())
