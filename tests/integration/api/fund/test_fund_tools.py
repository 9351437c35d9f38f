"""The fund's tools, with the arguments that the specification names."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.integration.api.fund.conftest import ADDRESS, Follower, Office
from tests.integration.api.tools.conftest import call, message, send


@pytest.fixture
def signal(office: Office, vault: int) -> int:
    """A live one."""
    return office.publish(vault)


def arguments_of(client: TestClient, name: str) -> dict[str, Any]:
    tools = send(client, message("tools/list"), None).json()["result"]["tools"]
    return dict(next(tool["inputSchema"] for tool in tools if tool["name"] == name))


def test_the_tools__name_the_vault_and_the_signal(client: TestClient) -> None:
    signals = arguments_of(client, "fund_signals")
    assert signals["required"] == ["vault_id"]
    assert set(signals["properties"]) == {"vault_id", "live", "limit", "cursor"}
    plan = arguments_of(client, "fund_signal_plan")
    assert set(plan["required"]) == {"signal_id", "account_address"}
    assert set(plan["properties"]) == {"signal_id", "account_address", "idempotency_key"}


def test_live_signals__are_counted_by_the_tool_as_by_the_route(
    follower: Follower, vault: int, signal: int
) -> None:
    told = call(follower.client, "fund_signals", follower.key, vault_id=vault, live=True)
    asked = follower.get(f"/fund/vaults/{vault}/signals/live").json()
    assert (told["isError"], told["structuredContent"]) == (False, asked)
    assert asked["locked_count"] == 1


def test_a_plan_by_the_tool__is_the_routes_and_is_paid_once(
    follower: Follower, vault: int, signal: int
) -> None:
    follower.consent(vault)
    sent = {"signal_id": signal, "account_address": ADDRESS, "idempotency_key": "one"}
    first = call(follower.client, "fund_signal_plan", follower.key, **sent)["structuredContent"]
    again = call(follower.client, "fund_signal_plan", follower.key, **sent)["structuredContent"]
    assert (first["disposition"], first["charged_credits"], again) == ("ready", 10, first)
    body = {"account_address": ADDRESS}
    replayed = follower.post(f"/fund/signals/{signal}/plan", body, **{"Idempotency-Key": "one"})
    assert (replayed.headers["Idempotent-Replay"], replayed.json()) == ("true", first)


@pytest.mark.parametrize(
    ("sent", "says", "missing"),
    [
        ({}, "vault_id: send it; it is required.", ["vault_id"]),
        ({"id": 1}, "id: write it as vault_id; this tool has no id.", None),
        ({"id": 1, "vault_id": 1}, "id: write it as vault_id; this tool has no id.", None),
        ({"vault_id": "x"}, "vault_id: write a whole number.", None),
        ({"vault_id": 0}, "vault_id: write a number that is not below 1.", None),
    ],
)
def test_a_refusal__names_the_argument(
    client: TestClient, sent: dict[str, Any], says: str, missing: list[str] | None
) -> None:
    told = call(client, "fund_signals", **sent)
    assert told["isError"] is True
    assert told["structuredContent"]["detail"] == says
    assert told["structuredContent"]["service"].get("missing") == missing
