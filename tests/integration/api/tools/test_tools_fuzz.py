"""Whatever is sent, somebody is answered: JSON or nothing, never a defect."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from api.catalogue import catalogue
from api.kernel.tool import Profile
from tests.integration.api.conftest import KEY, Limit, TestClient, connect
from tests.integration.api.tools.conftest import JSON

TOOLS = list(catalogue().tools(Profile.FULL))


def objects(values: Any) -> Any:
    return st.dictionaries(
        st.text(max_size=5)
        | st.sampled_from(["id", "kind", "amount_usdc", "limit", "idempotency_key"]),
        values,
        max_size=5,
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | objects(inner),
)
CALLS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers() | st.text(), "method": st.just("tools/call")},
    optional={
        "params": st.fixed_dictionaries(
            {"name": st.sampled_from(TOOLS), "arguments": objects(VALUES)}
        )
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": VALUES,
        "method": st.sampled_from(
            [
                "initialize",
                "ping",
                "tools/list",
                "tools/call",
                "server/discover",
                "logging/setLevel",
                "x",
            ]
        )
        | VALUES,
        "params": VALUES,
        "result": VALUES,
    },
)
BODIES = st.binary(max_size=50) | st.builds(
    lambda value: json.dumps(value).encode(), CALLS | MESSAGES | VALUES
)


@pytest.fixture
def client(limited: Limit) -> TestClient:
    return limited(daily_ceiling=1_000_000)


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=BODIES, version=st.sampled_from([None, "2025-06-18", "2026-07-28", "x"]))
def test_no_body__is_a_defect(
    client: TestClient, agent: dict[str, str], body: bytes, version: str | None
) -> None:
    headers = {**JSON, **agent, "Content-Type": "application/json"} | (
        {} if version is None else {"MCP-Protocol-Version": version}
    )
    with capture_logs() as logs:
        answer = client.post("/mcp?profile=full", content=body, headers=headers)
    assert not [log for log in logs if log["event"] == "defect"]
    assert answer.status_code in (200, 202, 400, 404, 413)
    assert answer.status_code == 202 or answer.json()["jsonrpc"] == "2.0"
