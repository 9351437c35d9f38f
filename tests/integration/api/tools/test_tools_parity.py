"""A tool and its route are one call: the same body, the same refusal, the same idempotency scope
(docs/rules.md#tools).
"""

import json
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.operation import Operation
from api.kernel.tool import ID, Profile
from tests.each import each
from tests.integration.api.conftest import KEY, TestClient, bearer
from tests.integration.api.mandates.stage import DRAFT, Stage
from tests.integration.api.tools.conftest import call

TX = "0x" + "ab" * 32
STATUS, HEADERS = "service/status", "service/headers"


def same(result: dict[str, Any], answer: Any) -> None:
    """The result says what the route's answer says, in both forms."""
    assert result["structuredContent"] == answer.json()
    assert [json.loads(content["text"]) for content in result["content"]] == [answer.json()]
    assert result["_meta"][STATUS] == answer.status_code
    assert result["isError"] is (answer.status_code >= 400)


@pytest.fixture
def mandate(stage: Stage) -> str:
    mandate_id = stage.working()
    stage.post(f"/mandates/{mandate_id}/accept", stage.agent)
    return mandate_id


def test_an_unknown_value__stays_null(stage: Stage) -> None:
    result = call(stage.client, "agent_policy_get", stage.agent, id=stage.agent_id)
    assert result["structuredContent"]["total_cap_usdc"] is None


IDS = {
    "id": "m_aaaaaaaaaa",
    "exchange": "binance",
    "symbol": "BTC_USDT",
    "token_id": "binance_btc_usdt",
}


@each("row", catalogue().tools(Profile.FULL).values(), ids=lambda row: row.tool.name)
@each(
    "headers",
    [{}, {KEY: "svc_key_x"}, bearer("x")],
    ids=["nobody", "an unknown key", "an unknown session"],
)
@pytest.mark.slow
def test_a_call_that_is_not_admitted__is_refused_as_its_route_refuses_it(
    client: TestClient, row: Operation, headers: dict[str, str]
) -> None:
    assert row.tool is not None
    ids: dict[str, Any] = {name: value for name, value in IDS.items() if f"{{{name}}}" in row.path}
    if "/agents/" in row.path:
        ids["id"] = "1"
    if "/fund/" in row.path:
        ids["id"] = 1
    answer = client.request(
        row.method,
        row.path.format(**ids),
        json={} if row.method != "GET" else None,
        headers=headers,
    )
    given = {row.tool.id_argument if name == ID else name: value for name, value in ids.items()}
    same(call(client, row.tool.name, headers, **given), answer)


@each(
    ("tool", "arguments", "reason"),
    [
        ("mandate_get", {"id": "m_aaaaaaaaaa"}, "not_found"),
        ("mandate_get", {"id": "x"}, "not_found"),
        ("mandate_get", {}, "invalid_parameter"),
        ("mandate_get", {"id": "m_aaaaaaaaaa", "idempotency_key": "a"}, "invalid_parameter"),
        ("mandate_list", {"limit": 201}, "invalid_parameter"),
        ("mandate_list", {"limit": "10"}, "invalid_number"),
        ("mandate_list", {"status": "a\0b"}, "invalid_parameter"),
        ("mandate_accept", {"id": "m_aaaaaaaaaa", "idempotency_key": 7}, "invalid_parameter"),
        ("mandate_accept", {"id": "m_aaaaaaaaaa", "idempotency_key": "a b"}, "invalid_parameter"),
        ("mandate_stop", {"id": "m_aaaaaaaaaa", "why": {"api_key": "x"}}, "secret_field_refused"),
        ("agent_policy_get", {"id": "999999"}, "not_found"),
        ("agent_policy_set", {"id": "1", "accepts_mandates": True}, "scope_denied"),
    ],
)
def test_a_refused_call__says_why(
    stage: Stage, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    result = call(stage.client, tool, stage.agent, **arguments)
    assert result["isError"] is True
    assert result["structuredContent"]["service"]["reason"] == reason


def test_a_routes_write_after_the_tools__is_a_replay_too(stage: Stage, mandate: str) -> None:
    event = {"kind": "note", "why": "rates moved"}
    first = call(
        stage.client, "mandate_report_event", stage.agent, id=mandate, idempotency_key="b", **event
    )
    path, headers = (
        f"/mandate-wallet/mandates/{mandate}/events",
        {**stage.agent, "Idempotency-Key": "b"},
    )
    again = stage.client.post(path, json=event, headers=headers)
    same(first, again)
    assert again.headers["Idempotent-Replay"] == "true"
    assert "Idempotent-Replay" not in first["_meta"][HEADERS]
    assert notes(stage, mandate) == ["rates moved"]


def notes(stage: Stage, mandate: str) -> list[str]:
    events = stage.get(f"/mandates/{mandate}/ledger", stage.agent)["events"]
    return [
        event["payload"]["why"]
        for event in events
        if event["kind"] == "note" and "why" in event["payload"]
    ]


@each(
    ("literal", "kept"),
    [
        ("1.10", "1.100000"),
        ("0.1000001", None),
        ("0.10000000000000000001", None),
        ("1e1", "10.000000"),
        ("12", "12.000000"),
    ],
)
def test_a_number__is_read_as_it_was_written(stage: Stage, literal: str, kept: str | None) -> None:
    text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_policy_set","arguments":{"id":"%s","total_cap_usdc":%s}}}'
    headers = {**stage.owner, "Accept": "application/json", "Content-Type": "application/json"}
    answer = stage.client.post(
        "/mcp?profile=full", content=text % (stage.agent_id, literal), headers=headers
    )
    content = answer.json()["result"]["structuredContent"]
    if kept is None:
        assert content["service"]["reason"] == "invalid_number"
    else:
        assert content["total_cap_usdc"] == kept


def test_a_rule_break__is_stored_and_flagged_as_by_the_route(stage: Stage, mandate: str) -> None:
    over = {"kind": "buy", "amount_usdc": DRAFT["budget_usdc"], "tx_hash": TX}
    result = call(stage.client, "mandate_report_event", stage.agent, id=mandate, **over)
    assert (
        result["isError"],
        result["_meta"][STATUS],
        result["structuredContent"]["violation"],
    ) == (False, 202, True)
