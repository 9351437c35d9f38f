"""An agent's pages, its owner's fleet and the scopes of its key, through the application."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.areas.agents.service import pages
from api.areas.mining.views import entries as mining_views
from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, TestClient, connect, login, reason

FULL = {"full_access": True, "scopes": None, "per_order_usd": None, "per_day_usd": None}


@pytest.fixture
def owner(client: TestClient, wallet: LocalAccount) -> dict[str, str]:
    return login(client, wallet)


def set_scopes(
    client: TestClient, owner: dict[str, str], agent: dict[str, Any], **body: Any
) -> Any:
    return client.put(f"/agents/{agent['user_id']}/scopes", json=body, headers=owner)


def scopes(client: TestClient, agent: dict[str, Any]) -> dict[str, Any]:
    answer = client.get("/agent/scopes", headers={KEY: agent["api_key"]})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


# Scopes


def test_scopes__of_a_new_key__are_full_access(client: TestClient) -> None:
    agent = connect(client)
    assert scopes(client, agent) == {"user_id": agent["user_id"], **FULL}


def test_scopes__set_by_the_owner__are_replaced_whole(
    client: TestClient, owner: dict[str, str]
) -> None:
    agent = connect(client, owner)
    answer = set_scopes(
        client, owner, agent, scopes=["tx", "read", "tx"], per_order_usd="50.5", per_day_usd=200
    )
    granted = {
        "full_access": False,
        "scopes": ["tx", "read"],
        "per_order_usd": "50.500000",
        "per_day_usd": "200.000000",
    }
    assert answer.json() == scopes(client, agent) == {"user_id": agent["user_id"], **granted}
    assert set_scopes(client, owner, agent, scopes=None).json() == {
        "user_id": agent["user_id"],
        **FULL,
    }


def test_scopes__none_at_all__leaves_scopes_status_and_catalogue(
    client: TestClient, owner: dict[str, str]
) -> None:
    agent = connect(client, owner)
    assert set_scopes(client, owner, agent, scopes=[]).json()["full_access"] is False
    key = {KEY: agent["api_key"]}
    assert scopes(client, agent)["scopes"] == []
    assert client.get("/agent/status", headers=key).status_code == 200
    assert client.get("/agent/catalog", headers=key).status_code == 200
    answer = client.get("/mandate-wallet/agents/me", headers=key)
    assert reason(answer) == (403, "scope_denied")
    first = answer.json()["service"]["next"][0]
    assert client.request(first["method"], first["path"], headers=key).json()["scopes"] == []


@each(
    ("body", "code", "field"),
    [
        ({}, "invalid_parameter", "scopes: send it; it is required."),
        ({"scopes": ["admin"]}, "invalid_parameter", "scopes.0: "),
        ({"scopes": "read"}, "invalid_parameter", "scopes: "),
        (
            {"scopes": None, "per_order_usd": "0"},
            "invalid_number",
            "per_order_usd: write an amount above 0",
        ),
        (
            {"scopes": None, "per_day_usd": "1.0000001"},
            "invalid_number",
            "per_day_usd: write a decimal with at most 6 decimals",
        ),
    ],
    ids=["left out", "unknown", "no list", "zero", "seven decimals"],
)
def test_scopes__of_another_form__are_refused_and_nothing_changes(
    client: TestClient, owner: dict[str, str], body: dict[str, Any], code: str, field: str
) -> None:
    agent = connect(client, owner)
    answer = set_scopes(client, owner, agent, **body)
    assert reason(answer) == (400, code)
    assert field in answer.json()["detail"]
    assert scopes(client, agent) == {"user_id": agent["user_id"], **FULL}


# The fleet


def test_mine__lists_the_owners_agents_with_scopes_wallet_and_last_call(
    client: TestClient, owner: dict[str, str], clock: Clock
) -> None:
    used, unused = connect(client, owner), connect(client, owner)
    connect(client)
    set_scopes(client, owner, unused, scopes=["read"], per_day_usd="5")
    clock.pass_(minutes=3)
    client.get("/agent/status", headers={KEY: used["api_key"]})
    body = client.get("/agents/mine", headers=owner).json()
    first, second = body["agents"]
    assert body["agents_left"] == 18
    assert first == {
        "user_id": used["user_id"],
        "agent_name": "quant",
        "status": "active",
        "scopes": None,
        "per_order_usd": None,
        "per_day_usd": None,
        "wallet_address": None,
        "wallet_payable_at": None,
        "recovery_can_be_undone": False,
        "accepts_mandates": False,
        "registered_at": "2026-11-21T12:00:00Z",
        "last_call_at": "2026-11-21T12:03:00Z",
    }
    assert (second["scopes"], second["per_day_usd"], second["last_call_at"]) == (
        ["read"],
        "5.000000",
        None,
    )


def test_mine__never_shows_an_owners_id(
    client: TestClient, owner: dict[str, str], database: Database
) -> None:
    connect(client, owner)
    with database.read() as session:
        owner_id = session.scalar(text("select id from account where kind = 'owner'"))
    assert str(owner_id) not in client.get("/agents/mine", headers=owner).text


# Status and dashboard


def test_status__is_what_the_ledgers_say__and_not_recorded_where_there_are_none(
    client: TestClient, owner: dict[str, str]
) -> None:
    agent = connect(client, owner)
    assert client.get("/agent/status", headers={KEY: agent["api_key"]}).json() == {
        "user_id": agent["user_id"],
        "agent_name": "quant",
        "status": "active",
        "owned": True,
        "wallet_address": None,
        "registered_at": "2026-11-21T12:00:00Z",
        "credit_balance": 10,
        "credits": {"welcome": 10, "earned": 0, "converted": 0, "bonded": 0, "owed": 0},
        "contributions": {
            "mining_submissions": 0,
            "task_claims": 0,
            "points": "0.0",
            "mandates": {},
        },
        "reputation": {"name": "Newcomer", "verified_count": 0, "next_tier_at": 1},
        "tiers": {
            "subscription": "free",
            "subscription_until": None,
            "standing": "none",
        },
    }


def test_status__of_work_that_cannot_be_read__says_so_and_shows_the_rest(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(session: Session, agent_ids: Collection[int]) -> Mapping[int, Any]:
        session.execute(text("select 1 / 0"))
        return {}

    monkeypatch.setattr(pages, "agents_with_work", unreadable)
    body = client.get("/agent/status", headers={KEY: connect(client)["api_key"]}).json()
    assert body["contributions"] == {
        "mining_submissions": "not_recorded",
        "task_claims": "not_recorded",
        "points": "0.0",
        "mandates": {},
    }
    assert (body["reputation"], body["tiers"]["standing"]) == ("not_recorded", "not_recorded")
    assert body["credit_balance"] == 10


def test_dashboard__of_stages_that_cannot_be_read__says_so_and_shows_the_rest(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(session: Session, agent_ids: Collection[int]) -> Mapping[str, int]:
        session.execute(text("select 1 / 0"))
        return {}

    monkeypatch.setattr(mining_views, "stage_counts", unreadable)
    body = client.get("/agent/dashboard", headers={KEY: connect(client)["api_key"]}).json()
    stages = body["review_stages"]
    lines = [stages[name] for name in stages if name != "verified"] + list(
        stages["verified"].values()
    )
    assert lines == [{"task_claims": 0, "mining_submissions": "not_recorded"}] * 7
    assert body["credit_balance"] == 10
