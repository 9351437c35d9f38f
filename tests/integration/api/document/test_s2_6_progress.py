"""Mandate wallet 2.6: what a mandate is worth, what came of it, and what comes next."""

from typing import Any

import pytest

from core.mandate.chain import calldata
from core.times import utc_text
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import ADAPTER, Stage
from tests.personas import KEEPER


def report(stage: Stage, mandate_id: str, **body: Any) -> None:
    answer = stage.call("POST", f"/mandates/{mandate_id}/events", stage.agent, body)
    assert answer.status_code in (200, 202), answer.text


def progress_of(stage: Stage, mandate_id: str) -> dict[str, Any]:
    return dict(stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"])


@pytest.mark.row(
    "2.6 worth_est", "2.6 realized", "2.6 floor", "2.6 cash", "2.6 positions_est", "2.6 fees",
    "2.6 agent_fee_reserved",
    "2.6 leave_now_est", "2.6 leave_now_basis", "2.6 exit_cost_est", "2.6 rules", "2.6 next_event",
    "2.6 status", "2.6 day",
    "2.6 horizon_days", "2.6 worth_est is cash plus the latest mark per open position",
)  # fmt: skip
def test_progress__of_a_paper_mandate_with_two_marked_positions__field_by_field(
    stage: Stage,
) -> None:
    mandate_id = stage.paper()
    for name, cost in (("p1", "100"), ("p2", "50")):
        report(
            stage,
            mandate_id,
            kind="buy",
            amount_usdc=cost,
            payload={"target": ADAPTER, "position": {"id": name, "name": name.upper()}},
        )
    stage.clock.pass_(days=2)
    for worth in ("90", "130"):
        report(
            stage,
            mandate_id,
            kind="note",
            payload={"mark": {"position_id": "p1", "worth_usdc": worth}},
        )
        stage.clock.pass_(hours=1)
    shown = stage.get(f"/mandates/{mandate_id}", stage.agent)
    progress = shown["progress"]
    target = {"kind": "contract", "chain_id": 84532, "address": ADAPTER}
    opened = {
        "status": "open",
        "source": "agent",
        "qty": None,
        "target": target,
        "opened_at": "2026-11-21T12:00:00Z",
    }
    positions = [
        {"id": "p1", "name": "P1", "cost_usdc": "100.000000", "worth_est": "130.000000",
            "worth_source": "agent_mark",
         "worth_at": "2026-11-23T13:00:00Z", **opened},
        {"id": "p2", "name": "P2", "cost_usdc": "50.000000", "worth_est": "50.000000",
            "worth_source": "cost",
         "worth_at": "2026-11-21T12:00:00Z", **opened},
    ]  # fmt: skip
    assert progress == {
        "status": "working",
        "worth_est": "1030.000000",
        "worth_source": "agent_mark",
        "worth_as_of": "2026-11-23T13:00:00Z",
        "realized": "0.000000",
        "floor": "950.000000",
        "public_stop": {"on": None, "reason": "no_vault", "at_cost_usdc": None},
        "cash": "850.000000",
        "positions_est": "180.000000",
        "at_cost": "50.000000",
        "not_returned": "0.000000",
        "positions": positions,
        "fees": shown["fees"],
        "agent_fee_reserved": "3.000000",
        "leave_now_est": None,
        "leave_now_basis": {"formula": "cash + positions_est - exit_cost_est", "spread_bps": None},
        "exit_cost_est": None,
        "rules": progress["rules"],
        "next_event": {"code": "ends", "at": "2026-12-21T12:00:00Z"},
        "day": 3,
        "horizon_days": 30,
    }
    assert [(rule["key"], rule["ok"]) for rule in progress["rules"]] == [
        (key, True)
        for key in ("budget", "per_action", "per_day", "markets", "stop_line", "stop", "period")
    ]
    assert progress["rules"][1]["text"] == "Spends at most 200.000000 USDC in one action"


@pytest.mark.row(
    "2.6 a keeper's chain mark replaces the agent's mark", "2.6 worth_est", "2.6 positions_est",
    "2.6 leave_now_est",
    "2.6 leave_now_basis", "2.6 exit_cost_est", "2.6 cash",
)  # fmt: skip
def test_worth__is_what_left_at_cost_until_the_vault_is_marked_whatever_the_agent_says(
    live: Live,
) -> None:
    mandate_id, vault = live.working()
    bought = live.execute(mandate_id, "buy(uint256)", 200)
    position = {
        "target": live.adapter,
        "position": {"id": "p1"},
        "mark": {"position_id": "p1", "worth_usdc": "900"},
    }
    report(
        live.stage,
        mandate_id,
        kind="buy",
        amount_usdc="200",
        tx_hash=bought.tx_hash,
        payload=position,
    )
    boasted = live.read(mandate_id)["progress"]
    assert (boasted["worth_est"], boasted["worth_source"], boasted["cash"]) == (
        "1000.000000",
        "cost",
        "800.000000",
    )
    assert boasted["positions"][0]["agent_mark_usdc"] == "900.000000"
    live.price(990_000)
    marked = live.send(KEEPER, {"to": vault, "data": calldata.mark()})
    progress = live.read(mandate_id)["progress"]
    assert (progress["worth_est"], progress["worth_source"], progress["positions_est"]) == (
        "998.000000",
        "chain_mark",
        "198.000000",
    )
    assert progress["worth_as_of"] == utc_text(live.block_time(marked))
    assert (progress["exit_cost_est"], progress["leave_now_est"]) == ("0.000000", "998.000000")
    assert progress["leave_now_basis"]["spread_bps"] == 0
    live.execute(mandate_id, "sell(uint256)", 100)
    after = live.read(mandate_id)["progress"]
    assert (after["cash"], after["positions_est"], after["worth_est"]) == (
        "899.000000",
        "99.000000",
        "998.000000",
    )


@pytest.mark.row(
    "2.6 realized",
    "2.6 realized is the sum of resolve minus the sum of fee minus the sum of payout",
)
def test_realized__of_a_vault_is_what_came_back_whatever_the_agent_resolves(live: Live) -> None:
    mandate_id, vault = live.working()
    live.execute(mandate_id, "buy(uint256)", 100)
    live.price(1_300_000)
    live.execute(mandate_id, "sell(uint256)", 100)
    for kind, amount, payload in (
        ("resolve", "30", {"position": {"id": "p1"}}),
        ("resolve", "-4", {}),
        ("fee", "1", {"fee_kind": "gas"}),
    ):
        report(live.stage, mandate_id, kind=kind, amount_usdc=amount, payload=payload)
    assert live.read(mandate_id)["progress"]["realized"] == "30.000000"
    live.send_owners(mandate_id, "stop-call")
    live.settle(vault)  # 10 % of the vault's own gain of 30
    assert live.read(mandate_id)["progress"]["realized"] == "27.000000"


def test_realized__on_paper_is_resolves_less_fees(stage: Stage) -> None:
    mandate_id = stage.paper()
    for kind, amount, payload in (("resolve", "30", {}), ("fee", "1", {"fee_kind": "gas"})):
        report(stage, mandate_id, kind=kind, amount_usdc=amount, payload=payload)
    assert progress_of(stage, mandate_id)["realized"] == "29.000000"


@pytest.mark.row("2.6 an unusable stored value reads as 0 with data_issue")
def test_a_mark_that_is_no_number__reads_as_zero_and_says_so(stage: Stage) -> None:
    mandate_id = stage.paper()
    position = {"target": ADAPTER, "position": {"id": "p1"}}
    report(stage, mandate_id, kind="buy", amount_usdc="100", payload=position)
    assert "data_issue" not in progress_of(stage, mandate_id)
    report(
        stage,
        mandate_id,
        kind="note",
        payload={"mark": {"position_id": "p1", "worth_usdc": "a lot"}},
    )
    progress = progress_of(stage, mandate_id)
    assert (progress["data_issue"], progress["positions_est"], progress["worth_est"]) == (
        True,
        "0.000000",
        "900.000000",
    )


@pytest.mark.row("2.6 rules")
def test_rules__turn_with_the_flag_that_breaks_them_and_stay(stage: Stage, mandate_id: str) -> None:
    report(stage, mandate_id, kind="buy", amount_usdc="450.000001", payload={"target": ADAPTER})
    stage.later(days=2)
    report(stage, mandate_id, kind="buy", amount_usdc="1", payload={"target": ADAPTER})
    assert [rule["key"] for rule in progress_of(stage, mandate_id)["rules"] if not rule["ok"]] == [
        "per_action",
        "per_day",
    ]


@pytest.mark.row("2.6 next_event", "2.6 day")
def test_next_event_and_day__move_with_the_clock_to_the_end(stage: Stage) -> None:
    mandate_id = stage.paper()
    report(stage, mandate_id, kind="note", payload={"next_at": "2026-11-22T09:00:00+00:00"})
    assert progress_of(stage, mandate_id)["next_event"] == {
        "code": "agent_next",
        "at": "2026-11-22T09:00:00Z",
    }
    stage.later(days=1, seconds=-1)
    assert (
        progress_of(stage, mandate_id)["day"],
        progress_of(stage, mandate_id)["next_event"]["code"],
    ) == (1, "ends")
    stage.later(seconds=1)
    assert progress_of(stage, mandate_id)["day"] == 2
    stage.later(days=29)
    ended = progress_of(stage, mandate_id)
    assert (ended["day"], ended["next_event"]) == (
        30,
        {"code": "settle_grace_ends", "at": "2026-12-22T12:00:00Z"},
    )
    stage.later(days=1)
    assert progress_of(stage, mandate_id)["next_event"] is None


@pytest.mark.row("2.6 day", "2.6 status", "2.6 next_event")
def test_progress__of_a_draft__has_no_day_and_nothing_due(stage: Stage) -> None:
    progress = progress_of(stage, stage.draft())
    assert (
        progress["status"],
        progress["day"],
        progress["next_event"],
        progress["horizon_days"],
    ) == ("draft", None, None, 30)
    assert (progress["cash"], progress["worth_est"], progress["positions"]) == (
        "0.000000",
        "0.000000",
        [],
    )


@pytest.mark.row("2.6 worth_est is cash plus the latest mark per open position")
@pytest.mark.parametrize(
    "target",
    [ADAPTER, {"address": ADAPTER}, {"kind": "contract", "chain_id": 84532, "address": ADAPTER}],
)
@pytest.mark.parametrize("where", ["payload", "position", "detail"])
def test_a_positions_target__in_every_accepted_shape__has_the_mandates_chain(
    stage: Stage, target: Any, where: str
) -> None:
    mandate_id = stage.paper()
    body: dict[str, Any] = {
        "kind": "buy",
        "amount_usdc": "10",
        "payload": {"position": {"id": "p1"}},
    }
    if where == "detail":
        body["detail"] = {"target": target}
    else:
        body["payload"]["target"] = target
    if where == "position":
        body["payload"]["position"]["target"] = target
    report(stage, mandate_id, **body)
    (position,) = progress_of(stage, mandate_id)["positions"]
    assert position["target"] == {"kind": "contract", "chain_id": 84532, "address": ADAPTER}


@pytest.mark.row("2.6 rules", "2.6 floor")
@pytest.mark.parametrize(("worth", "is_ok"), [("50.000001", True), ("50", False), ("0", False)])
def test_the_stop_lines_rule__of_a_paper_mandate__is_false_while_it_is_worth_the_floor_or_less(
    stage: Stage, worth: str, is_ok: bool
) -> None:
    mandate_id = stage.paper()
    position = {
        "target": ADAPTER,
        "position": {"id": "p1"},
        "mark": {"position_id": "p1", "worth_usdc": worth},
    }
    report(stage, mandate_id, kind="buy", amount_usdc="100", payload=position)
    progress = progress_of(stage, mandate_id)
    assert (progress["floor"], progress["cash"]) == ("950.000000", "900.000000")
    rule = next(rule for rule in progress["rules"] if rule["key"] == "stop_line")
    assert rule == {
        "key": "stop_line",
        "text": "Stays above the stop line of 950.000000 USDC",
        "ok": is_ok,
    }
