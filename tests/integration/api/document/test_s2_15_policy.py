"""Wallet document 2.15: one policy an agent, replaced whole by its owner, each change logged."""

from typing import Any

import pytest

from tests.each import each
from tests.integration.api.mandates.stage import Stage, reason

WHOLE: dict[str, Any] = {
    "assets": ["USDC", "ETH"],
    "venues": ["test_venue"],
    "networks": ["base-sepolia"],
    "stop_conditions": {
        "loss": 0.1,
        "words": ["keep", {"deep": None}],
        "big": 123456789012345,
        "text": "é < \u2028",
    },
    "per_tx_cap_usdc": "5.500000",
    "total_cap_usdc": "100.000000",
    "hold_ratio": "0.250000",
    "min_net_bps": -20,
    "max_cost_bps": 30,
    "slippage_bps": 10_000,
    "credit_budget_daily": 0,
    "auto_vs_approval": {"allow_overdraft": True},
    "accepts_mandates": True,
}
DEFAULTS: dict[str, Any] = {
    key: [] if key in ("assets", "venues", "networks") else None for key in WHOLE
} | {"accepts_mandates": False}


def put(stage: Stage, **body: Any) -> Any:
    return stage.call("PUT", f"/agents/{stage.agent_id}/policy", stage.owner, body)


def policy(stage: Stage) -> dict[str, Any]:
    read = stage.get(f"/agents/{stage.agent_id}/policy", stage.agent)
    return {key: value for key, value in read.items() if key in WHOLE}


@pytest.mark.row(
    "2.15 assets", "2.15 venues", "2.15 networks", "2.15 stop_conditions", "2.15 per_tx_cap_usdc",
    "2.15 total_cap_usdc",
    "2.15 hold_ratio", "2.15 min_net_bps", "2.15 max_cost_bps", "2.15 slippage_bps",
    "2.15 credit_budget_daily",
    "2.15 auto_vs_approval", "2.15 accepts_mandates", "4 policy",
)  # fmt: skip
def test_each_field__comes_back_as_it_was_written(stage: Stage) -> None:
    answer = put(stage, **WHOLE)
    assert answer.status_code == 200
    assert {key: answer.json()[key] for key in WHOLE} == WHOLE == policy(stage)
    assert answer.json()["agent_id"] == stage.agent_id


@pytest.mark.row("2.15 the owner replaces the whole policy", "2.15 accepts_mandates")
def test_what_a_body_leaves_out__falls_back_accepts_mandates_to_false(stage: Stage) -> None:
    put(stage, **WHOLE)
    assert put(stage).status_code == 200
    assert policy(stage) == DEFAULTS
    assert reason(
        stage.call(
            "POST",
            f"/mandates/{stage.draft(agent_id=None)}/assign",
            stage.owner,
            {"agent_id": stage.agent_id},
        )
    ) == (
        409,
        "agent_not_accepting",
    )


@pytest.mark.row("2.15 stop_conditions")
@each(
    "conditions",
    [
        ["a", 1, None, True],
        "when the moon is full",
        {"drawdown_pct": "5"},
        {"a": {"b": [[]]}},
        None,
        [0.1, 2.5e-7, -0.0, "0.1", 10**30],
    ],
)
def test_stop_conditions__are_stored_verbatim_whatever_they_are(
    stage: Stage, conditions: Any
) -> None:
    put(stage, stop_conditions=conditions)
    assert policy(stage)["stop_conditions"] == conditions


@pytest.mark.row("2.15 stop_conditions")
@pytest.mark.parametrize("literal", ["0.10000000000000000001", "1e400"])
def test_stop_conditions__a_number_that_would_come_back_as_another__is_refused(
    stage: Stage, literal: str
) -> None:
    headers = stage.owner | {"Content-Type": "application/json"}
    path, text = (
        f"/mandate-wallet/agents/{stage.agent_id}/policy",
        f'{{"stop_conditions": {{"loss": [{literal}]}}}}',
    )
    answer = stage.client.put(path, content=text, headers=headers)
    assert reason(answer) == (400, "invalid_number")
    assert (
        answer.json()["detail"].startswith("stop_conditions: ")
        and literal in answer.json()["detail"]
    )


