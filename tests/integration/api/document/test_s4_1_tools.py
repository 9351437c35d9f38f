"""Wallet document 4.1: the fifteen tools, their annotations, and that each says what its twin
says.
"""

from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.tool import Profile
from tests.integration.api.mandates.stage import ADAPTER, CHAIN_ID, Stage
from tests.integration.api.tools.conftest import call, message, send

TX = "0x" + "ab" * 32
GOAL = {
    "budget_usdc": "250",
    "horizon_days": 14,
    "stop_floor_bps": 800,
    "per_tx_cap_usdc": "20",
    "daily_cap_usdc": "60",
}
EXECUTE = {"target": ADAPTER, "function": "buy(uint256)", "args": ["1000000"], "amount_usdc": "10"}
READ, WRITE, DESTRUCTIVE = (True, False, True), (False, False, False), (False, True, True)

# name -> (kind in the document's table, as readOnly, destructive, idempotent; method; path)
TOOLS: dict[str, tuple[tuple[bool, bool, bool], str, str]] = {
    "agent_policy_get": (READ, "GET", "/agents/{agent}/policy"),
    "agent_policy_set": (DESTRUCTIVE, "PUT", "/agents/{agent}/policy"),
    "agent_balances": (READ, "GET", "/agents/{agent}/balances"),
    "transfer_report": (WRITE, "POST", "/transfers/report"),
    "mandate_list": (READ, "GET", "/mandates"),
    "mandate_get": (READ, "GET", "/mandates/{id}"),
    "mandate_offers": (READ, "GET", "/agents/{agent}/offers"),
    "mandate_propose": (WRITE, "POST", "/proposals"),
    "mandate_report_event": (WRITE, "POST", "/mandates/{id}/events"),
    "mandate_report_refusal": (WRITE, "POST", "/mandates/{id}/refusals"),
    "mandate_stop": (WRITE, "POST", "/mandates/{id}/stop"),
    "mandate_accept": (WRITE, "POST", "/mandates/{id}/accept"),
    "mandate_execute_call": (READ, "POST", "/mandates/{id}/execute-call"),
    "mandate_unwind_call": (READ, "POST", "/mandates/{id}/unwind-call"),
    "mandate_approvals": (READ, "GET", "/mandates/{id}/approvals"),
}


@pytest.mark.row("4.1 annotations")
def test_the_fifteen_tools__carry_the_hints_of_their_kind(stage: Stage) -> None:
    listed = send(stage.client, message("tools/list")).json()["result"]["tools"]
    found = {one["name"]: one["annotations"] for one in listed if one["name"] in TOOLS}
    assert {
        name: (hints["readOnlyHint"], hints["destructiveHint"], hints["idempotentHint"]) for name,
        hints in found.items()
    } == {name: hints for name, (hints, _, _) in TOOLS.items()}  # fmt: skip
    assert all(one["description"] and one["inputSchema"]["type"] == "object" for one in listed)


@pytest.mark.row("4.1 every tool has an HTTP twin")
def test_each_tools_twin__is_the_route_of_its_row(stage: Stage) -> None:
    rows = catalogue().tools(Profile.FULL)
    twins = {
        name: (method, path.replace("{agent}", "{id}")) for name, (_, method, path) in TOOLS.items()
    }
    assert {
        name: (rows[name].method, rows[name].path.removeprefix("/mandate-wallet")) for name in TOOLS
    } == twins


