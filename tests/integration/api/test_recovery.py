"""Recovery of a lost key, through the application and a real database."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database
from tests.integration.api.conftest import (
    KEY,
    Clock,
    Limit,
    TestClient,
    bearer,
    connect,
    login,
    reason,
)


def recover(client: TestClient, code: str, **fields: Any) -> Any:
    return client.post("/auth/agent/recover", json={"recovery_code": code, **fields})


def external(client: TestClient) -> dict[str, Any]:
    return dict(
        client.post(
            "/mining/register", json={"external_id": "miner-7", "agent_name": "quant"}
        ).json()
    )


def test_recover__replaces_key_code_and_token_together(client: TestClient) -> None:
    before = connect(client)
    answer = recover(client, before["recovery_code"])
    after = answer.json()
    assert (answer.status_code, set(after)) == (
        200,
        {"api_key", "recovery_code", "user_id", "bearer_token"},
    )
    assert after["user_id"] == before["user_id"]
    assert client.get("/agent/status", headers={KEY: before["api_key"]}).status_code == 401
    assert (
        client.get("/auth/wallet/status", headers=bearer(before["bearer_token"])).status_code == 401
    )
    assert reason(recover(client, before["recovery_code"])) == (401, "auth_invalid")
    assert (
        client.get("/agent/status", headers={KEY: after["api_key"]}).json()["credit_balance"] == 10
    )
    assert (
        client.get("/auth/wallet/status", headers=bearer(after["bearer_token"])).status_code == 200
    )
    assert recover(client, after["recovery_code"]).status_code == 200


def test_recover__keeps_scopes_limits_and_the_days_count(
    client: TestClient, wallet: LocalAccount
) -> None:
    owner = login(client, wallet)
    agent = connect(client, owner)
    body = {"scopes": ["read"], "per_order_usd": "5.000000", "per_day_usd": "9"}
    assert (
        client.put(f"/agents/{agent['user_id']}/scopes", json=body, headers=owner).status_code
        == 200
    )
    assert (
        client.get("/agent/scopes", headers={KEY: agent["api_key"]}).headers[
            "X-RateLimit-Remaining"
        ]
        == "1999"
    )
    key = {KEY: recover(client, agent["recovery_code"]).json()["api_key"]}
    answer = client.get("/agent/scopes", headers=key)
    assert (
        answer.json()["scopes"],
        answer.json()["per_order_usd"],
        answer.json()["per_day_usd"],
    ) == (["read"], "5.000000", "9.000000")
    assert answer.headers["X-RateLimit-Remaining"] == "1998"


@pytest.mark.slow
def test_recover__with_one_code_at_once_from_eight_addresses__recovers_once(limited: Limit) -> None:
    clients = [limited(peer=f"198.51.100.{n}") for n in range(8)]
    code = connect(clients[0])["recovery_code"]
    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(lambda one: recover(one, code).status_code, clients))
    assert statuses == {200: 1, 401: 7}


def test_recover__of_another_systems_agent__needs_its_recovery_name(client: TestClient) -> None:
    agent = external(client)
    assert reason(recover(client, agent["recovery_code"])) == (401, "auth_invalid")
    assert reason(recover(client, agent["recovery_code"], agent_name="quant")) == (
        401,
        "auth_invalid",
    )
    answer = recover(client, agent["recovery_code"], agent_name=agent["recovery_agent_name"])
    assert (answer.status_code, answer.json()["user_id"]) == (200, agent["user_id"])
    again = recover(client, answer.json()["recovery_code"], agent_name=agent["recovery_agent_name"])
    assert again.status_code == 200


@pytest.mark.parametrize(("name", "status"), [("quant", 200), ("another", 401)])
def test_recover__with_the_agents_own_name__checks_it(
    client: TestClient, name: str, status: int
) -> None:
    assert recover(client, connect(client)["recovery_code"], agent_name=name).status_code == status


def test_recover__wrong_codes_of_an_address__are_bounded_by_the_hour(
    limited: Limit, clock: Clock, database: Database
) -> None:
    client, elsewhere = (
        limited(recovery_failures_per_hour=2),
        limited(peer="198.51.100.7", recovery_failures_per_hour=2),
    )
    code = connect(client)["recovery_code"]
    for _ in range(2):
        assert reason(recover(client, "svc_rec_wrong")) == (401, "auth_invalid")
        clock.pass_(minutes=1)
    answer = recover(client, code)
    assert reason(answer) == (429, "rate_limited")
    assert answer.json()["service"]["retry_at"] == "2026-11-21T13:00:00Z"
    assert recover(elsewhere, "svc_rec_wrong").status_code == 401
    clock.pass_(minutes=57, seconds=59)
    assert recover(client, code).status_code == 429
    clock.pass_(seconds=1)
    assert reason(recover(client, "svc_rec_wrong")) == (401, "auth_invalid")
    with database.read() as session:
        assert (
            session.scalar(
                text("select count(*) from recovery_failure where client = '203.0.113.9'")
            )
            == 2
        )
    clock.pass_(minutes=1)
    assert recover(client, code).status_code == 200


def test_recover__wrong_codes_at_once__never_pass_the_bound(limited: Limit) -> None:
    client = limited(recovery_failures_per_hour=3)
    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(
            pool.map(lambda n: recover(client, f"svc_rec_{n}").status_code, range(8))
        )
    assert statuses == {401: 3, 429: 5}


KEY_OF_THE_CALL = {"Idempotency-Key": "b8Vn3kQx7RmT2wYzL5pDcA"}


def test_recover__refused_and_sent_as_the_refusal_says_with_the_same_key__recovers(
    client: TestClient,
) -> None:
    """The refusal was kept as the key's answer: what it advised was 409 idempotency_key_reused."""
    made = external(client)
    body = {"recovery_code": made["recovery_code"]}
    refused = client.post("/auth/agent/recover", json=body, headers=KEY_OF_THE_CALL)
    assert reason(refused) == (401, "auth_invalid")
    right = {**body, "agent_name": made["recovery_agent_name"]}
    answers = [
        client.post("/auth/agent/recover", json=right, headers=KEY_OF_THE_CALL) for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


def test_recover__a_wrong_code_with_one_key__counts_once_each_time_it_is_sent(
    client: TestClient, clock: Clock
) -> None:
    """A repeated refusal was the kept one, whose secrets were then said to be shown no more."""

    def wrong() -> Any:
        body = {"recovery_code": "svc_rec_wrong"}
        return reason(client.post("/auth/agent/recover", json=body, headers=KEY_OF_THE_CALL))

    assert [wrong() for _ in range(10)] == [(401, "auth_invalid")] * 10
    assert wrong() == (429, "rate_limited")
    clock.pass_(minutes=60)
    assert wrong() == (401, "auth_invalid")


def test_recover__a_wrong_code__says_what_to_send_and_where_to_go_on(client: TestClient) -> None:
    answer = recover(client, "svc_rec_wrong")
    assert answer.json()["detail"].startswith(
        "recovery_code: it is not valid, has already been used, or does not belong to agent_name."
    )
    assert [call["path"] for call in answer.json()["service"]["next"]] == [
        "/auth/agent/connect",
        "/agent/catalog",
    ]


# Rotation by the owner


def test_rotate__replaces_key_code_and_token_and_leaves_scopes_and_count(
    client: TestClient, wallet: LocalAccount
) -> None:
    owner = login(client, wallet)
    agent = connect(client, owner)
    client.put(f"/agents/{agent['user_id']}/scopes", json={"scopes": []}, headers=owner)
    client.get("/agent/scopes", headers={KEY: agent["api_key"]})
    answer = client.post(f"/agents/{agent['user_id']}/keys/rotate", headers=owner)
    after = answer.json()
    assert (answer.status_code, set(after)) == (
        200,
        {"user_id", "api_key", "recovery_code", "bearer_token", "unlinked_wallet"},
    )
    assert reason(client.get("/agent/scopes", headers={KEY: agent["api_key"]})) == (
        401,
        "auth_invalid",
    )
    scopes = client.get("/agent/scopes", headers={KEY: after["api_key"]})
    assert (scopes.json()["scopes"], scopes.headers["X-RateLimit-Remaining"]) == ([], "1998")
    assert (
        client.get("/auth/wallet/status", headers=bearer(after["bearer_token"])).status_code == 200
    )
    assert recover(client, after["recovery_code"]).status_code == 200


def test_no_secret_that_replaces_another__is_stored(
    client: TestClient, database: Database, wallet: LocalAccount
) -> None:
    owner = login(client, wallet)
    after = recover(client, connect(client)["recovery_code"]).json()
    agent = connect(client, owner)
    rotated = client.post(
        f"/agents/{agent['user_id']}/keys/rotate", headers=owner | {"Idempotency-Key": "k"}
    ).json()
    secrets = [
        made[name]
        for made in (after, rotated)
        for name in ("api_key", "recovery_code", "bearer_token")
    ]
    with database.read() as session:
        for table in ("account", "api_key", "session", "idempotency_record", "recovery_failure"):
            rows = str(session.execute(text(f"select * from {table}")).all())
            assert not any(secret in rows for secret in secrets)
