"""An operator makes no agent, and decides nothing of an agent that is its own: by owner, by wallet, or
by the money that first reached the agent's wallet.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import func, select

from api.kernel.operation import Access, Deps
from core.db.engine import Database
from core.identity.tables import Account as AccountRow
from tests.integration.api.conftest import (
    KEY,
    TestClient,
    bearer,
    connect,
    link,
    login,
    nonce_for,
    reason,
    sign,
)

SOURCE = "https://blog.example/post"
OPERATOR_WALLET: LocalAccount = Account.from_key("0x" + "44" * 32)
Registering = Callable[[TestClient, dict[str, str]], Any]


@pytest.fixture
def deps(deps: Deps) -> Deps:
    return deps.with_part(
        Access,
        replace(
            deps.parts.of(Access), operator_addresses=frozenset({OPERATOR_WALLET.address.lower()})
        ),
    )


def agents(database: Database) -> int:
    with database.read() as session:
        found = select(func.count()).select_from(AccountRow).where(AccountRow.kind == "agent")
        return session.scalar(found) or 0


def by_connect(client: TestClient, headers: dict[str, str]) -> Any:
    return client.post("/auth/agent/connect", json={"agent_name": "own"}, headers=headers)


def by_external_id(client: TestClient, headers: dict[str, str]) -> Any:
    body = {"agent_name": "own", "external_id": "elsewhere-1"}
    return client.post("/mining/register", json=body, headers=headers)


def by_recovery(client: TestClient, headers: dict[str, str]) -> Any:
    body = {"recovery_code": connect(client)["recovery_code"]}
    return client.post("/auth/agent/recover", json=body, headers=headers)


@pytest.mark.parametrize("register", [by_connect, by_external_id, by_recovery])
def test_an_operators_credential__makes_no_agent(
    client: TestClient, operator: dict[str, str], register: Registering
) -> None:
    for headers in (login(client, OPERATOR_WALLET), operator):
        refused = register(client, headers)
        assert reason(refused) == (403, "not_authorized")
        assert refused.json()["detail"].startswith("An operator can make only operators' calls")


def test_an_operators_session__has_no_agent_whose_work_it_could_approve(
    client: TestClient, database: Database
) -> None:
    by_connect(client, login(client, OPERATOR_WALLET))
    assert agents(database) == 0
    assert by_connect(client, {}).status_code == 200  # whoever is no operator


def test_an_operators_wallet__is_no_agents(client: TestClient, database: Database) -> None:
    message = nonce_for(client, OPERATOR_WALLET, "register")
    body = {
        "agent_name": "own",
        "wallet_address": OPERATOR_WALLET.address,
        "message": message,
        "signature": sign(OPERATOR_WALLET, message),
    }
    refused = client.post("/auth/agent/register", json=body)
    assert reason(refused) == (409, "wallet_taken")
    assert "belongs to an operator" in refused.json()["detail"]
    assert agents(database) == 0
    made = connect(client)
    assert reason(link(client, made["bearer_token"], OPERATOR_WALLET)) == (409, "wallet_taken")
    status = client.get("/auth/wallet/status", headers=bearer(made["bearer_token"]))
    assert status.json()["registered"] is False


def owning(client: TestClient, database: Database, agent: dict[str, Any]) -> dict[str, str]:
    """An operator's session, whose wallet owns the agent: it was an owner's before."""
    session = login(client, OPERATOR_WALLET)
    with database.write() as writing:
        found = select(AccountRow.id).where(AccountRow.kind == "owner")
        writing.get_one(AccountRow, agent["user_id"]).owner_id = writing.scalars(found).one()
    return session


def test_a_case_against_an_operators_agent__is_anothers_to_close(
    client: TestClient, database: Database, operator: dict[str, str]
) -> None:
    made = connect(client)
    body = {"agent_id": made["user_id"], "rule": "copied", "deadline": "2026-11-28T12:00:00Z"}
    case = client.post("/admin/violations", json=body, headers=operator).json()["case"]
    path = f"/admin/violations/{case}/close"
    refused = client.post(path, headers=owning(client, database, made))
    assert reason(refused) == (403, "conflict_of_interest")
    assert client.post(path, headers=operator).json()["status"] == "closed"


def test_an_operators_claim_about_a_token__is_anothers_to_decide(
    client: TestClient, database: Database
) -> None:
    made = connect(client)
    body = {"base": "LINK", "claim": "It has a dog.", "source_url": SOURCE, "kind": "project"}
    claim = client.post("/kg/claim", json=body, headers={KEY: made["api_key"]}).json()
    session = owning(client, database, made)
    path = f"/admin/kg/claims/{claim['claim_id']}/verdict"
    refused = client.post(path, json={"verdict": "verified"}, headers=session)
    assert reason(refused) == (403, "conflict_of_interest")
    assert client.get("/kg/claims").json()["claims"][0]["state"] == "unverified"
