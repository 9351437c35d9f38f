"""Registration by wallet and by another system's id, and how many may register at once, through the
application.
"""

from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import (
    KEY,
    Clock,
    FewAnswersChain,
    Limit,
    TestClient,
    at_once,
    bearer,
    connect,
    login,
    nonce_for,
    reason,
    sign,
    sign_in,
    signed,
)

SHOWN_ONCE = {"api_key", "recovery_code", "user_id", "bearer_token", "welcome_credit_granted"}


def register(client: TestClient, wallet: LocalAccount, **changes: Any) -> Any:
    body = signed(client, wallet, "register") | {"agent_name": "quant"}
    return client.post("/auth/agent/register", json=body | changes)


def register_external(client: TestClient, external_id: str = "miner-7") -> Any:
    return client.post("/mining/register", json={"external_id": external_id, "agent_name": "quant"})


# By wallet


def test_register__links_the_wallet_that_signed__and_credits_ten(
    client: TestClient, wallet: LocalAccount
) -> None:
    answer = register(client, wallet)
    assert (answer.status_code, set(answer.json())) == (200, SHOWN_ONCE)
    status = client.get("/agent/status", headers={KEY: answer.json()["api_key"]}).json()
    assert (status["wallet_address"], status["credit_balance"], status["owned"]) == (
        wallet.address,
        10,
        False,
    )
    linked = client.get("/auth/wallet/status", headers=bearer(answer.json()["bearer_token"])).json()
    assert linked == {
        "registered": True,
        "wallet_address": wallet.address,
        "wallet_payable_at": "2026-11-21T12:00:00Z",
    }


def test_register__with_another_wallets_signature__registers_nobody(
    client: TestClient, wallet: LocalAccount, database: Database
) -> None:
    stranger = Account.create()
    signature = sign(stranger, nonce_for(client, wallet, "register"))
    assert reason(register(client, wallet, signature=signature)) == (400, "signature_invalid")
    with database.read() as session:
        assert session.scalar(text("select count(*) from account")) == 0


@pytest.mark.parametrize("purpose", ["link", "login"])
def test_register__with_a_text_of_another_purpose__is_refused(
    client: TestClient, wallet: LocalAccount, purpose: str
) -> None:
    signature = sign(wallet, nonce_for(client, wallet, purpose))
    assert reason(register(client, wallet, signature=signature)) == (400, "signature_invalid")


