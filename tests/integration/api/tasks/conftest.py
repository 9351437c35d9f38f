"""Agents, tasks and reviews that the tests of the market are made of."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import select, text
from starlette.testclient import TestClient

from api.areas.earn.rules.payout import PayoutLimits, person_of
from api.areas.earn.views.limits import payout_limits
from api.areas.safety.queries import change_defense
from api.areas.tasks import jobs as job
from api.areas.tasks.rules import Truth
from api.areas.tasks.tables import TaskClaim
from api.areas.tasks.writes import market as reviews
from api.kernel.jobs import JobPlace
from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.main import create_app
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.writer import load_balance
from core.db.engine import Database
from core.identity.tables import Account
from core.limits import CallerLimits
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
from tests.integration.api.earn.people import fund
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
    """Where the test has a market, its nine are registered already."""
    return request.getfixturevalue("nine").database if "nine" in request.fixturenames else template


@dataclass(frozen=True)
class Market:
    """What tests do to the market: `agents` are nine persons, each at a network address of its own."""

    client: TestClient
    deps: Deps
    operator: dict[str, str]
    agents: list[dict[str, Any]]

    @property
    def clock(self) -> Clock:
        return cast("Clock", self.deps.clock)

    def offer(self, **changes: Any) -> dict[str, Any]:
        """A task that takes one claim at a time."""
        body = TRANSLATION | changes
        answer = self.client.post("/admin/tasks", json=body, headers=self.operator)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def read(self, task_id: int, **headers: str) -> dict[str, Any]:
        return dict(self.client.get(f"/tasks/{task_id}", headers=headers).json())

    def open_reobservation(self, submitter: dict[str, Any], entry_id: int = ENTRY) -> int:
        with self.deps.database.write() as session:
            owner_id = session.get_one(Account, submitter["id"]).owner_id
            return reviews.open_reobservation(
                session,
                entry_id,
                "binance_abc_usdt",
                "contract_address",
                submitter["id"],
                person_of(submitter["id"], owner_id),
                self.clock.now,
            )

    def review(
        self, truth: Truth, entry_id: int = ENTRY, limits: PayoutLimits | None = None
    ) -> None:
        caps = limits or payout_limits(self.deps.limits)
        with self.deps.database.write() as session:
            reviews.review_ended(session, entry_id, truth, caps, self.clock.now)

    def claim(self, who: dict[str, Any], task_id: int) -> Any:
        return self.client.post(f"/tasks/{task_id}/claim", headers=who["headers"])

    def prove(self, who: dict[str, Any], task_id: int, **changes: Any) -> Any:
        """A field that is ... is left out."""
        sent = {
            "task_id": task_id,
            "verdict": "match",
            "observed_at": instant_text(self.clock.now),
            "observed_result": "The exchange lists it.",
            "source_url": "https://example.com/abc",
        } | changes
        body = {name: value for name, value in sent.items() if value is not ...}
        return self.client.post("/tasks/submit-proof", json=body, headers=who["headers"])

    def finish(self, who: dict[str, Any], task_id: int) -> Any:
        """The proof of a task that is no re-observation."""
        return self.prove(who, task_id, verdict=..., source_url=...)

    def decide(self, claim_id: int, word: str = "verified") -> Any:
        body = {"verdict": word, "note": "Compared with the notice."}
        path = f"/admin/tasks/claims/{claim_id}/verdict"
        return self.client.post(path, json=body, headers=self.operator)

    def run_job(self) -> Mapping[str, Any]:
        return job.run(place(self.deps), self.clock.now)

    def give(self, who: dict[str, Any], amount: int) -> None:
        with self.deps.database.write() as session:
            credit_ledger.earn(session, who["id"], amount, "test", {}, self.clock.now)

    def fund(self, some: Sequence[dict[str, Any]]) -> None:
        """One wallet sends each of them its first USDC."""
        with self.deps.database.write() as session:
            for number, who in enumerate(some, 1):
                fund(session, who["id"], "0x" + "ab" * 20, number)

    def holds(self, who: dict[str, Any]) -> tuple[int, int, int]:
        """Earned, bonded and owed."""
        with self.deps.database.read() as session:
            held = load_balance(session, who["id"])
            return held.earned, held.bonded, held.owed

    def stages(self, task_id: int) -> list[tuple[str, int]]:
        with self.deps.database.read() as session:
            query = select(TaskClaim.stage, TaskClaim.tenths).where(TaskClaim.task_id == task_id)
            rows = session.execute(query.order_by(TaskClaim.id))
            return [(stage, tenths) for stage, tenths in rows]

    def written(self) -> dict[str, Any]:
        """Every row of the market, of what it pays and of credits."""
        with self.deps.database.read() as session:
            rows = {
                name: session.scalars(text(f"select t::text from {name} t order by 1")).all()
                for name in (*TABLES, *LEDGERS)
            }
            return rows | {"heads": session.execute(text("select * from credit_head")).all()}


@pytest.fixture
def market(nine: Scene, crowded: TestClient, deps: Deps, operator: dict[str, str]) -> Market:
    return Market(crowded, deps, operator, copy.deepcopy(nine.held))


def named(answer: Any) -> tuple[int, str]:
    body = answer.json()
    return answer.status_code, body.get("error") or body["service"]["reason"]


TABLES = ("task", "task_claim", "task_proof", "task_verdict", "task_review", "earn_award")
LEDGERS = ("earn_feed", "credit_entry", "earn_claim", "earn_queue")


def place(deps: Deps) -> JobPlace:
    return JobPlace(
        database=deps.database,
        reader=deps.chain,
        mark_retention_days=90,
        intent_retention_days=90,
        limits=CallerLimits(),
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
