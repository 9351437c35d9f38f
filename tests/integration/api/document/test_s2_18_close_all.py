"""Wallet document 2.18 on a real chain and on paper: how an owner leaves, and 4's approvals beside
it.
"""

from typing import Any

import pytest

from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from tests.integration.api.document.on_chain import World, world  # noqa: F401 (fixtures)
from tests.integration.api.mandates.stage import ADAPTER, Stage, address
from tests.integration.chain_fixtures import USDC
from tests.personas import AGENT, OPERATOR, OWNER

STEP = {
    "n", "type", "venue", "adapter", "action", "who_signs", "who_signs_text", "to", "data",
    "est_proceeds_usdc", "note", "reason",
    "position_label", "call",
}  # fmt: skip


def plan_of(stage: Stage, mandate_id: str) -> dict[str, Any]:
    return stage.get(f"/mandates/{mandate_id}/close-all-plan", stage.owner)


def bought(
    stage: Stage, mandate_id: str, target: str, position: dict[str, Any], tx_hash: str | None = None
) -> None:
    body = {
        "kind": "buy",
        "amount_usdc": "40",
        "tx_hash": tx_hash,
        "payload": {"target": target, "position": position},
    }
    answer = stage.call(
        "POST",
        f"/mandates/{mandate_id}/events",
        stage.agent,
        {key: value for key, value in body.items() if value},
    )
    assert answer.status_code in (200, 202), answer.text


@pytest.mark.row(
    "2.18 steps in order", "2.18 type", "2.18 data", "2.18 venue", "2.18 adapter", "2.18 action",
    "2.18 who_signs", "2.18 who_signs_text",
    "2.18 est_proceeds_usdc", "2.18 note", "2.18 position_label",
    "2.18 exit_cost_est",
    "2.18 exit_cost_reason", "2.18 gets_back_est", "2.18 closes", "2.18 kept_at_venue",
    "4 GET /mandates/{id}/close-all-plan",
)  # fmt: skip
@pytest.mark.slow
def test_plan__reads_the_adapters_position_and_no_report_without_money(world: World) -> None:
    stage, adapter = world.stage, world.chain.contracts["test_venue_adapter"]
    tx_hash = world.send(AGENT, world.buy(40))
    bought(stage, world.mandate_id, adapter, {"id": "u", "name": "Units"}, tx_hash)
    world.chain.succeed(
        OPERATOR, world.chain.contracts["test_venue"], test_venue.set_price(1_100_000)
    )
    plan = plan_of(stage, world.mandate_id)
    assert [
        (step["n"], step["type"], step["action"], step["who_signs"]) for step in plan["steps"]
    ] == [
        (1, "stop", None, "owner"),
        (2, "unwind", "unwind", "owner"),
        (3, "withdraw", None, "owner"),
    ]
    assert all(step.keys() >= STEP for step in plan["steps"])
    stop, unwind, withdraw = plan["steps"]
    assert (stop["data"], stop["to"], withdraw["data"]) == (
        calldata.stop("owner"),
        world.vault,
        None,
    )
    sent = {"to": stop["to"], "data": stop["data"], "value": 0}
    assert stop["call"] == sent | {"chain_id": 84532, "transaction": sent | {"chainId": 84532}}
    assert withdraw["call"] is None
    assert (unwind["adapter"], unwind["venue"], unwind["to"]) == (
        "test_venue",
        "test_venue",
        world.vault,
    )
    assert (unwind["est_proceeds_usdc"], unwind["position_label"], unwind["reason"]) == (
        "44.000000",
        "Units",
        None,
    )
    assert (unwind["who_signs_text"], unwind["note"]) == (
        "You sign the unwind",
        "Sold through its adapter; the USDC goes to your vault.",
    )
    assert (
        plan["closes"],
        plan["kept_at_venue"],
        plan["exit_cost_est"],
        plan["exit_cost_reason"],
    ) == (1, 0, "0.000000", None)
    assert plan["gets_back_est"] == "1003.600000"  # 960 + 44 less 10 % of the gain of 4
    bought(stage, world.mandate_id, address(9), {"id": "x", "name": "Elsewhere"})
    again = plan_of(stage, world.mandate_id)
    assert again["steps"] == plan["steps"]  # nothing left the vault for it
    assert (again["closes"], again["kept_at_venue"]) == (1, 0)


@pytest.mark.row("2.18 steps in order", "2.18 data")
def test_plan__followed_step_by_step__brings_back_what_it_said(world: World) -> None:
    stage = world.stage
    world.send(AGENT, world.buy(200))
    said = plan_of(stage, world.mandate_id)["gets_back_est"]
    for types in (["stop", "unwind", "withdraw"], ["unwind", "withdraw"], ["withdraw"]):
        plan = plan_of(stage, world.mandate_id)
        assert [step["type"] for step in plan["steps"]] == types
        world.send(OWNER, plan["steps"][0])
    assert (said, world.chain.reader.usdc_balance(OWNER.address)) == ("1000.000000", 1_000 * USDC)
    assert world.read()["lock"]["reason"] == "nothing_left"