def twins_say_the_same(
    stage: Stage, tool: str, who: dict[str, str], mandate_id: str, fields: dict[str, Any]
) -> dict[str, Any]:
    """The route first, then the tool: with the same key when it writes, so that it is one write;
    what both answered.
    """
    _, method, path = TOOLS[tool]
    filled = path.format(id=mandate_id, agent=stage.agent_id)
    ids = {"id": mandate_id if "{id}" in path else stage.agent_id} if "{" in path else {}
    writes = not TOOLS[tool][0][0]
    headers = who | ({"Idempotency-Key": "twin"} if writes else {})
    answer = stage.call(
        method, filled, headers, **({"body": fields} if method != "GET" else fields)
    )
    result = call(
        stage.client, tool, who, **ids, **fields, **({"idempotency_key": "twin"} if writes else {})
    )
    assert (result["structuredContent"], result["_meta"]["service/status"]) == (
        answer.json(),
        answer.status_code,
    )
    assert result["isError"] is (answer.status_code >= 400)
    assert ("Idempotent-Replay" in result["_meta"]["service/headers"]) is (
        writes and answer.status_code < 400
    )
    return dict(answer.json())


@pytest.mark.row(
    "4.1 agent_policy_get",
    "4.1 agent_balances",
    "4.1 mandate_list",
    "4.1 mandate_get",
    "4.1 mandate_offers",
    "4.1 mandate_approvals",
)
def test_reads__say_what_their_twins_say(stage: Stage) -> None:
    mandate_id = stage.working(approval_above_usdc="5")
    stage.post(
        "/transfers/report",
        stage.agent,
        {"chain_id": CHAIN_ID, "asset": "USDC", "amount": "3", "tx_hash": TX, "direction": "in"},
    )
    stage.post(
        f"/mandates/{mandate_id}/events",
        stage.agent,
        {"kind": "buy", "amount_usdc": "6", "payload": {"target": ADAPTER}},
    )
    said = {
        tool: twins_say_the_same(stage, tool, stage.agent, mandate_id, {})
        for tool in (
            "agent_policy_get",
            "agent_balances",
            "mandate_list",
            "mandate_get",
            "mandate_offers",
            "mandate_approvals",
        )
    }
    assert said["agent_policy_get"]["accepts_mandates"] is True
    assert said["agent_balances"]["balances"][0]["in_transit"] == "3.000000"
    assert [one["id"] for one in said["mandate_list"]["mandates"]] == [mandate_id]
    assert said["mandate_get"]["limits"]["used"]["per_action_max"]["value"] == "200.000000"
    assert len(said["mandate_get"]["clauses"]) == 10
    assert [one["id"] for one in said["mandate_offers"]["offers"]] == [mandate_id]
    assert [one["amount_usdc"] for one in said["mandate_approvals"]["items"]] == ["6.000000"]
    for tool in (
        "agent_policy_get",
        "agent_balances",
        "mandate_list",
        "mandate_get",
        "mandate_approvals",
    ):
        twins_say_the_same(stage, tool, stage.owner, mandate_id, {})


@pytest.mark.row("4.1 mandate_execute_call", "4.1 mandate_unwind_call")
def test_built_calls__are_those_of_their_twins_and_write_nothing(stage: Stage) -> None:
    mandate_id, paper = stage.working(), stage.paper()
    before = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner)
    built = twins_say_the_same(stage, "mandate_execute_call", stage.agent, mandate_id, EXECUTE)
    assert (built["check"]["ok"], built["value"]) == (True, 0)
    over = twins_say_the_same(
        stage, "mandate_execute_call", stage.agent, mandate_id, EXECUTE | {"amount_usdc": "201"}
    )
    assert over["check"]["reason"] == "OverPerTxCap"
    assert (
        twins_say_the_same(stage, "mandate_unwind_call", stage.agent, paper, {})["reason"]
        == "no_vault"
    )
    # the stage's chain is out of reach
    refused = twins_say_the_same(stage, "mandate_unwind_call", stage.agent, mandate_id, {})
    assert refused["service"]["reason"] == "temporarily_unavailable"
    assert stage.get(f"/mandates/{mandate_id}/ledger", stage.owner) == before


