"""What an agent says of itself, signed or not, and its owner's seed, through the application."""

import hashlib
from typing import Any

import pytest
import rfc8785
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import (
    KEY,
    TestClient,
    connect,
    link,
    login,
    reason,
    sign,
)

RECORD: dict[str, Any] = {
    "persona": "A careful buyer; €, ñ and 한국어 too.",
    "strategy": "Buys units below their mean.",
    "progress": None,
    "next_steps": ["find a mandate", "report every move"],
}
SHA256 = hashlib.sha256(rfc8785.dumps(RECORD)).hexdigest()


@pytest.fixture
def linked(client: TestClient, agent: dict[str, Any], wallet: LocalAccount) -> dict[str, Any]:
    """The agent, with its wallet linked."""
    assert link(client, agent["bearer_token"], wallet).status_code == 200
    return agent


def declare(client: TestClient, agent: dict[str, Any], **body: Any) -> Any:
    return client.post("/agent/self", json=body, headers={KEY: agent["api_key"]})


def read(client: TestClient, agent: dict[str, Any], **query: str) -> dict[str, Any]:
    answer = client.get("/agent/self", headers={KEY: agent["api_key"]}, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def self_text(client: TestClient, wallet: LocalAccount, record_sha256: str = SHA256) -> str:
    body = {"wallet_address": wallet.address, "purpose": "self", "record_sha256": record_sha256}
    answer = client.post("/auth/wallet/nonce", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["message"])


def test_before_the_first_version__every_field_is_null(
    client: TestClient, agent: dict[str, Any]
) -> None:
    body = read(client, agent)
    assert [
        body[name] for name in (*RECORD, "persona_by", "signed_by", "record_sha256", "declared_at")
    ] == [None] * 8
    assert (body["signed"], body["version"], body["is_self_declared"]) == (False, 0, True)


def test_declared_without_a_signature__is_kept_as_unsigned(
    client: TestClient, agent: dict[str, Any]
) -> None:
    answer = declare(client, agent, **RECORD)
    assert answer.json() == read(client, agent)
    body = answer.json()
    assert {name: body[name] for name in RECORD} == RECORD
    assert (body["signed"], body["signed_by"], body["record_sha256"], body["version"]) == (
        False,
        None,
        SHA256,
        1,
    )
    assert (body["persona_by"], body["declared_at"]) == ("agent", "2026-11-21T12:00:00Z")


def test_declared_again__replaces_the_whole_record_and_keeps_the_old_version(
    client: TestClient, agent: dict[str, Any], database: Database
) -> None:
    declare(client, agent, **RECORD)
    body = declare(client, agent, progress="One mandate.").json()
    assert (body["persona"], body["persona_by"], body["progress"], body["version"]) == (
        None,
        None,
        "One mandate.",
        2,
    )
    with database.read() as session:
        assert session.scalar(text("select count(*) from agent_self_version")) == 2


def test_the_records_hash__is_of_its_rfc_8785_json(
    client: TestClient, agent: dict[str, Any]
) -> None:
    canonical = (
        '{"next_steps":null,"persona":"A careful buyer of units.","progress":null,"strategy":null}'
    )
    body = declare(client, agent, persona="A careful buyer of units.").json()
    assert body["record_sha256"] == hashlib.sha256(canonical.encode()).hexdigest()


# Signed


def test_signed_by_the_linked_wallet__is_provably_the_agents(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount
) -> None:
    message = self_text(client, wallet)
    assert (
        f"\nDeclare the record with SHA-256 {SHA256} as my agent's own. Signing moves no money.\n"
    ) in message
    body = declare(client, linked, **RECORD, signature=sign(wallet, message)).json()
    assert (body["signed"], body["signed_by"], body["record_sha256"], body["message"]) == (
        True,
        wallet.address,
        SHA256,
        message,
    )
    proven = Account.recover_message(
        encode_defunct(text=body["message"]), signature=body["signature"]
    )
    assert (proven, body["record_sha256"] in body["message"]) == (wallet.address, True)
    stranger = connect(client)
    assert read(client, stranger, wallet=wallet.address.lower()) == body


def test_declared_unsigned_after_a_signed_one__is_unsigned(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount
) -> None:
    declare(client, linked, **RECORD, signature=sign(wallet, self_text(client, wallet)))
    body = declare(client, linked, persona="Another.").json()
    assert (body["signed"], body["signed_by"], body["message"], body["signature"]) == (
        False,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("holds", "status"),
    [(SHA256, 200), ("ab" * 32, 400), ("", 400)],
    ids=["its hash", "another hash", "no hash"],
)
def test_a_message_that_the_client_built__is_taken_when_it_holds_the_records_hash(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount, holds: str, status: int
) -> None:
    ours = self_text(client, wallet)
    theirs = ours.replace(ours.split("\n")[3], f"I declare {holds}.")
    answer = declare(client, linked, **RECORD, signature=sign(wallet, theirs), message=theirs)
    assert answer.status_code == status, answer.text
    assert read(client, linked)["message"] == (theirs if status == 200 else None)


def test_a_signature_over_another_record__is_refused__and_the_next_call_fetches_the_right_text(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount
) -> None:
    signature = sign(wallet, self_text(client, wallet, "ab" * 32))
    answer = declare(client, linked, **RECORD, signature=signature)
    assert reason(answer) == (400, "signature_invalid")
    fresh = answer.json()["service"]["next"][0]
    assert fresh["body"] == {
        "wallet_address": wallet.address,
        "purpose": "self",
        "record_sha256": SHA256,
    }
    message = client.request(fresh["method"], fresh["path"], json=fresh["body"]).json()["message"]
    assert (
        declare(client, linked, **RECORD, signature=sign(wallet, message)).json()["signed"] is True
    )


def test_a_strangers_signature__is_refused_and_nothing_is_written(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount
) -> None:
    signature = sign(Account.create(), self_text(client, wallet))
    assert reason(declare(client, linked, **RECORD, signature=signature)) == (
        400,
        "signature_invalid",
    )
    assert read(client, linked)["version"] == 0


def test_a_text__signs_one_version(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount
) -> None:
    signature = sign(wallet, self_text(client, wallet))
    assert declare(client, linked, **RECORD, signature=signature).status_code == 200
    assert reason(declare(client, linked, **RECORD, signature=signature)) == (
        400,
        "signature_invalid",
    )


def test_texts_of_several_records__wait_side_by_side(
    client: TestClient, linked: dict[str, Any], wallet: LocalAccount
) -> None:
    message = self_text(client, wallet)
    assert self_text(client, wallet, "cd" * 32) != message
    assert declare(client, linked, **RECORD, signature=sign(wallet, message)).status_code == 200


def test_a_signature_without_a_linked_wallet__says_how_to_link_one(
    client: TestClient, agent: dict[str, Any], wallet: LocalAccount
) -> None:
    answer = declare(client, agent, **RECORD, signature=sign(wallet, self_text(client, wallet)))
    assert reason(answer) == (409, "wallet_required")
    assert "link one with /auth/wallet/link" in answer.json()["detail"]


def test_signing__needs_the_scope_sign__and_declaring_does_not(
    client: TestClient, wallet: LocalAccount
) -> None:
    owner = login(client, Account.create())
    agent = connect(client, owner)
    client.put(f"/agents/{agent['user_id']}/scopes", json={"scopes": ["read"]}, headers=owner)
    assert declare(client, agent, persona="Quiet.").status_code == 200
    answer = declare(client, agent, persona="Quiet.", signature="0x" + "11" * 65)
    body = answer.json()
    assert reason(answer) == (403, "agent_key_scope")
    assert (body["error"], body["scope"], body["service"]["missing"]) == (
        "agent_key_scope",
        "sign",
        "sign",
    )
    assert body["detail"] == "This key lacks the scope sign; its owner can grant it."


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"purpose": "self"}, 400, "record_sha256: send it only with purpose self"),
        (
            {"purpose": "login", "record_sha256": "ab" * 32},
            400,
            "record_sha256: send it only with purpose self",
        ),
        ({"purpose": "self", "record_sha256": "AB" * 32}, 400, "record_sha256: "),
    ],
)
def test_nonce__a_hash_without_its_purpose__is_refused(
    client: TestClient, wallet: LocalAccount, body: dict[str, str], status: int, says: str
) -> None:
    answer = client.post("/auth/wallet/nonce", json={"wallet_address": wallet.address, **body})
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(says)