def test_batch__is_the_stop_and_the_withdrawal_of_what_is_there(world: World) -> None:
    world.send(AGENT, world.buy(200))
    batch = plan_of(world.stage, world.mandate_id)["batch"]
    assert (batch["amount_usdc"], batch["atomic"]) == ("800.000000", True)
    assert [(call["to"], call["value"], call["chain_id"]) for call in batch["calls"]] == [
        (world.vault, 0, 84532)
    ] * 2
    for call in batch["calls"]:
        world.send(OWNER, call)
    assert world.chain.reader.usdc_balance(OWNER.address) == 800 * USDC
    assert plan_of(world.stage, world.mandate_id)["batch"] is None, (
        "the stop is behind us; what is left are steps"
    )


@pytest.mark.slow
def test_batch__follows_what_is_spent__and_paper_has_none(world: World) -> None:
    for _ in range(2):
        world.send(AGENT, world.buy(200))
    assert plan_of(world.stage, world.mandate_id)["batch"]["amount_usdc"] == "600.000000"
    assert plan_of(world.stage, world.stage.paper())["batch"] is None


@pytest.mark.row("2.18 data", "2.18 note")
def test_plans_withdrawal__is_of_all_that_the_vault_holds_what_was_donated_too(
    world: World,
) -> None:
    """It was of the mandate's own cash alone, while its note says all."""
    stage = world.stage
    world.send(OWNER, stage.get(f"{world.path}/stop-call", stage.owner))
    world.chain.mint(world.vault, 7 * USDC)
    (withdraw,) = plan_of(stage, world.mandate_id)["steps"]
    assert withdraw["data"] == stage.get(f"{world.path}/withdraw-call", stage.owner)["data"]
    world.send(OWNER, withdraw)
    assert (
        world.chain.reader.usdc_balance(world.vault),
        world.chain.reader.usdc_balance(OWNER.address),
    ) == (0, 1_007 * USDC)


@pytest.mark.row("2.18 steps in order", "2.18 kept_at_venue")
def test_plan__of_paper__has_no_calls_and_after_the_stop_nothing(stage: Stage) -> None:
    mandate_id = stage.paper()
    bought(stage, mandate_id, ADAPTER, {"id": "u", "name": "Units"})
    plan = plan_of(stage, mandate_id)
    assert [(step["type"], step["action"], step["data"]) for step in plan["steps"]] == [
        ("stop", None, None),
        ("unwind", "keep", None),
    ]
    assert (plan["relay_positions_read"], plan["kept_at_venue"]) == (True, 1)
    stage.post(f"/mandates/{mandate_id}/stop", stage.owner)
    after = plan_of(stage, mandate_id)
    assert (after["steps"], after["closes"], after["kept_at_venue"], after["gets_back_est"]) == (
        [],
        0,
        0,
        "1000.000000",
    )


@pytest.mark.row("4 approvals")
def test_approvals__are_moves_and_buys_above_the_line_and_hold_nothing_up(stage: Stage) -> None:
    mandate_id = stage.working(approval_above_usdc="50")
    report = f"/mandates/{mandate_id}/events"
    for kind, amount in (
        ("buy", "50"),
        ("buy", "50.000001"),
        ("move", "60"),
        ("sell", "70"),
        ("fee", "80"),
    ):
        body = {
            "kind": kind,
            "amount_usdc": amount,
            "tx_hash": "0x" + "0" * 62 + amount[:2],
            "payload": {"target": ADAPTER},
        }
        stage.post(report, stage.agent, body)
    items = stage.get(f"/mandates/{mandate_id}/approvals", stage.agent)["items"]
    assert items == stage.get(f"/mandates/{mandate_id}/approvals", stage.owner)["items"]
    assert [(one["amount_usdc"], one["status"], one["at"]) for one in items] == [
        ("50.000001", "pending", "2026-11-21T12:00:00Z"),
        ("60.000000", "pending", "2026-11-21T12:00:00Z"),
    ]
    events = {
        one["id"]: one["amount_usdc"]
        for one in stage.get(f"/mandates/{mandate_id}/ledger", stage.owner)["events"]
    }
    assert [events[one["id"]] for one in items] == ["50.000001", "60.000000"]
    alone = stage.working()
    stage.post(
        f"/mandates/{alone}/events",
        stage.agent,
        {"kind": "buy", "amount_usdc": "199", "payload": {"target": ADAPTER}},
    )
    assert stage.get(f"/mandates/{alone}/approvals", stage.owner)["items"] == []
