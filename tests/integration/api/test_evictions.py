"""What an eviction leaves to a thief who took every secret before it: each of them against each
route of the catalogue.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from api.catalogue import catalogue
from api.kernel.operation import Operation
from api.main import routed
from core.db.base import Base
from core.db.engine import Database
from tests.integration.api.conftest import (
    KEY,
    Clock,
    TestClient,
    bearer,
    connect,
    login,
    nonce_for,
    reason,
    sign,
)
from tests.slow import few

THIEF = Account.from_key("0x" + "66" * 32)
PAGE = Path(__file__).resolve().parents[3] / "docs" / "identity.md"
# what a refused call may leave behind
COUNTS = ("address_count", "request_count", "recovery_failure", "sign_in_nonce")
SECRETS = {"api_key", "recovery_code", "bearer_token"}


@dataclass
class Robbed:
    """An owner's agent, and copies of all its secrets in a thief's hands.

    `new`: what the last eviction answered.
    """

    client: TestClient
    clock: Clock
    database: Database
    wallet: LocalAccount
    owner: dict[str, str] = field(init=False)
    taken_session: dict[str, str] = field(init=False)
    taken: dict[str, Any] = field(init=False)
    new: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.owner, self.taken_session = (
            login(self.client, self.wallet),
            login(self.client, self.wallet),
        )
        self.taken = connect(self.client, self.owner)

    @property
    def id(self) -> int:
        return int(self.taken["user_id"])

    def post(self, path: str, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        answer: httpx.Response = self.client.post(
            path, json=body or None, headers=self.owner if headers is None else headers
        )
        return answer

    def link(self, token: str, wallet: LocalAccount = THIEF) -> httpx.Response:
        signature = sign(wallet, nonce_for(self.client, wallet, "link"))
        return self.post(
            "/auth/wallet/link", bearer(token), wallet_address=wallet.address, signature=signature
        )

    def recover(self, code: str) -> httpx.Response:
        return self.post("/auth/agent/recover", {}, recovery_code=code)

    def unlink(self, headers: dict[str, str] | None = None) -> httpx.Response:
        asked = {"wallet_address": self.wallet.address, "purpose": "unlink", "agent_id": self.id}
        message = self.client.post("/auth/wallet/nonce", json=asked).json()["message"]
        return self.post(
            f"/agents/{self.id}/wallet/unlink", headers, signature=sign(self.wallet, message)
        )

    def linked(self) -> str | None:
        """The agent's wallet by the ledgers."""
        with self.database.read() as session:
            found = session.scalar(
                text("select encode(wallet_address, 'hex') from account where id = :id"),
                {"id": self.id},
            )
        return None if found is None else "0x" + str(found)

    def alerts(self) -> list[tuple[str, bool]]:
        """(kind, whether it stands), oldest first."""
        found = self.client.get("/mandate-wallet/me/alerts", headers=self.owner).json()["alerts"]
        return [(alert["kind"], alert["withdrawn_at"] is None) for alert in reversed(found)]

    def fleet(self) -> dict[str, Any]:
        (agent,) = self.client.get("/agents/mine", headers=self.owner).json()["agents"]
        return dict(agent)

    def rows(self) -> dict[str, str]:
        """By table a digest of all that it holds."""
        with self.database.read() as session:
            names = sorted(set(Base.metadata.tables) - set(COUNTS))
            digest = "select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') from {} t"
            return {name: str(session.scalar(text(digest.format(f'"{name}"')))) for name in names}


@pytest.fixture
def robbed(client: TestClient, clock: Clock, database: Database, wallet: LocalAccount) -> Robbed:
    return Robbed(client, clock, database, wallet)


# Evictions


def rotation(robbed: Robbed) -> None:
    robbed.new = robbed.post(f"/agents/{robbed.id}/keys/rotate").json()


def unlink(robbed: Robbed) -> None:
    robbed.new = robbed.unlink().json()


def recovery(robbed: Robbed) -> None:
    """By the agent itself, which is a little faster than the thief."""
    robbed.new = robbed.recover(robbed.taken["recovery_code"]).json()


def undo_of_a_recovery(robbed: Robbed) -> None:
    """The thief has recovered the agent, and linked a wallet with the token that this gave."""
    robbed.taken = robbed.recover(robbed.taken["recovery_code"]).json()
    assert robbed.link(robbed.taken["bearer_token"]).status_code == 200
    robbed.new = robbed.post(f"/agents/{robbed.id}/recovery/undo").json()


