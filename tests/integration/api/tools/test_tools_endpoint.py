"""The endpoint itself: messages, profiles, credentials, the ceiling, and what is no message at
all.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient as AnyClient
from structlog.testing import capture_logs

from api.kernel.operation import Deps
from api.kernel.tool import Profile, Tool, ToolKind
from api.main import create_app
from core.db.engine import Database
from tests.each import each
from tests.integration.api import probe
from tests.integration.api.conftest import KEY, Limit, TestClient, bearer, connect
from tests.integration.api.probe import Gate
from tests.integration.api.tools.conftest import CONNECTOR, JSON, call, listed, message, send

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
LIST = message("tools/list")


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


def error(answer: Any) -> tuple[int, int, str]:
    body = answer.json()
    assert (body["jsonrpc"], "result" in body) == ("2.0", False)
    return answer.status_code, body["error"]["code"], body["error"]["message"]


def refusal(answer: Any) -> tuple[int, str]:
    """Of a message that was refused before the server saw it."""
    data = answer.json()["error"]["data"]
    assert answer.json()["error"]["message"] == data["detail"]
    return answer.status_code, data["service"]["reason"]


# Messages


def test_tools_are_listed__without_initialize_and_without_a_session(client: TestClient) -> None:
    answer = send(client, LIST)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    assert answer.json()["id"] == 1


def test_a_notification__is_taken_without_a_body(client: TestClient) -> None:
    answer = send(client, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.text) == (202, "")


def test_an_unknown_method__is_told_so(client: TestClient) -> None:
    assert error(send(client, message("tools/guess"))) == (200, -32601, "Method not found")


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_client_of_the_first_era__gets_the_version_it_asks_for(
    client: TestClient, version: str
) -> None:
    asked = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    result = send(client, message("initialize", **asked)).json()["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (version, "Mandate Wallet")
    assert "X-SVC-User-Key" in result["instructions"]
    answer = send(client, LIST, {"MCP-Protocol-Version": version})
    assert answer.status_code == 200


def test_a_client_of_the_second_era__needs_no_handshake(client: TestClient) -> None:
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    result = send(client, message("tools/list", _meta=META), headers).json()["result"]
    assert (result["ttlMs"], result["cacheScope"], len(result["tools"])) == (
        300_000,
        "public",
        len(listed(client)),
    )


def test_an_unknown_version__is_refused_with_those_that_are_spoken(client: TestClient) -> None:
    answer = send(client, LIST, {"MCP-Protocol-Version": "2099-01-01"})
    assert answer.status_code == 400
    assert "error" in answer.json()


@each(
    ("text", "status", "code"),
    [
        ("{", 400, -32700),
        ("[]", 400, -32700),
        ('[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32700),
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', 400, -32700),
        (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mandate_list","arguments":{"limit":NaN}}}',
            400,
            -32700,
        ),
        ('{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}', 400, -32700),
        (
            '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":'
            + "[" * 100_000
            + "]" * 100_000
            + "}",
            400,
            -32700,
        ),
        (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_rules","arguments":{"topic":'
            + "[" * 970
            + "]" * 970
            + "}}}",
            400,
            -32700,
        ),
        ("{}", 400, -32602),
        (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mandate_list","arguments":[]}}',
            200,
            -32602,
        ),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', 200, -32602),
    ],
)
def test_what_is_no_message__is_told_so(
    client: TestClient, text: str, status: int, code: int
) -> None:
    answer = client.post(
        "/mcp?profile=full", content=text, headers={**JSON, "Content-Type": "application/json"}
    )
    assert error(answer)[:2] == (status, code)


def test_a_call_without_an_id__is_a_notification_that_calls_nothing(
    client: TestClient, agent: dict[str, str]
) -> None:
    body = {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": "mandate_list", "arguments": {}},
    }
    with capture_logs() as logs:
        answer = send(client, body, agent)
    assert (answer.status_code, answer.text) == (202, "")
    assert [log["operation"] for log in logs if log["event"] == "call"] == ["tools.endpoint"]
    assert refusal(send(client, body, {KEY: "svc_key_x"})) == (401, "auth_invalid")


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def nested(levels: int) -> Any:
    return 1 if levels == 0 else {"a": nested(levels - 1)}


@each("bad_id", ["a\0b", "\ud800", nested(40)], ids=["NUL", "half a surrogate pair", "40 levels"])
@each("version", ["2025-11-25", "2026-07-28"])
def test_an_argument_that_cannot_be_stored__is_refused(
    client: TestClient, agent: dict[str, str], version: str, bad_id: Any
) -> None:
    text = json.dumps(
        message("tools/call", name="mandate_get", arguments={"id": bad_id}, _meta=META)
    )
    era = {
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "mandate_get",
        "Content-Type": "application/json",
    }
    answer = client.post("/mcp?profile=full", content=text, headers={**agent, **JSON, **era})
    # the parser of the first era takes no half pair
    if (version, bad_id) == ("2025-11-25", "\ud800"):
        assert error(answer)[:2] == (400, -32700)
    else:
        assert (
            answer.json()["result"]["structuredContent"]["service"]["reason"] == "invalid_parameter"
        )


@each("no_id", [{"a": 1}, [1], 1.5, True, None])
def test_an_id_that_is_none__is_refused_and_stands_in_no_next_call(
    client: TestClient, agent: dict[str, str], no_id: Any
) -> None:
    result = call(client, "mandate_report_event", agent, id=no_id, kind="note", idempotency_key="a")
    assert (result["isError"], result["structuredContent"]["service"]["reason"]) in (
        (True, "invalid_parameter"),
        (True, "not_found"),
    )
    paths = [item["path"] for item in result["structuredContent"]["service"]["next"]]
    assert not [path for path in paths if "%" in path or "None" in path or "True" in path]


def test_a_message_that_is_refused__keeps_its_id(client: TestClient) -> None:
    answer = send(client, {**LIST, "id": "seven"}, {KEY: "svc_key_x"})
    assert answer.json()["id"] == "seven"


@pytest.mark.parametrize("more", [0, 1])
def test_a_body__may_be_as_large_as_any_other_calls(limited: Limit, more: int) -> None:
    client = limited(body_bytes=1000)
    text = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    answer = client.post(
        "/mcp",
        content=text.ljust(1000 + more),
        headers={**JSON, "Content-Type": "application/json"},
    )
    assert answer.status_code == (413 if more else 200)
    if more:
        assert refusal(answer) == (413, "body_too_large")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded"])
def test_another_media_type__is_415(client: TestClient, media_type: str) -> None:
    answer = client.post("/mcp", content="{}", headers={**JSON, "Content-Type": media_type})
    assert refusal(answer) == (415, "unsupported_media_type")


def test_a_client_that_takes_no_json__is_406(client: TestClient) -> None:
    assert client.post("/mcp", json=LIST, headers={"Accept": "text/html"}).status_code == 406


# Profiles


def test_each_profile__shows_its_tools(client: TestClient) -> None:
    assert listed(client, profile=None) == listed(client, profile="connector")
    assert set(listed(client, profile=None)) == CONNECTOR
    assert set(listed(client, profile="claw")) == CONNECTOR | {
        "get_mining_tasks",
        "submit_discovery",
        "tasks_browse",
        "task_claim",
        "task_submit_proof",
        "hive_list_rooms",
        "hive_read_room",
        "hive_post",
    }
    assert {"agent_connect", "mandate_get", "agent_policy_set", "transfer_report"} <= set(
        listed(client, profile="full")
    )


@each(
    "body",
    [LIST, message("tools/call", name="agent_connect", arguments={"agent_name": "a"})],
    ids=["list", "call"],
)
@each("query", ["profile=everything", "profile=", "profile=full&profile=claw", "tools=all"])
def test_an_unknown_profile__is_refused(
    client: TestClient, body: dict[str, Any], query: str
) -> None:
    answer = client.post(f"/mcp?{query}", json=body, headers=JSON)
    assert refusal(answer) == (400, "invalid_parameter")


def test_the_refusal_of_a_profile__names_those_that_exist(client: TestClient) -> None:
    answer = send(client, LIST, profile="everything")
    assert answer.json()["error"]["message"] == "profile: write 'connector', 'claw' or 'full'."


def test_a_tool_that_does_not_exist__is_invalid_params(client: TestClient) -> None:
    answer = send(client, message("tools/call", name="order_place", arguments={}))
    assert error(answer) == (
        200,
        -32602,
        "There is no tool 'order_place'; tools/list names those that exist.",
    )


def test_a_tool_outside_the_profile__is_invalid_params_and_says_where_it_is(
    client: TestClient, agent: dict[str, str]
) -> None:
    answer = send(
        client, message("tools/call", name="mandate_list", arguments={}), agent, profile="claw"
    )
    assert error(answer) == (
        200,
        -32602,
        "The profile claw does not show mandate_list; connect with ?profile=full.",
    )


def test_catalogue_and_discovery__name_the_endpoint_and_its_tools(client: TestClient) -> None:
    offered = client.get("/.well-known/service.json").json()["tools"]
    catalog = client.get("/agent/catalog").json()
    assert (offered["endpoint"], offered["default_profile"]) == (
        "http://testserver/mcp",
        "connector",
    )
    assert offered["profiles"] == {
        profile.value: listed(client, profile=profile.value) for profile in Profile
    }
    assert catalog["tools"] == offered
    assert [call["tool"] for call in catalog["calls"] if call["tool"]] == offered["profiles"][
        "full"
    ]
    assert {"POST", "GET"} == {
        call["method"] for call in catalog["calls"] if call["path"] == "/mcp"
    }


# Who calls


@each("headers", [{KEY: "svc_key_x"}, bearer("x"), {"Authorization": "Basic eDp5"}])
@each(
    "body",
    [LIST, {"jsonrpc": "2.0", "method": "notifications/initialized"}],
    ids=["a request", "a notification"],
)
def test_an_invalid_credential__is_401_before_any_message(
    client: TestClient, headers: dict[str, str], body: dict[str, Any]
) -> None:
    assert refusal(send(client, body, headers)) == (401, "auth_invalid")


def test_a_page_of_another_site__is_403_before_its_credentials(
    client: TestClient, agent: dict[str, str]
) -> None:
    answer = send(client, LIST, {**agent, "Origin": "https://evil.example"})
    assert refusal(answer) == (403, "origin_not_allowed")
    assert (
        send(client, LIST, {**agent, "Origin": "http://testserver"}).headers[
            "X-RateLimit-Remaining"
        ]
        == "1999"
    )


def test_another_host__is_403_and_the_services_own_is_not(client: TestClient) -> None:
    assert refusal(send(client, LIST, {"Host": "evil.example"})) == (403, "origin_not_allowed")
    assert send(client, LIST, {"Host": "testserver:443"}).status_code == 200


# The ceiling


def test_every_message_with_a_key__counts(limited: Limit) -> None:
    client = limited(daily_ceiling=5)
    agent = {KEY: str(connect(client)["api_key"])}
    first = send(client, LIST, agent)
    result = call(client, "mandate_list", agent)
    refused = call(client, "mandate_get", agent, id="m_aaaaaaaaaa")
    assert (first.headers["X-RateLimit-Limit"], first.headers["X-RateLimit-Remaining"]) == (
        "5",
        "4",
    )
    assert [
        one["_meta"]["service/headers"]["X-RateLimit-Remaining"] for one in (result, refused)
    ] == ["3", "2"]
    assert (
        client.get("/mandate-wallet/agents/me", headers=agent).headers["X-RateLimit-Remaining"]
        == "1"
    )


def test_a_tools_answer__carries_the_ceiling_in_its_headers_too(
    client: TestClient, agent: dict[str, str]
) -> None:
    answer = send(client, message("tools/call", name="mandate_list", arguments={}), agent)
    in_result = answer.json()["result"]["_meta"]["service/headers"]
    names = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    assert [answer.headers[name] for name in names] == [in_result[name] for name in names]


def test_the_call_after_the_last__is_refused_by_result_and_the_message_by_status(
    limited: Limit,
) -> None:
    client = limited(daily_ceiling=1)
    agent = {KEY: str(connect(client)["api_key"])}
    assert call(client, "mandate_list", agent)["isError"] is False
    result = call(client, "mandate_list", agent)
    assert (result["isError"], result["structuredContent"]["service"]["reason"]) == (
        True,
        "rate_limited",
    )
    assert result["structuredContent"]["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    assert result["_meta"]["service/headers"]["Retry-After"] == "43200"
    answer = send(client, LIST, agent)
    assert refusal(answer) == (429, "rate_limited")
    assert answer.headers["Retry-After"] == "43200"


# What breaks


@pytest.fixture
def probed(deps: Deps, gate: Gate) -> AnyClient:
    """An application whose probe is a tool."""
    tool = Tool("probe", "Probe", ToolKind.WRITE, Profile.FULL)
    return AnyClient(
        create_app(replace(deps, catalogue=probe.catalogue(gate, tool))),
        base_url="http://testserver",
    )


def test_a_defect__is_a_result_with_the_request_id(probed: AnyClient) -> None:
    agent = {KEY: str(connect(probed)["api_key"])}
    with capture_logs() as logs:
        result = call(
            probed, "probe", {**agent, "X-Request-Id": "r-1"}, id="m_aaaaaaaaaa", do="defect"
        )
    assert (result["isError"], result["_meta"]["service/status"]) == (True, 500)
    assert "r-1" in result["structuredContent"]["detail"]
    assert [log["request_id"] for log in logs if log["event"] == "defect"] == ["r-1"]


def test_a_database_that_is_gone__is_503_and_safe_to_repeat(
    client: TestClient, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(database: Database) -> Any:
        raise OperationalError("select", {}, Exception("gone"))

    monkeypatch.setattr(Database, "read", gone)
    result = call(client, "mandate_list", agent)
    assert (
        result["_meta"]["service/status"],
        result["structuredContent"]["service"]["retry_safe"],
    ) == (503, True)


def test_keys_and_arguments__are_never_logged(
    client: TestClient, agent: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as logs:
        call(client, "mandate_stop", agent, id="m_aaaaaaaaaa", why="marked-text")
        send(client, LIST, bearer("marked-token"))
    written = str(logs) + "".join(capfd.readouterr())
    assert [log["operation"] for log in logs if log["event"] == "call"] == [
        "mandates.stop",
        "tools.endpoint",
    ]
    assert not [word for word in (agent[KEY], "marked-text", "marked-token") if word in written]


# The page


def test_a_browser__gets_a_page_that_says_how_to_connect(client: TestClient) -> None:
    answer = client.get("/mcp", headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "http://testserver/mcp?profile=connector" in answer.text
    assert "<code>agent_connect</code>" in answer.text
    assert "<code>mandate_get</code>" not in answer.text
    assert "<code>mandate_get</code>" in client.get("/mcp?profile=full", headers=HTML).text
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_head__answers_as_get(client: TestClient) -> None:
    answer = client.head("/mcp")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")


def test_a_get_for_a_stream__is_405(client: TestClient) -> None:
    answer = client.get("/mcp", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"], answer.json()["service"]["reason"]) == (
        405,
        "POST",
        "method_not_allowed",
    )


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH"])
def test_other_methods__are_405(client: TestClient, method: str) -> None:
    assert client.request(method, "/mcp").status_code == 405


def test_the_page__refuses_what_every_route_refuses(client: TestClient) -> None:
    answer = client.get("/mcp?profile=everything")
    assert (answer.status_code, answer.json()["service"]["reason"]) == (400, "invalid_parameter")
    assert client.get("/mcp", headers={KEY: "svc_key_x"}).status_code == 401
