"""The fund's tools, with the arguments that the specification names."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.each import each
from tests.integration.api.fund.conftest import Office
from tests.integration.api.tools.conftest import call, message, send


@pytest.fixture
def signal(office: Office, vault: int) -> int:
    """A live one."""
    return office.publish(vault)


def arguments_of(client: TestClient, name: str) -> dict[str, Any]:
    tools = send(client, message("tools/list"), None).json()["result"]["tools"]
    return dict(next(tool["inputSchema"] for tool in tools if tool["name"] == name))


@each(
    ("sent", "says", "missing"),
    [
        ({}, "vault_id: send it; it is required.", ["vault_id"]),
        ({"id": 1}, "id: write it as vault_id; this tool has no id.", None),
        ({"id": 1, "vault_id": 1}, "id: write it as vault_id; this tool has no id.", None),
        ({"vault_id": "x"}, "vault_id: write a whole number.", None),
        ({"vault_id": 0}, "vault_id: write a number of at least 1.", None),
    ],
)
def test_a_refusal__names_the_argument(
    client: TestClient, sent: dict[str, Any], says: str, missing: list[str] | None
) -> None:
    told = call(client, "fund_signals", **sent)
    assert told["isError"] is True
    assert told["structuredContent"]["detail"] == says
    assert told["structuredContent"]["service"].get("missing") == missing
