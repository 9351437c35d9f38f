"""The tools of the reserve token say what the routes say, and refuse as they do."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.integration.api.reserve.conftest import Chain
from tests.integration.api.tools.conftest import call

# tool, path, arguments
TWINS: list[tuple[str, str, dict[str, Any]]] = [
    ("reserve_state", "/reserve/state", {}),
    ("reserve_quote", "/reserve/quote", {"usd": "5"}),
]


@pytest.mark.parametrize(("tool", "path", "arguments"), TWINS, ids=[one[0] for one in TWINS])
def test_a_tool__answers_as_its_route(
    client: TestClient, token: Chain, tool: str, path: str, arguments: dict[str, Any]
) -> None:
    found = call(client, tool, **arguments)
    assert found["structuredContent"] == client.get(path, params=arguments).json()
    assert "isError" not in found or found["isError"] is False


@pytest.mark.parametrize(("tool", "path", "arguments"), TWINS, ids=[one[0] for one in TWINS])
def test_a_tool__before_all_is_read__refuses_as_its_route(
    client: TestClient, tool: str, path: str, arguments: dict[str, Any]
) -> None:
    found = call(client, tool, **arguments)
    assert found["isError"] is True
    refused = client.get(path, params=arguments).json()
    assert refused["service"]["reason"] == "reserve_unknown"
    assert refused["detail"] in str(found)


@pytest.mark.parametrize("usd", ["0", "-1", "1.0000001", "x"])
def test_a_quote_by_tool__for_no_amount__names_the_field(
    client: TestClient, token: Chain, usd: str
) -> None:
    found = call(client, "reserve_quote", usd=usd)
    assert found["isError"] is True
    assert client.get("/reserve/quote", params={"usd": usd}).json()["detail"] in str(found)
