"""What the owner lets the agent's key build in USD, a call and a UTC day."""

from typing import Any

import httpx

from tests.integration.api.mandates.stage import ADAPTER, USDC, Stage, reason


def limit(stage: Stage, **limits: str) -> None:
    body: dict[str, Any] = {"scopes": None, **limits}
    answer = stage.client.put(f"/agents/{stage.agent_id}/scopes", json=body, headers=stage.owner)
    assert answer.status_code == 200, answer.text


def build(stage: Stage, mandate_id: str, amount: str) -> httpx.Response:
    body = {"target": ADAPTER, "function": "buy(uint256)", "args": ["1"], "amount_usdc": amount}
    return stage.call("POST", f"/mandates/{mandate_id}/execute-call", stage.agent, body)


def test_a_call__of_the_orders_limit_is_built__and_above_it_refused(
    stage: Stage, mandate_id: str
) -> None:
    limit(stage, per_order_usd="50")
    assert build(stage, mandate_id, "50.000000").status_code == 200
    answer = build(stage, mandate_id, "50.000001")
    service = answer.json()["service"]
    assert reason(answer) == (403, "spend_limit_reached")
    assert (service["remaining"], service["retry_safe"], service["who_fixes"]) == (
        {"per_order_usd": "50.000000"},
        True,
        "owner",
    )
    assert "retry_at" not in service
    first = service["next"][0]
    assert (
        stage.client.request(first["method"], first["path"], headers=stage.agent).json()[
            "per_order_usd"
        ]
        == "50.000000"
    )


def test_the_day__counts_what_was_executed_and_neither_what_was_reported_nor_what_was_built(
    stage: Stage, mandate_id: str
) -> None:
    limit(stage, per_day_usd="100")
    assert [build(stage, mandate_id, "100").status_code for _ in range(2)] == [200, 200]
    stage.executed(mandate_id, 60 * USDC, tx_hash="0x" + "aa" * 32)
    report = {
        "kind": "buy",
        "amount_usdc": "60",
        "tx_hash": "0x" + "aa" * 32,
        "payload": {"target": ADAPTER},
    }
    stage.post(f"/mandates/{mandate_id}/events", stage.agent, report)
    stage.post(
        f"/mandates/{mandate_id}/events",
        stage.agent,
        report | {"amount_usdc": "15", "tx_hash": "0x" + "bb" * 32},
    )
    assert build(stage, mandate_id, "40.000000").status_code == 200
    answer = build(stage, mandate_id, "40.000001")
    assert reason(answer) == (403, "spend_limit_reached")
    assert answer.json()["service"]["remaining"] == {"per_day_usd": "40.000000"}
    assert answer.json()["service"]["retry_at"] == "2026-11-22T00:00:00Z"


def test_the_day__counts_all_mandates_of_the_agent(stage: Stage) -> None:
    first, second = stage.working(), stage.working()
    limit(stage, per_day_usd="100")
    stage.executed(first, 70 * USDC)
    assert build(stage, second, "30").status_code == 200
    assert reason(build(stage, second, "30.000001")) == (403, "spend_limit_reached")


def test_the_day__begins_at_midnight_utc(stage: Stage, mandate_id: str) -> None:
    limit(stage, per_day_usd="100")
    stage.later(hours=11, minutes=59, seconds=59)
    stage.executed(mandate_id, 100 * USDC)
    assert reason(build(stage, mandate_id, "0.000001")) == (403, "spend_limit_reached")
    stage.later(seconds=1)
    stage.executed(mandate_id, 10 * USDC)
    assert build(stage, mandate_id, "90").status_code == 200
    assert reason(build(stage, mandate_id, "90.000001")) == (403, "spend_limit_reached")


def test_without_limits__the_mandates_own_rules_decide(stage: Stage, mandate_id: str) -> None:
    assert build(stage, mandate_id, "200").json()["check"]["ok"] is True
    assert build(stage, mandate_id, "201").json()["check"]["reason"] == "OverPerTxCap"