# Bad input


@each(
    ("body", "field"),
    [
        ({}, "persona"),
        ({"persona": None}, "persona"),
        ({"persona": ""}, "persona"),
        ({"persona": 7}, "persona"),
        ({"strategy": "x" * 4_001}, "strategy"),
        ({"next_steps": ["x"] * 51}, "next_steps"),
        ({"next_steps": [{"a": 1}]}, "next_steps"),
        ({"persona": "x", "mood": "fine"}, "mood"),
    ],
    ids=["nothing", "null", "empty", "number", "long", "many", "object", "unknown"],
)
def test_a_record_of_another_form__names_the_field(
    client: TestClient, agent: dict[str, Any], body: dict[str, Any], field: str
) -> None:
    answer = declare(client, agent, **body)
    assert reason(answer) == (400, "invalid_parameter")
    assert answer.json()["detail"].startswith(field)
    assert read(client, agent)["version"] == 0


@pytest.mark.parametrize("kind", ["nobody", "an owner"])
def test_the_record_of_a_wallet_that_no_agent_has__is_not_found(
    client: TestClient, agent: dict[str, Any], wallet: LocalAccount, kind: str
) -> None:
    if kind == "an owner":
        login(client, wallet)
    answer = client.get(
        "/agent/self", headers={KEY: agent["api_key"]}, params={"wallet": wallet.address}
    )
    assert reason(answer) == (404, "not_found")


def test_the_same_key_again__declares_once(client: TestClient, agent: dict[str, Any]) -> None:
    headers = {KEY: agent["api_key"], "Idempotency-Key": "declare-1"}
    first = client.post("/agent/self", json={"persona": "Quiet."}, headers=headers)
    second = client.post("/agent/self", json={"persona": "Quiet."}, headers=headers)
    assert (second.json(), second.headers["Idempotent-Replay"]) == (first.json(), "true")
    assert read(client, agent)["version"] == 1


# The owner's seed


def test_the_owners_persona__stands_until_the_agent_declares_its_own(client: TestClient) -> None:
    owner = login(client, Account.create())
    agent = connect(client, owner)
    path = f"/agents/{agent['user_id']}/persona"
    seeded = client.post(path, json={"persona": "Seeded."}, headers=owner)
    assert (seeded.status_code, seeded.json()) == (200, read(client, agent))
    assert (seeded.json()["persona"], seeded.json()["persona_by"], seeded.json()["version"]) == (
        "Seeded.",
        "owner",
        0,
    )
    assert declare(client, agent, progress="Started.").json()["persona"] == "Seeded."
    body = declare(client, agent, persona="My own.").json()
    assert (body["persona"], body["persona_by"]) == ("My own.", "agent")
    assert (
        client.post(path, json={"persona": "Seeded again."}, headers=owner).json()["persona"]
        == "My own."
    )
