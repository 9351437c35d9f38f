"""What the protocol answers everybody alike, and the rate of an address' messages."""

from typing import Any

import pytest

from tests.integration.api.conftest import KEY, Limit, TestClient, connect
from tests.integration.api.tools.conftest import listed, message, send

LIST = message("tools/list")
INITIALIZE = message(
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)
MODERN = {"MCP-Protocol-Version": "2026-07-28"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


@pytest.mark.parametrize(
    ("asked", "headers"),
    [
        (INITIALIZE, {}),
        (message("ping"), {}),
        (LIST, {"MCP-Protocol-Version": "2025-06-18"}),
        (message("resources/templates/list"), {}),
        (message("tools/list", _meta=ENVELOPE), MODERN | {"Mcp-Method": "tools/list"}),
        (message("server/discover", _meta=ENVELOPE), MODERN | {"Mcp-Method": "server/discover"}),
    ],
)
def test_what_everybody_is_answered__is_written_once(
    client: TestClient,
    asked: dict[str, Any],
    headers: dict[str, str],
    agent: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answers(sent: dict[str, Any], more: dict[str, str] | None = None) -> Any:
        answer = send(client, sent, headers | (more or {}))
        assert answer.status_code == 200
        return answer

    first = answers(asked)
    monkeypatch.delattr("api.tools.endpoint.StreamableHTTPSessionManager")
    again = answers({**asked, "id": 'é"'})
    with_key = answers(asked, agent)
    assert again.json() == {**first.json(), "id": 'é"'}
    assert with_key.content == first.content
    assert with_key.headers["X-RateLimit-Remaining"] == "1999"
    kept = {name: value for name, value in first.headers.items() if name != "x-request-id"}
    assert (
        kept.items() <= {**again.headers, "content-length": first.headers["content-length"]}.items()
    )


@pytest.mark.parametrize(
    ("asked", "headers"),
    [
        ({**LIST, "params": {"cursor": "2"}}, {}),
        (message("initialize", protocolVersion="2025-11-25"), {}),
        ({**LIST, "jsonrpc": "1.0"}, {}),
        (LIST, {"Accept": "text/html"}),
        (LIST, MODERN),
        ({**LIST, "params": []}, {}),
        ({**LIST, "params": {"_meta": {"progressToken": []}}}, {}),
        ({**INITIALIZE, "params": INITIALIZE["params"] | {"capabilities": {"roots": 5}}}, {}),
    ],
)
def test_what_the_server_refuses__it_refuses_however_often_the_right_one_was_asked(
    client: TestClient, asked: dict[str, Any], headers: dict[str, str]
) -> None:
    for right in (LIST, INITIALIZE, LIST, INITIALIZE):
        assert "result" in send(client, right).json()
    for _ in range(2):
        assert "result" not in send(client, asked, headers).json()


def test_a_profile__gets_its_own_list_again(client: TestClient) -> None:
    full, connector = listed(client), listed(client, profile="connector")
    assert (listed(client), listed(client, profile="connector")) == (full, connector)
    assert set(connector) < set(full)


def test_messages_of_one_address__have_a_rate__and_a_key_has_none(
    limited: Limit, agent: dict[str, str]
) -> None:
    client = limited(tool_messages_per_address_per_minute=2)
    for _ in range(2):
        assert send(client, LIST).status_code == 200
    refused = send(client, LIST)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert refused.json()["error"]["data"]["service"]["reason"] == "rate_limited"
    assert send(client, LIST, agent).status_code == 200


def test_a_read_that_the_service_keeps__is_written_once_without_a_key(
    client: TestClient, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, topic = ({}, {"topic": "Fees"})
    asked = [
        message("tools/call", name="get_rules", arguments=rules),
        message("tools/call", name="get_rules", arguments=topic),
        message("resources/list"),
        message("resources/read", uri="kg://index"),
    ]
    first = [send(client, one).json() for one in asked]
    with_key = send(client, asked[0], agent)
    assert with_key.headers["X-RateLimit-Remaining"] == "1999"
    refused = message("tools/call", name="get_rules", arguments={"topic": "none"})
    assert send(client, refused).json()["result"]["isError"]
    monkeypatch.delattr("api.tools.endpoint.StreamableHTTPSessionManager")
    for one, before in zip(asked, first, strict=True):
        again = send(client, {**one, "id": "2"})
        assert again.json() == {**before, "id": "2"}
        assert "Age" in again.headers
    for sent, headers in [
        (asked[0], agent),
        (refused, {}),
        (message("tools/call", name="get_rules", arguments={"topic": "Bonds"}), {}),
        (message("tools/call", name="get_rules", arguments={}, _meta={"x402/payment": {}}), {}),
        (message("tools/call", name="get_limits", arguments={}), {}),
    ]:
        assert send(client, sent, headers).status_code == 500, sent  # asks the server