@pytest.mark.row(
    "4.1 transfer_report", "4.1 mandate_propose", "4.1 mandate_report_event",
    "4.1 mandate_report_refusal", "4.1 mandate_accept",
    "4.1 mandate_stop", "4.1 agent_policy_set",
)  # fmt: skip
@pytest.mark.parametrize(
    ("tool", "fields", "status"),
    [
        (
            "transfer_report",
            {
                "chain_id": CHAIN_ID,
                "asset": "USDC",
                "amount": "3",
                "tx_hash": TX,
                "direction": "in",
            },
            "reported",
        ),
        ("mandate_propose", {"title": "Lend", "goal": GOAL}, "draft"),
        (
            "mandate_report_event",
            {"kind": "buy", "amount_usdc": "10", "detail": {"target": ADAPTER}, "tx_hash": TX},
            "buy",
        ),
        ("mandate_report_event", {"kind": "buy", "amount_usdc": "900", "why": "too much"}, "buy"),
        (
            "mandate_report_refusal",
            {"reason": "OverPerTxCap", "tx_hash": TX, "amount_usdc": "250"},
            "OverPerTxCap",
        ),
        ("mandate_report_refusal", {"reason": "NotAgent"}, "invalid_parameter"),
        ("mandate_accept", {}, "working"),
        ("mandate_stop", {}, "working"),
        ("agent_policy_set", {"accepts_mandates": True, "slippage_bps": 3}, "3"),
    ],
)
def test_a_write__is_one_write_whichever_twin_is_called(
    stage: Stage, tool: str, fields: dict[str, Any], status: str, mandate_id: str
) -> None:
    who = stage.owner if tool == "agent_policy_set" else stage.agent
    sent = fields | ({"agent_id": stage.agent_id} if tool == "mandate_propose" else {})
    said = twins_say_the_same(stage, tool, who, mandate_id, sent)
    assert status in (
        said.get("status"),
        str(said.get("slippage_bps")),
        said.get("transfer", {}).get("status"),
        said.get("mandate", {}).get("status"),
        said.get("event", {}).get("kind"),
        said.get("refusal", {}).get("reason"),
        said.get("service", {}).get("reason"),
    )


@pytest.mark.row("4.1 mandate_stop", "4.1 mandate_accept", "4.1 mandate_propose")
def test_a_life_by_tools_alone(stage: Stage) -> None:
    """The agent proposes, its owner signs by the routes; the agent accepts, reports and stops."""
    made = call(
        stage.client,
        "mandate_propose",
        stage.agent,
        agent_id=stage.agent_id,
        title="Lend",
        goal=GOAL,
    )["structuredContent"]
    mandate_id = made["mandate"]["id"]
    assert (made["mandate"]["purpose"], made["mandate"]["proposed_by_agent_id"]) == (
        "Lend",
        stage.agent_id,
    )
    goal = {"purpose": "Lend", "market_mode": "paper", **GOAL}
    assert stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, goal).status_code == 200
    stage.post(
        f"/mandates/{mandate_id}/sign", stage.owner, {"signature": stage.sign_terms(mandate_id)}
    )
    offers = call(stage.client, "mandate_offers", stage.agent, id=stage.agent_id)[
        "structuredContent"
    ]["offers"]
    assert [(one["id"], len(one["clauses"])) for one in offers] == [(mandate_id, 10)]
    assert call(stage.client, "mandate_accept", stage.agent, id=mandate_id)["isError"] is False
    event = {
        "kind": "buy",
        "amount_usdc": "20",
        "detail": {"target": ADAPTER},
        "idempotency_key": "one",
    }
    for _ in range(2):
        assert (
            call(stage.client, "mandate_report_event", stage.agent, id=mandate_id, **event)[
                "structuredContent"
            ]["violation"]
            is False
        )
    read = call(stage.client, "mandate_get", stage.agent, id=mandate_id)["structuredContent"]
    assert (read["progress"]["cash"], read["limits"]["used"]["left_today"]["value"]) == (
        "230.000000",
        "40.000000",
    )
    assert (
        call(stage.client, "mandate_stop", stage.agent, id=mandate_id)["structuredContent"][
            "status"
        ]
        == "stopped"
    )
