"""Tools over the application in this process, with the stage of the mandate tests beside them."""

from typing import Any

from tests.integration.api.conftest import TestClient
from tests.integration.api.mandates.conftest import (
    chain,
    deps,
    mandate_id,
    origin,
    people,
    stage,
)

__all__ = ["chain", "deps", "mandate_id", "origin", "people", "stage"]

JSON = {"Accept": "application/json"}
CONNECTOR = {
    "agent_connect", "get_rules", "reserve_state", "reserve_quote", "fund_signals", "fund_signal_plan",
    "get_price", "get_price_stats", "get_stats", "get_warnings", "search_tokens",
}  # fmt: skip
"""The tools of the profile that is shown when none is named."""


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def send(
    client: TestClient,
    body: Any,
    headers: dict[str, str] | None = None,
    profile: str | None = "full",
) -> Any:
    """The HTTP answer to one message."""
    query = "" if profile is None else f"?profile={profile}"
    return client.post(f"/mcp{query}", json=body, headers={**JSON, **(headers or {})})


def call(
    client: TestClient, tool: str, headers: dict[str, str] | None = None, /, **arguments: Any
) -> dict[str, Any]:
    """The result of a tool's call."""
    answer = send(client, message("tools/call", name=tool, arguments=arguments), headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["result"])


def listed(
    client: TestClient, headers: dict[str, str] | None = None, profile: str | None = "full"
) -> list[str]:
    answer = send(client, message("tools/list"), headers, profile)
    return [tool["name"] for tool in answer.json()["result"]["tools"]]
