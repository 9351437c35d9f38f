"""Listings to mine, agents that submit, and operators who review."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text
from starlette.testclient import TestClient

from api.kernel.limits import Limits
from api.kernel.operation import Access, Deps
from api.kernel.workers import CALLS, CALLS_OF_ONE, Pools, Workers
from api.main import create_app
from core.db.engine import Database
from core.identity.tables import Account as AccountRow
from core.limits import CallerLimits
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from tests.integration.api.conftest import BASE_URL, KEY, Clock, bearer, connect, nonce_for, sign
from tests.integration.api.in_process import AppClient

LINK = "0x514910771AF9Ca656af840dff83E8264EcF986CA"
OTHER = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
EVIDENCE = "https://docs.chain.link/contracts"
TABLES = (
    "mining_submission",
    "mining_entry",
    "mining_review",
    "mining_fact",
    "task",
    "room",
    "room_message",
    "earn_feed",
    "earn_award",
    "credit_entry",
)


def key(agent: dict[str, Any]) -> dict[str, str]:
    return {KEY: agent["api_key"]}


def entry(name: str = "blockchain", value: Any = "ethereum", **changes: Any) -> dict[str, Any]:
    return {"field_name": name, "field_value": value, "evidence_url": EVIDENCE} | changes


CHAIN, CONTRACT = entry(), entry("contract_address", LINK)


class Mine:
    """What tests do to the service: `client` is the agents', `operator` the headers of one."""

    def __init__(
        self, client: TestClient, operator: dict[str, str], database: Database, clock: Clock
    ) -> None:
        self.client, self.operator, self.database, self.clock = client, operator, database, clock

    @cached_property
    def agent(self) -> dict[str, Any]:
        """One that has just connected."""
        return connect(self.client)

    def submit(
        self, agent: dict[str, Any], *entries: dict[str, Any], status: int = 200, **changes: Any
    ) -> dict[str, Any]:
        body = {"exchange": "binance", "symbol": "LINK/USDT", "entries": list(entries)} | changes
        answer = self.client.post("/agent/mining/submit", json=body, headers=key(agent))
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    def decide(
        self, verb: str, submission_id: int, by: dict[str, str] | None = None, **body: Any
    ) -> Any:
        path = f"/admin/mining/submissions/{submission_id}/{verb}"
        return self.client.post(path, json=body, headers=by or self.operator)

    def approve(self, made: dict[str, Any], place: int = 0, **changes: Any) -> dict[str, Any]:
        answer = self.decide("approve", made["submission_id"], **record(made, place), **changes)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def reject(
        self, made: dict[str, Any], reason_code: str = "value_wrong", place: int = 0
    ) -> dict[str, Any]:
        entry_id = made["entries"][place]["entry_id"]
        answer = self.decide(
            "reject", made["submission_id"], entry_id=entry_id, reason_code=reason_code
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def fields(self, exchange: str = "binance", symbol: str = "LINK_USDT") -> dict[str, Any]:
        answer = self.client.get(f"/agent/mining/fields/{exchange}/{symbol}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def field(self, name: str) -> dict[str, Any]:
        found = [one for group in self.fields()["groups"] for one in group["fields"]]
        return next(one for one in found if one["field"] == name)

    def submissions(self, agent: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
        answer = self.client.get("/agent/mining/submissions", params=query, headers=key(agent))
        assert answer.status_code == 200, answer.text
        return list(answer.json()["submissions"])

    def credits(self, agent: dict[str, Any]) -> dict[str, Any]:
        return dict(self.client.get("/credits/balance", headers=key(agent)).json())

    def re_observe(self, agent: dict[str, Any], task_id: int, verdict: str = "match") -> None:
        """From a network address of its own."""
        self.set_apart(agent)
        claimed = self.client.post(f"/tasks/{task_id}/claim", headers=key(agent))
        assert claimed.status_code in (200, 201), claimed.text
        proof = {
            "task_id": task_id,
            "verdict": verdict,
            "observed_at": "2026-11-21T11:59:00Z",
            "observed_result": "The page says so.",
            "source_url": EVIDENCE,
        }
        filed = self.client.post("/tasks/submit-proof", json=proof, headers=key(agent))
        assert filed.status_code in (200, 201), filed.text

    def set_apart(self, agent: dict[str, Any]) -> None:
        """Let the agent and its owner have come from a network address of their own."""
        with self.database.write() as session:
            row = session.get_one(AccountRow, agent["user_id"])
            row.registered_from = f"2001:db8:{row.id:x}::/64"
            if row.owner_id is not None:
                session.get_one(AccountRow, row.owner_id).registered_from = row.registered_from

    def rows(self) -> dict[str, int]:
        with self.database.read() as session:
            return {
                table: session.scalar(text(f"select count(*) from {table}")) or 0
                for table in TABLES
            }


def record(made: Mapping[str, Any], place: int = 0) -> dict[str, Any]:
    return {
        "entry_id": made["entries"][place]["entry_id"],
        "method": "reproduced",
        "source": EVIDENCE,
        "observed_at": "2026-11-21T11:59:00Z",
        "observed_result": "The page names it.",
        "match": True,
    }


@pytest.fixture
def listed(database: Database, clock: Clock) -> None:
    with database.write() as session:
        for exchange, quote in (("binance", "USDT"), ("upbit", "KRW")):
            add_listings(
                session,
                exchange,
                [Symbol("LINK", quote), Symbol("BTC", quote)],
                is_simulated=exchange == "upbit",
                now=clock.now,
            )


@pytest.fixture
def mine(
    client: TestClient, operator: dict[str, str], database: Database, clock: Clock, listed: None
) -> Mine:
    return Mine(client, operator, database, clock)


Rebuild = Callable[..., Mine]


@pytest.fixture
def mine_with(
    limited: Callable[..., TestClient],
    operator: dict[str, str],
    database: Database,
    clock: Clock,
    listed: None,
) -> Rebuild:
    """The same with other limits."""
    return lambda **limits: Mine(limited(**limits), operator, database, clock)


@pytest.fixture
def operators_wallet() -> LocalAccount:
    account: LocalAccount = Account.from_key("0x" + "44" * 32)
    return account


@pytest.fixture
def place(database: Database) -> Any:
    """What a slow job works with."""
    return SimpleNamespace(database=database, limits=CallerLimits())


@pytest.fixture
def signed_in(
    deps: Deps, operators_wallet: LocalAccount
) -> Callable[[], tuple[Any, dict[str, str]]]:
    """A client of an application in which that wallet makes an operator, and its headers there."""

    def start() -> tuple[Any, dict[str, str]]:
        own = replace(deps, limits=Limits(), workers=Pools(Workers(CALLS, CALLS_OF_ONE))).with_part(
            Access,
            replace(
                deps.parts.of(Access),
                operator_addresses=frozenset({operators_wallet.address.lower()}),
            ),
        )
        client = AppClient(create_app(own), base_url=BASE_URL)
        message = nonce_for(client, operators_wallet, "login")
        body = {"message": message, "signature": sign(operators_wallet, message)}
        token = client.post("/auth/owner/login", json=body).json()["bearer_token"]
        return client, bearer(token)

    return start