def a_day(robbed: Robbed) -> None:
    robbed.clock.pass_(hours=24)
    robbed.owner = login(robbed.client, robbed.wallet)


EVICTIONS: dict[str, Callable[[Robbed], None]] = {
    "rotation": rotation,
    "unlink": unlink,
    "recovery": recovery,
    "undo of a recovery": undo_of_a_recovery,
    "24 hours": a_day,
}
HEADERS: dict[str, Callable[[Robbed], dict[str, str]]] = {
    "`api_key`": lambda robbed: {KEY: robbed.taken["api_key"]},
    "`bearer_token`": lambda robbed: bearer(robbed.taken["bearer_token"]),
    "another session of the owner": lambda robbed: robbed.taken_session,
}
WORKS = {
    "`api_key`": "/agent/status",
    "`bearer_token`": "/auth/wallet/status",
    "another session of the owner": "/agents/mine",
}


def said() -> dict[str, dict[str, str]]:
    """The page's table: eviction -> secret -> dead or lives."""
    head, _, *lines = (
        PAGE.read_text()
        .split("<!-- table: what an eviction leaves -->\n")[1]
        .split("\n\n")[0]
        .splitlines()
    )
    evictions = cells(head)[1:]
    table = {cells(line)[0]: dict(zip(evictions, cells(line)[1:], strict=True)) for line in lines}
    return {
        eviction: {secret: row[eviction] for secret, row in table.items()} for eviction in evictions
    }


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page__names_each_eviction() -> None:
    assert list(said()) == list(EVICTIONS)


def request(robbed: Robbed, row: Operation, headers: dict[str, str], **body: Any) -> httpx.Response:
    """The call as a thief makes it: with what the path needs, and whatever body."""
    path = (
        row.path.replace("{id}", str(robbed.id))
        .replace("{atom_id}", "first-call")
        .replace("{pb}/{path}", "first-hour/loop.md")
    )
    writes = {"json": body, "headers": headers | {"Accept": "application/json, text/event-stream"}}
    sent: dict[str, Any] = {"headers": headers} if row.method == "GET" else writes
    answer: httpx.Response = robbed.client.request(row.method, path, **sent)
    return answer


