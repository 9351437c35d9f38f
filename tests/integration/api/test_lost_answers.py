"""An answer that shows secrets and is lost on its way: the same call with the same idempotency key
shows them again, for a while.
"""

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eth_account import Account
from sqlalchemy import text

from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import (
    KEY,
    Clock,
    Limit,
    TestClient,
    bearer,
    connect,
    login,
    reason,
    signed,
)
from tests.integration.api.tools.conftest import message, send

IDEMPOTENCY = {"Idempotency-Key": "b8Vn3kQx7RmT2wYzL5pDcA"}
SECRETS = ("api_key", "recovery_code", "bearer_token")
Body = dict[str, Any]


def of_connect(client: TestClient) -> Body:
    return {"agent_name": "quant"}


def of_register(client: TestClient) -> Body:
    wallet = Account.create()
    return signed(client, wallet, "register") | {"agent_name": "quant"}


def of_register_external(client: TestClient) -> Body:
    return {"external_id": "miner-7", "agent_name": "quant"}


def of_recover(client: TestClient) -> Body:
    return {"recovery_code": connect(client)["recovery_code"]}


CALLS: dict[str, Callable[[TestClient], Body]] = {
    "/auth/agent/connect": of_connect,
    "/auth/agent/register": of_register,
    "/mining/register": of_register_external,
    "/auth/agent/recover": of_recover,
}


@pytest.mark.parametrize("path", CALLS)
def test_a_lost_answer__is_answered_again_with_the_same_secrets_that_work(
    client: TestClient, path: str
) -> None:
    body = CALLS[path](client)
    lost, again = (client.post(path, json=body, headers=IDEMPOTENCY) for _ in range(2))
    assert (lost.status_code, again.status_code) == (200, 200)
    assert (lost.headers.get("Idempotent-Replay"), again.headers.get("Idempotent-Replay")) == (
        None,
        "true",
    )
    assert again.json() == lost.json()
    assert client.get("/agent/status", headers={KEY: again.json()["api_key"]}).status_code == 200
    assert (
        client.get("/auth/wallet/status", headers=bearer(again.json()["bearer_token"])).status_code
        == 200
    )


def test_an_owners_connect__is_answered_again_to_the_owner_alone(
    client: TestClient, wallet: Any
) -> None:
    owner, other = login(client, wallet), login(client, Account.create())
    mine = [
        client.post(
            "/auth/agent/connect", json={"agent_name": "a"}, headers={**owner, **IDEMPOTENCY}
        ).json()
        for _ in range(2)
    ]
    others = client.post(
        "/auth/agent/connect", json={"agent_name": "a"}, headers={**other, **IDEMPOTENCY}
    ).json()
    assert mine[0] == mine[1]
    assert not set(mine[0].values()) & {others[name] for name in SECRETS}


@pytest.mark.parametrize("path", CALLS)
def test_nothing_of_the_secrets__nor_the_idempotency_key__is_stored(
    client: TestClient, database: Database, path: str
) -> None:
    shown = client.post(path, json=CALLS[path](client), headers=IDEMPOTENCY).json()
    with database.read() as session:
        stored = json.dumps(
            [
                list(row)
                for row in session.execute(
                    text("select scope, key, body::text from idempotency_record")
                )
            ]
        )
    assert "user_id" in stored
    assert not [name for name in SECRETS if shown[name] in stored or shown[name][8:] in stored]
    assert IDEMPOTENCY["Idempotency-Key"] not in stored


def test_after_ten_minutes__the_secrets_are_not_shown_again(
    client: TestClient, clock: Clock
) -> None:
    assert (
        client.post(
            "/auth/agent/connect", json={"agent_name": "a"}, headers=IDEMPOTENCY
        ).status_code
        == 200
    )
    clock.pass_(minutes=9, seconds=59)
    assert (
        client.post(
            "/auth/agent/connect", json={"agent_name": "a"}, headers=IDEMPOTENCY
        ).status_code
        == 200
    )
    clock.pass_(seconds=1)
    refused = client.post("/auth/agent/connect", json={"agent_name": "a"}, headers=IDEMPOTENCY)
    assert reason(refused) == (409, "idempotency_key_reused")


def test_another_body__or_another_key__gets_no_secrets_of_the_first(client: TestClient) -> None:
    first = client.post("/auth/agent/connect", json={"agent_name": "a"}, headers=IDEMPOTENCY).json()
    assert reason(
        client.post("/auth/agent/connect", json={"agent_name": "b"}, headers=IDEMPOTENCY)
    ) == (409, "idempotency_key_reused")
    other = client.post(
        "/auth/agent/connect", json={"agent_name": "a"}, headers={"Idempotency-Key": "c" * 22}
    ).json()
    assert not set(first.values()) & {other[name] for name in SECRETS}


