"""Wallet document 5: who calls by what, and what a key's scopes let it do."""

from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel import auth
from core.identity.tables import Account
from tests.integration.api.conftest import KEY, bearer, connect
from tests.integration.api.mandates.stage import ADAPTER, DRAFT, Stage, reason

TX = "0x" + "ab" * 32
TRANSFER = {"chain_id": 84532, "asset": "USDC", "amount": "1", "tx_hash": TX, "direction": "in"}
GOAL = {"budget_usdc": "100", "horizon_days": 7, "stop_floor_bps": 500}
EXECUTE = {"target": ADAPTER, "function": "buy(uint256)", "args": ["1"], "amount_usdc": "1"}

GETS = ("/agents/me", "/agents/{agent}/offers", "/agents/{agent}/policy",
    "/agents/{agent}/balances", "/mandates", "/mandates/{id}",
        "/mandates/{id}/steps", "/mandates/{id}/ledger", "/mandates/{id}/record", "/mandates/{id}/approvals")  # fmt: skip
BUILDS: dict[str, dict[str, Any]] = {
    "/mandates/{id}/execute-call": EXECUTE,
    "/mandates/{id}/unwind-call": {},
}
WRITES: dict[str, dict[str, Any]] = {
    "/mandates/{id}/events": {"kind": "note"},
    "/mandates/{id}/refusals": {"reason": "OverPerTxCap", "tx_hash": TX},
    "/mandates/{id}/accept": {},
    "/proposals": {"title": "Lend", "goal": GOAL},
    "/transfers/report": TRANSFER,
    "/mandates/{id}/stop": {},
}
OWNERS = (
    "terms",
    "deploy-call",
    "deposit-call",
    "withdraw-call",
    "set-agent-call",
    "stop-call",
    "close-all-plan",
    "statement",
)


def narrow(stage: Stage, scopes: list[str] | None) -> None:
    answer = stage.client.put(
        f"/agents/{stage.agent_id}/scopes", json={"scopes": scopes}, headers=stage.owner
    )
    assert answer.status_code == 200, answer.text


def is_let_in(answer: Any) -> bool:
    """Whatever the call then says, the key's scopes did not keep it out."""
    if answer.status_code == 403:
        assert reason(answer) == (403, "scope_denied")
        assert answer.json()["service"]["who_fixes"] == "owner"
        assert answer.json()["service"]["next"][0]["path"] == "/agent/scopes"
        return False
    assert answer.status_code in (200, 201, 503), answer.text
    return True


@pytest.mark.row("5 scope read", "5 scope tx", "5 the owner narrows the scopes")
@pytest.mark.parametrize(
    ("scopes", "reads", "writes"),
    [
        (None, True, True),
        (["read"], True, False),
        (["tx"], False, True),
        (["read", "tx"], True, True),
        ([], False, False),
    ],
)
def test_read_is_for_gets_and_built_calls_and_tx_for_what_writes(
    stage: Stage, scopes: list[str] | None, reads: bool, writes: bool, mandate_id: str
) -> None:
    narrow(stage, scopes)
    fill = {"id": mandate_id, "agent": stage.agent_id}
    assert {
        path: is_let_in(stage.call("GET", path.format(**fill), stage.agent)) for path in GETS
    } == dict.fromkeys(GETS, reads)
    built = {
        path: is_let_in(stage.call("POST", path.format(**fill), stage.agent, body))
        for path, body in BUILDS.items()
    }
    assert built == dict.fromkeys(BUILDS, reads)
    told = {}
    for path, body in WRITES.items():
        sent = body | ({"agent_id": stage.agent_id} if path == "/proposals" else {})
        told[path] = is_let_in(stage.call("POST", path.format(**fill), stage.agent, sent))
    assert told == dict.fromkeys(WRITES, writes)