def status_and_reason(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    refused = body["error"].get("data", {}) if "jsonrpc" in body else body
    return answer.status_code, str(refused.get("service", {}).get("reason"))


@pytest.mark.parametrize("eviction", few([*EVICTIONS], 0))
def test_a_thief_with_every_secret__after_an_eviction(robbed: Robbed, eviction: str) -> None:
    """The wallet of the thief waits; each secret worked a moment ago."""
    assert robbed.link(robbed.taken["bearer_token"]).status_code == 200
    for secret, path in WORKS.items():
        assert robbed.client.get(path, headers=HEADERS[secret](robbed)).status_code == 200
    EVICTIONS[eviction](robbed)
    expected, before = said()[eviction], robbed.rows()
    found = {}
    for secret, headers in HEADERS.items():
        if expected[secret] == "lives":
            found[secret] = (
                "lives"
                if robbed.client.get(WORKS[secret], headers=headers(robbed)).status_code == 200
                else "dead"
            )
            continue
        answers = {
            row.key: status_and_reason(request(robbed, row, headers(robbed)))
            for row in catalogue().operations
        }
        assert {
            key: answer for key, answer in answers.items() if answer != (401, "auth_invalid")
        } == {}
        found[secret] = "dead"
    assert robbed.rows() == before
    found["a wallet linked less than 24 hours ago"] = "dead" if robbed.linked() is None else "lives"
    found["`recovery_code`"] = recovery_code_after(robbed)
    assert found == expected


def recovery_code_after(robbed: Robbed) -> str:
    """On each route that takes one."""
    code = robbed.taken["recovery_code"]
    takes = [one for one in routed(catalogue()) if "recovery_code" in one.command.model_fields]
    answers = [request(robbed, row, {}, recovery_code=code).status_code for row in takes]
    assert takes
    return "dead" if answers == [401] * len(takes) else "lives"


@pytest.mark.parametrize("eviction", ["rotation", "unlink", "recovery", "undo of a recovery"])
def test_what_an_eviction_answers__is_new_and_works(robbed: Robbed, eviction: str) -> None:
    robbed.link(robbed.taken["bearer_token"])
    EVICTIONS[eviction](robbed)
    assert set(robbed.new) >= SECRETS
    assert not {robbed.new[name] for name in SECRETS} & {robbed.taken[name] for name in SECRETS}
    assert (
        robbed.client.get("/agent/status", headers={KEY: robbed.new["api_key"]}).json()["user_id"]
        == robbed.id
    )
    assert robbed.link(robbed.new["bearer_token"], Account.create()).status_code == 200
    assert robbed.recover(robbed.new["recovery_code"]).status_code == 200


# The wallet


def test_a_signature_for_a_link_from_before__needs_a_live_token(robbed: Robbed) -> None:
    signature = sign(THIEF, nonce_for(robbed.client, THIEF, "link"))
    rotation(robbed)
    answer = robbed.post(
        "/auth/wallet/link",
        bearer(robbed.taken["bearer_token"]),
        wallet_address=THIEF.address,
        signature=signature,
    )
    assert (reason(answer), robbed.linked()) == ((401, "auth_invalid"), None)


def test_a_rotation__names_the_wallet_that_it_unlinked(robbed: Robbed) -> None:
    robbed.link(robbed.taken["bearer_token"])
    rotation(robbed)
    assert robbed.new["unlinked_wallet"] == THIEF.address
    rotation(robbed)
    assert robbed.new["unlinked_wallet"] is None


@pytest.mark.parametrize(
    ("hours", "is_kept"), [({"hours": 24, "seconds": -1}, False), ({"hours": 24}, True)]
)
def test_a_rotation__keeps_a_wallet_that_waits_no_more(
    robbed: Robbed, hours: dict[str, float], is_kept: bool
) -> None:
    robbed.link(robbed.taken["bearer_token"])
    robbed.clock.pass_(**hours)
    robbed.owner = login(robbed.client, robbed.wallet)
    rotation(robbed)
    assert (robbed.linked() is not None) == is_kept


def test_a_confirmed_wallet__waits_no_more_and_stays(robbed: Robbed) -> None:
    robbed.link(robbed.taken["bearer_token"])
    assert robbed.alerts() == [("agent_wallet_linked", True)]
    assert robbed.fleet()["wallet_payable_at"] == "2026-11-22T12:00:00Z"
    answer = robbed.post(f"/agents/{robbed.id}/wallet/confirm", wallet_address=THIEF.address)
    assert answer.json() == {
        "user_id": robbed.id,
        "wallet_address": THIEF.address,
        "wallet_payable_at": "2026-11-21T12:00:00Z",
    }
    assert robbed.alerts() == [("agent_wallet_linked", False)]
    rotation(robbed)
    assert robbed.linked() == THIEF.address.lower()


def test_confirm__of_another_wallet_than_the_linked_one__is_refused(robbed: Robbed) -> None:
    path = f"/agents/{robbed.id}/wallet/confirm"
    assert reason(robbed.post(path, wallet_address=THIEF.address)) == (409, "wallet_not_linked")
    robbed.link(robbed.taken["bearer_token"])
    other = robbed.post(path, wallet_address=Account.create().address)
    assert (reason(other), THIEF.address in other.json()["detail"]) == (
        (409, "wallet_not_linked"),
        True,
    )
    assert robbed.fleet()["wallet_payable_at"] == "2026-11-22T12:00:00Z"


def test_an_agent_without_an_owner__links_at_once_and_nobody_is_told(robbed: Robbed) -> None:
    made = connect(robbed.client)
    answer = robbed.link(made["bearer_token"])
    assert answer.json() == {
        "registered": True,
        "wallet_address": THIEF.address,
        "wallet_payable_at": "2026-11-21T12:00:00Z",
    }
    assert robbed.recover(made["recovery_code"]).status_code == 200
    with robbed.database.read() as session:
        assert session.scalar(text("select count(*) from owner_alert")) == 0


def test_unlink__needs_the_owners_wallet_to_sign_it_for_this_agent(robbed: Robbed) -> None:
    robbed.link(robbed.taken["bearer_token"])
    login_text = sign(robbed.wallet, nonce_for(robbed.client, robbed.wallet, "login"))
    for signature in (login_text, sign(THIEF, "unlink")):
        assert reason(robbed.post(f"/agents/{robbed.id}/wallet/unlink", signature=signature)) == (
            400,
            "signature_invalid",
        )
    other = connect(robbed.client, robbed.owner)["user_id"]
    asked = {"wallet_address": robbed.wallet.address, "purpose": "unlink", "agent_id": other}
    others = sign(
        robbed.wallet, robbed.client.post("/auth/wallet/nonce", json=asked).json()["message"]
    )
    refused = robbed.post(f"/agents/{robbed.id}/wallet/unlink", signature=others)
    assert reason(refused) == (400, "signature_invalid")
    assert refused.json()["service"]["next"][0]["body"] == asked | {"agent_id": robbed.id}
    assert robbed.linked() == THIEF.address.lower()


def test_unlink__without_a_wallet__leads_to_the_rotation(robbed: Robbed) -> None:
    answer = robbed.unlink()
    assert reason(answer) == (409, "wallet_not_linked")
    assert [call["path"] for call in answer.json()["service"]["next"][:2]] == [
        "/agents/mine",
        f"/agents/{robbed.id}/keys/rotate",
    ]
    assert (
        robbed.client.get("/agent/status", headers={KEY: robbed.taken["api_key"]}).status_code
        == 200
    )


@pytest.mark.parametrize(
    "path", ["keys/rotate", "recovery/undo", "wallet/unlink", "wallet/confirm"]
)
def test_another_owner__evicts_nobody(robbed: Robbed, path: str) -> None:
    robbed.link(robbed.taken["bearer_token"])
    stranger = login(robbed.client, Account.create())
    body = {"signature": "0x" + "12" * 65} if path == "wallet/unlink" else {}
    body = {"wallet_address": THIEF.address} if path == "wallet/confirm" else body
    assert reason(robbed.post(f"/agents/{robbed.id}/{path}", stranger, **body)) == (
        403,
        "not_owner",
    )


# What is kept of answers


def test_no_answer_that_holds_a_secret__is_kept_for_an_idempotency_key() -> None:
    """A key of before would be answered with the new secrets."""
    shown = {
        one.key
        for one in routed(catalogue())
        if one.answer is not None and SECRETS & set(one.answer.model_fields)
    }
    assert shown >= {
        "identity.connect",
        "identity.recover",
        "agents.rotate_key",
        "agents.undo_recovery",
        "agents.unlink",
    }
    kept = {row.key for row in catalogue().operations if row.key in shown and row.idempotent}
    # without its secrets: test_lost_answers.py
    assert kept == {row.key for row in catalogue().operations if row.secrets}
    assert not kept & {"agents.rotate_key", "agents.undo_recovery", "agents.unlink"}


def test_the_same_idempotency_key__with_a_dead_secret__gets_no_answer_from_before(
    robbed: Robbed,
) -> None:
    """Not of a rotation, nor of a write that was kept."""
    again = {"Idempotency-Key": "k"}
    said_of_self = robbed.post(
        "/agent/self", {KEY: robbed.taken["api_key"]} | again, persona="calm"
    )
    assert said_of_self.status_code == 200
    first = robbed.post(f"/agents/{robbed.id}/keys/rotate", robbed.owner | again).json()
    assert reason(
        robbed.post(f"/agents/{robbed.id}/keys/rotate", robbed.taken_session | again)
    ) == (401, "auth_invalid")
    assert reason(
        robbed.post("/agent/self", {KEY: robbed.taken["api_key"]} | again, persona="calm")
    ) == (401, "auth_invalid")
    second = robbed.post(f"/agents/{robbed.id}/keys/rotate", robbed.owner | again)
    assert "Idempotent-Replay" not in second.headers
    assert not {first[name] for name in SECRETS} & {second.json()[name] for name in SECRETS}


def test_a_thief_who_rotates_all_the_time__is_ended_by_the_owners_next_sign_in(
    robbed: Robbed,
) -> None:
    assert robbed.post(f"/agents/{robbed.id}/keys/rotate", robbed.taken_session).status_code == 200
    message = nonce_for(robbed.client, robbed.wallet, "login")
    body = {
        "message": message,
        "signature": sign(robbed.wallet, message),
        "end_other_sessions": True,
    }
    robbed.owner = bearer(robbed.client.post("/auth/owner/login", json=body).json()["bearer_token"])
    assert reason(robbed.post(f"/agents/{robbed.id}/keys/rotate", robbed.taken_session)) == (
        401,
        "auth_invalid",
    )
    assert robbed.post(f"/agents/{robbed.id}/keys/rotate").status_code == 200


def test_a_sign_in__leaves_other_sessions_unless_it_is_told_to_end_them(robbed: Robbed) -> None:
    login(robbed.client, robbed.wallet)
    assert robbed.client.get("/agents/mine", headers=robbed.taken_session).status_code == 200