def test_register__a_wallet_not_yet_created__is_asked_by_erc_6492(
    client: TestClient,
    wallet: LocalAccount,
    chain: FewAnswersChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carries_creation = "0xabcd" + "6492" * 16
    monkeypatch.setattr(
        chain,
        "is_erc6492_signature",
        lambda _, __, signature, at: signature == carries_creation,
        raising=False,
    )
    assert reason(register(client, wallet, signature="0xabce" + "6492" * 16)) == (
        400,
        "signature_invalid",
    )
    assert register(client, wallet, signature=carries_creation).status_code == 200


def test_register__a_wallet_of_an_agent__is_taken_and_told_to_recover(
    client: TestClient, wallet: LocalAccount
) -> None:
    assert register(client, wallet).status_code == 200
    answer = register(client, wallet)
    assert reason(answer) == (409, "wallet_taken")
    assert "/auth/agent/recover" in answer.json()["detail"]


def test_register__an_owners_wallet__is_taken_and_told_to_sign_in(
    client: TestClient, wallet: LocalAccount
) -> None:
    login(client, wallet)
    answer = register(client, wallet)
    assert reason(answer) == (409, "wallet_taken")
    fresh = answer.json()["service"]["next"][0]
    message = client.request(fresh["method"], fresh["path"], json=fresh["body"]).json()["message"]
    assert sign_in(client, message, sign(wallet, message)).status_code == 200


def test_register__eight_times_at_once_with_one_wallet__makes_one_agent(
    client: TestClient, wallet: LocalAccount, database: Database
) -> None:
    body = signed(client, wallet, "register") | {"agent_name": "x"}
    statuses = at_once(8, lambda _: client.post("/auth/agent/register", json=body).status_code)
    assert statuses == {200: 1, 400: 7}
    with database.read() as session:
        assert session.scalar(text("select count(*) from account")) == 1


# By another system's id


def test_register_external__shows_a_recovery_name_of_its_own(client: TestClient) -> None:
    first, second = register_external(client).json(), register_external(client, "miner-8").json()
    assert set(first) == SHOWN_ONCE | {"recovery_agent_name"}
    assert first["recovery_agent_name"] != second["recovery_agent_name"]
    assert first["recovery_agent_name"].startswith("quant-")


def test_register_external__the_same_id_again__is_refused_and_told_how_to_go_on(
    client: TestClient,
) -> None:
    register_external(client)
    answer = register_external(client)
    assert reason(answer) == (409, "external_id_taken")
    assert "recovery_agent_name to /auth/agent/recover" in answer.json()["detail"]
    assert "retry_at" not in answer.json()["service"]


def test_register_external__one_id_at_once_from_eight_addresses__registers_once(
    limited: Limit,
) -> None:
    clients = [limited(peer=f"198.51.100.{n}") for n in range(8)]
    assert at_once(8, lambda n: register_external(clients[n]).status_code) == {200: 1, 409: 7}


@each("external_id", ["", "x" * 129, "a\nb", 7, None])
def test_register_external__an_id_of_another_form__names_the_field(
    client: TestClient, external_id: Any
) -> None:
    answer = register_external(client, external_id)
    assert reason(answer) == (400, "invalid_parameter")
    assert answer.json()["detail"].startswith("external_id: ")


# Limits, shared by the three ways in


def test_the_three_ways_in__share_one_counter(limited: Limit, wallet: LocalAccount) -> None:
    client = limited(registrations_per_minute=3)
    connect(client)
    assert register(client, wallet).status_code == 200
    assert register_external(client).status_code == 200
    assert reason(register_external(client, "miner-8")) == (429, "rate_limited")
    assert reason(register(client, Account.create())) == (429, "rate_limited")
    assert reason(client.post("/auth/agent/connect", json={"agent_name": "x"})) == (
        429,
        "rate_limited",
    )


def test_a_registration_that_the_limit_refused__may_use_its_text_later(
    limited: Limit, wallet: LocalAccount, clock: Clock
) -> None:
    client = limited(registrations_per_minute=1)
    connect(client)
    signature = sign(wallet, nonce_for(client, wallet, "register"))
    assert reason(register(client, wallet, signature=signature)) == (429, "rate_limited")
    clock.pass_(seconds=60)
    assert register(client, wallet, signature=signature).status_code == 200


def test_fifty_at_once_from_one_address__exactly_ten_register_and_three_are_credited(
    client: TestClient, database: Database
) -> None:
    assert at_once(
        50, lambda n: client.post("/auth/agent/connect", json={"agent_name": f"a{n}"}).status_code
    ) == {200: 10, 429: 40}
    with database.read() as session:
        assert session.scalar(text("select count(*) from account where kind = 'agent'")) == 10
        assert session.scalar(text("select count(*) from api_key")) == 10
        assert session.execute(text("select count(*), sum(welcome) from credit_head")).one() == (
            3,
            30,
        )


def test_twenty_five_owned_at_once__exactly_twenty_register_and_are_credited(
    client: TestClient, wallet: LocalAccount, database: Database
) -> None:
    owner = login(client, wallet)
    call = lambda n: (  # noqa: E731
        client.post("/auth/agent/connect", json={"agent_name": f"a{n}"}, headers=owner).status_code
    )
    assert at_once(25, call) == {200: 20, 409: 5}
    with database.read() as session:
        assert session.scalar(text("select count(*) from account where owner_id is not null")) == 20
        assert session.execute(text("select count(*), sum(welcome) from credit_head")).one() == (
            20,
            200,
        )
    refused = client.post("/auth/agent/connect", json={"agent_name": "x"}, headers=owner)
    assert reason(refused) == (409, "owned_agents_limit")
    assert "retry_at" not in refused.json()["service"]


# Defense levels


@pytest.mark.parametrize(("level", "credited"), [(0, 3), (1, 1), (2, 0), (3, 0)])
def test_a_defense_level__says_how_many_unowned_agents_a_day_are_credited(
    client: TestClient, operator: dict[str, str], level: int, credited: int
) -> None:
    assert client.put("/admin/defense", json={"level": level}, headers=operator).status_code == 200
    granted = [connect(client)["welcome_credit_granted"] for _ in range(4)]
    assert granted == [True] * credited + [False] * (4 - credited)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_defense_level__leaves_an_owner_the_credit(
    client: TestClient, operator: dict[str, str], wallet: LocalAccount, level: int
) -> None:
    client.put("/admin/defense", json={"level": level}, headers=operator)
    owner = login(client, wallet)
    connect(client)
    assert [connect(client, owner)["welcome_credit_granted"] for _ in range(2)] == [True, True]


def test_level_1__counts_the_agents_of_before_the_change(
    client: TestClient, operator: dict[str, str], clock: Clock
) -> None:
    connect(client)
    client.put("/admin/defense", json={"level": 1}, headers=operator)
    assert connect(client)["welcome_credit_granted"] is False
    clock.pass_(hours=12)
    assert connect(client)["welcome_credit_granted"] is True