@pytest.mark.row("5 scope sign", "5 the owner's session is required")
def test_signing_and_the_owners_calls__take_no_key_whatever_its_scopes(stage: Stage) -> None:
    draft, working = stage.draft(), stage.working()
    signature = stage.sign_terms(draft)
    for scopes in (None, ["read", "tx", "sign"]):
        narrow(stage, scopes)
        calls = [
            stage.call("POST", f"/mandates/{draft}/sign", stage.agent, {"signature": signature}),
            stage.call("POST", "/mandates", stage.agent, DRAFT),
            stage.call("PUT", f"/mandates/{draft}", stage.agent, DRAFT),
            stage.call(
                "POST", f"/mandates/{draft}/assign", stage.agent, {"agent_id": stage.agent_id}
            ),
            stage.call("POST", f"/mandates/{draft}/cancel", stage.agent),
            stage.call(
                "PUT", f"/agents/{stage.agent_id}/policy", stage.agent, {"accepts_mandates": True}
            ),
            stage.call("GET", "/me/statement", stage.agent),
            *(
                stage.call("GET", f"/mandates/{working}/{path}", stage.agent, amount_usdc="1")
                for path in OWNERS
            ),
        ]
        assert {reason(answer) for answer in calls} == {(403, "scope_denied")}
    assert stage.get(f"/mandates/{draft}", stage.owner)["mandate"]["status"] == "draft"


@pytest.mark.row("5 door needs no key and everything else does")
def test_the_door_and_the_open_board__need_no_key_and_every_other_call_does(stage: Stage) -> None:
    open_to_all = {
        row.path
        for row in catalogue().operations
        if row.path.startswith("/mandate-wallet/") and row.auth is auth.ANYBODY
    }
    gallery = {"/mandate-wallet/gallery", "/mandate-wallet/gallery/{id}"}
    records = {"/mandate-wallet/agents/records", "/mandate-wallet/agents/{id}/record"}
    hall = {"/mandate-wallet/hall", "/mandate-wallet/hall/{agent_id}"}
    assert (
        open_to_all == {"/mandate-wallet/door", "/mandate-wallet/board"} | gallery | records | hall
    )
    assert stage.call("GET", "/door", {}).status_code == 402


def test_the_door__says_in_a_header_that_nothing_can_be_paid_there(stage: Stage) -> None:
    """A client that pays 402s by itself read it as a broken offer."""
    door = stage.call("GET", "/door", {"PAYMENT-SIGNATURE": "e30="})
    assert (
        door.headers["X-Payable"],
        "PAYMENT-REQUIRED" in door.headers,
        "accepts" in door.json(),
    ) == ("none", False, False)
    assert (door.json()["payable"], door.json()["charged"]) == (False, False)
    mandate_id = stage.working()
    for path in GETS:
        filled = path.format(id=mandate_id, agent=stage.agent_id)
        assert reason(stage.call("GET", filled, {})) == (401, "auth_required")
        assert reason(stage.call("GET", filled, {KEY: "svc_key_of_nobody"})) == (
            401,
            "auth_invalid",
        )


@pytest.mark.row("4 GET /agents/me", "5 the agent id is the user id of the key")
def test_me__is_the_account_that_the_key_resolves_to(stage: Stage) -> None:
    made = connect(stage.client, stage.owner)
    me = stage.get("/agents/me", {KEY: made["api_key"]})
    assert (me["agent_id"], me["is_owned"], me["accepts_mandates"]) == (
        str(made["user_id"]),
        True,
        False,
    )
    assert me["agent_status"] == {"active_mandates": [], "ended_mandates": []}
    assert reason(stage.call("GET", "/agents/me", stage.owner)) == (401, "auth_required")
    assert stage.call("GET", "/agents/me", bearer(made["bearer_token"])).status_code == 401
    assert not [key for key in me if "owner_id" in key]


@pytest.mark.row(
    "5 agent_owner_mismatch",
    "5 agent_not_designated",
    "5 agent_not_accepting",
    "4.2 accept the one that names the agent",
)
def test_accept__of_a_mandate_whose_owner_is_no_longer_the_agents__is_a_mismatch(
    stage: Stage,
) -> None:
    """The designation comes first, then the owner, then the policy."""
    mandate_id = stage.signed()
    stage.new_owner()
    with stage.database.write() as session:
        agent, other = (
            session.get_one(Account, int(stage.agent_id)),
            session.query(Account).filter_by(kind="owner").order_by(Account.id).all()[-1],
        )
        agent.owner_id = other.id
    answer = stage.call("POST", f"/mandates/{mandate_id}/accept", stage.agent)
    assert (reason(answer), answer.json()["service"]["retry_safe"]) == (
        (403, "agent_owner_mismatch"),
        False,
    )
    _, unnamed = stage.new_agent()
    assert reason(stage.call("POST", f"/mandates/{mandate_id}/accept", unnamed)) == (
        409,
        "agent_not_designated",
    )