@each(
    ("key", "status"),
    [("k" * 21, 400), ("k" * 22, 200), ("k" * 128, 200), ("k" * 129, 400), ("k" * 22 + "!", 400)],
)
def test_a_key_that_could_be_guessed__is_refused(client: TestClient, key: str, status: int) -> None:
    answer = client.post(
        "/auth/agent/connect", json={"agent_name": "a"}, headers={"Idempotency-Key": key}
    )
    assert answer.status_code == status


def test_eight_at_once__make_one_agent(limited: Limit, database: Database) -> None:
    clients = [limited(peer=f"198.51.100.{n}") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda one: one.post(
                    "/auth/agent/connect", json={"agent_name": "a"}, headers=IDEMPOTENCY
                ),
                clients,
            )
        )
    assert set(Counter(one.status_code for one in answers)) <= {200, 409}
    assert len({one.json()["api_key"] for one in answers if one.status_code == 200}) == 1
    with database.read() as session:
        assert session.scalar(text("select count(*) from account where kind = 'agent'")) == 1


GUESSED = ["connect-my-agent-2026-11-23", "a" * 22, "00000000-0000-0000-0000-000000000000"]
PUBLIC_BODIES = {
    "/auth/agent/connect": {"agent_name": "my-agent"},
    "/mining/register": {"external_id": "miner-7", "agent_name": "my-agent"},
}


@pytest.mark.parametrize("path", PUBLIC_BODIES)
@pytest.mark.parametrize("key", GUESSED)
def test_a_guessed_key__hands_nobody_the_agent_of_another_address(
    limited: Limit, path: str, key: str
) -> None:
    """A thief who had used the victim's key and body before it had the victim's agent too."""
    thief, victim = limited(peer="198.51.100.66"), limited(peer="203.0.113.9")
    sent = {"json": PUBLIC_BODIES[path], "headers": {"Idempotency-Key": key}}
    mine = thief.post(path, **sent)
    refused = victim.post(path, **sent)
    assert reason(refused) == (409, "idempotency_key_reused")
    assert "another network address" in refused.json()["detail"]
    assert thief.post(path, **sent).json() == mine.json()


@pytest.mark.parametrize("path", ["/auth/agent/register", "/auth/agent/recover"])
def test_a_body_that_only_its_caller_has__is_answered_again_from_another_address(
    limited: Limit, path: str
) -> None:
    """A signature or a recovery code is used up: the account would be lost with its answer."""
    first, moved = limited(peer="198.51.100.66"), limited(peer="203.0.113.9")
    body = CALLS[path](first)
    lost, again = (one.post(path, json=body, headers=IDEMPOTENCY) for one in (first, moved))
    assert (lost.status_code, again.json()) == (200, lost.json())


def test_an_owners_connect__is_answered_again_from_another_address(
    limited: Limit, wallet: Any
) -> None:
    first, moved = limited(peer="198.51.100.66"), limited(peer="203.0.113.9")
    headers = {**login(first, wallet), **IDEMPOTENCY}
    body = {"agent_name": "a"}
    answers = [
        one.post("/auth/agent/connect", json=body, headers=headers) for one in (first, moved)
    ]
    assert answers[0].json() == answers[1].json()


def test_schemas__say_that_the_key_of_a_call_that_shows_secrets_is_random_and_secret(
    client: TestClient,
) -> None:
    calls = client.get("/openapi.json").json()["paths"]
    said = [
        one["description"]
        for path in CALLS
        for one in calls[path]["post"]["parameters"]
        if one["name"] == "Idempotency-Key"
    ]
    tools = send(client, message("tools/list"), None).json()["result"]["tools"]
    tool = next(one for one in tools if one["name"] == "agent_connect")
    said.append(tool["inputSchema"]["properties"]["idempotency_key"]["description"])
    assert len(said) == 5
    assert [one for one in said if "Make it random" not in one or "keep it secret" not in one] == []


UNKNOWN = ["/auth/agent/connect", "/agent/catalog"]


def test_a_wrong_recovery_code__leads_to_connect_and_the_catalogue(client: TestClient) -> None:
    refused = client.post(
        "/auth/agent/recover", json={"recovery_code": "svc_rec_wrong"}, headers=IDEMPOTENCY
    )
    assert reason(refused) == (401, "auth_invalid")
    assert [one["path"] for one in refused.json()["service"]["next"]] == UNKNOWN


@pytest.mark.parametrize(
    ("headers", "path", "way"),
    [
        ({KEY: "svc_key_dead"}, "/agent/status", "/auth/agent/recover"),
        (bearer("svc_agt_dead"), "/auth/wallet/status", "/auth/agent/recover"),
        (bearer("svc_own_dead"), "/agents/mine", "/auth/owner/login"),
    ],
    ids=["agent key", "token of connect", "owner session"],
)
def test_a_dead_credential__is_told_its_own_way_back_first(
    client: TestClient, headers: dict[str, str], path: str, way: str
) -> None:
    refused = client.get(path, headers=headers)
    assert reason(refused) == (401, "auth_invalid")
    assert way in refused.json()["detail"]
    assert [one["path"] for one in refused.json()["service"]["next"]] == UNKNOWN