@pytest.mark.row(
    "2.15 hold_ratio",
    "2.15 max_cost_bps",
    "2.15 slippage_bps",
    "2.15 credit_budget_daily",
    "2.15 per_tx_cap_usdc",
)
@each(
    ("field", "value", "kind"),
    [
        ("hold_ratio", "1.000001", "invalid_number"),
        ("hold_ratio", "-0.000001", "invalid_number"),
        ("max_cost_bps", 10_001, "invalid_parameter"),
        ("slippage_bps", -1, "invalid_parameter"),
        ("min_net_bps", 1.5, "invalid_number"),
        ("credit_budget_daily", -1, "invalid_parameter"),
        ("per_tx_cap_usdc", "0", "invalid_number"),
        ("total_cap_usdc", "1.0000001", "invalid_number"),
        ("assets", "USDC", "invalid_parameter"),
        ("auto_vs_approval", [], "invalid_parameter"),
        ("accepts_mandates", "yes", "invalid_parameter"),
        ("leverage", 3, "invalid_parameter"),
        ("api_key", "x", "secret_field_refused"),
    ],
)
def test_a_field_that_breaks_its_rule__is_named_and_nothing_changes(
    stage: Stage, field: str, value: Any, kind: str
) -> None:
    put(stage, **WHOLE)
    answer = put(stage, **{**WHOLE, field: value})
    assert (
        reason(answer),
        answer.json()["detail"].startswith(field) or kind == "secret_field_refused",
    ) == ((400, kind), True)
    assert policy(stage) == WHOLE


@pytest.mark.row("2.15 each change is logged")
def test_each_change__is_logged_with_both_sides_newest_first_and_no_change_is_none(
    stage: Stage,
) -> None:
    path = f"/agents/{stage.agent_id}/policy"
    assert [one["changes"] for one in stage.get(path, stage.owner)["policy_changelog"]] == [
        {"accepts_mandates": {"from": False, "to": True}}
    ]
    stage.clock.pass_(minutes=1)
    put(stage, accepts_mandates=True, slippage_bps=5)
    put(stage, accepts_mandates=True, slippage_bps=5)
    log = stage.get(path, stage.owner)["policy_changelog"]
    assert len(log) == 2
    assert log[0] == {
        "at": "2026-11-21T12:01:00Z",
        "changes": {"slippage_bps": {"from": None, "to": 5}},
    }
    for bps in range(6, 18):
        put(stage, accepts_mandates=True, slippage_bps=bps)
    log = stage.get(path, stage.owner)["policy_changelog"]
    assert [one["changes"]["slippage_bps"]["to"] for one in log] == list(range(17, 7, -1))


@pytest.mark.row("2.15 the owner replaces the whole policy")
def test_only_the_owner__replaces_it(stage: Stage) -> None:
    assert reason(stage.call("PUT", f"/agents/{stage.agent_id}/policy", stage.agent, WHOLE)) == (
        403,
        "scope_denied",
    )
    assert reason(
        stage.call("PUT", f"/agents/{stage.agent_id}/policy", stage.new_owner(), WHOLE)
    ) == (403, "not_owner")
    assert policy(stage) == DEFAULTS | {"accepts_mandates": True}


def test_of_anothers_agent__nobody_reads_it_and_of_nobodys__there_is_none(stage: Stage) -> None:
    stranger = stage.new_owner()
    read = stage.call("GET", f"/agents/{stage.agent_id}/policy", stranger)
    assert reason(read) == (403, "not_owner")
    assert reason(stage.call("GET", "/agents/999999/policy", stranger)) == (404, "not_found")


def test_an_agent_without_one__accepts_nothing(stage: Stage) -> None:
    agent_id, key = stage.new_agent()
    read = stage.get(f"/agents/{agent_id}/policy", key)
    assert (read["accepts_mandates"], read["policy_changelog"]) == (False, [])
