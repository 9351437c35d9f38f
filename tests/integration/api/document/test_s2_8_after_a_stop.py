"""Mandate wallet 2.8: a mandate that was stopped, settled or cancelled, and what its agent still
sees of it.
"""

from typing import Any

import httpx
import pytest

from core.mandate.rules import events as ev
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import ADAPTER, Stage, reason
from tests.personas import OWNER

NOTHING = {"value": None, "source": "none", "basis": "mandate_not_working"}
USED = dict.fromkeys(("left_today", "left_total", "per_action_max", "window_frees_at"), NOTHING)


def report(
    stage: Stage, mandate_id: str, kind: str, amount: str | None = None, **payload: Any
) -> httpx.Response:
    body = {"kind": kind, "payload": payload} | ({} if amount is None else {"amount_usdc": amount})
    return stage.call("POST", f"/mandates/{mandate_id}/events", stage.agent, body)


def stop(stage: Stage, mandate_id: str) -> dict[str, Any]:
    stage.post(f"/mandates/{mandate_id}/stop", stage.owner)
    return stage.get(f"/mandates/{mandate_id}", stage.agent)


def status_of_agent(stage: Stage) -> dict[str, Any]:
    return dict(stage.get("/agents/me", stage.agent)["agent_status"])


@pytest.mark.row(
    "2.8 how_to_act says the agent cannot act",
    "2.8 limits.used values are null after a stop",
    "2.8 settle_note",
)
def test_stopped_then_settled_on_the_chain__the_agent_cannot_act_and_no_limit_is_a_number(
    live: Live,
) -> None:
    mandate_id, vault = live.working()
    assert "settle_note" not in live.read(mandate_id)
    live.send_owners(mandate_id, "stop-call")
    stopped = live.read(mandate_id)
    assert (stopped["how_to_act"], stopped["limits"]["used"]) == (
        "The mandate is stopped. The agent cannot act.",
        USED,
    )
    note = (
        "The owner or the keeper can settle: the agent gets 10.00 % of the realised gain, and "
        "nothing when there is none."
    )
    assert stopped["settle_note"] == note
    live.settle(vault)
    settled = live.read(mandate_id)
    assert (settled["how_to_act"], settled["limits"]["used"]) == (
        "The mandate is settled. The agent cannot act.",
        USED,
    )
    assert "settle_note" not in settled


@pytest.mark.row(
    "2.8 how_to_act says the agent cannot act",
    "2.8 limits.used values are null after a stop",
    "2.8 settle_note",
)
def test_stopped_or_cancelled_without_a_vault__has_the_same_shape(stage: Stage) -> None:
    stopped, cancelled = stop(stage, stage.paper()), stage.signed()
    digest = stage.get(f"/mandates/{cancelled}/terms", stage.owner)["digest"]
    stage.chain_says_for_good(cancelled, ev.TermsCancelled(digest, stage.owner_wallet.address))
    dropped = stage.get(f"/mandates/{cancelled}", stage.agent)
    assert (stopped["how_to_act"], stopped["limits"]["used"]) == (
        "The mandate is stopped. The agent cannot act.",
        USED,
    )
    assert (dropped["how_to_act"], dropped["limits"]["used"]) == (
        "The mandate is cancelled. The agent cannot act.",
        USED,
    )
    assert (
        stopped["settle_note"] == "There is nothing to settle on chain: the mandate has no vault."
    )
    assert "settle_note" not in dropped


@pytest.mark.row("2.8 how_to_act says the agent cannot act")
def test_how_to_act__on_paper__names_no_call_that_paper_does_not_have(stage: Stage) -> None:
    mandate_id = stage.paper()
    said = stage.get(f"/mandates/{mandate_id}", stage.agent)["how_to_act"]
    assert said == (
        "Read limits.used, then report each buy, sell or move; on paper nothing is sent to a chain."
    )
    stage.later(days=30)
    assert (
        stage.get(f"/mandates/{mandate_id}", stage.agent)["how_to_act"]
        == "The end date has passed. The agent cannot act."
    )


@pytest.mark.row(
    "2.8 positions of a paper mandate are empty after a stop", "2.8 positions_void",
    "2.8 positions_void is there only when there were any",
    "2.8 cash is never below 0",
)  # fmt: skip
def test_paper_positions__are_void_after_a_stop_and_give_back_what_they_cost(stage: Stage) -> None:
    mandate_id = stage.paper()
    report(stage, mandate_id, "buy", "200", target=ADAPTER, position={"id": "p1", "name": "Unit"})
    report(stage, mandate_id, "sell", "50", target=ADAPTER, position={"id": "p1"})
    report(stage, mandate_id, "buy", "30", target=ADAPTER, position={"id": "p2"})
    working = stage.get(f"/mandates/{mandate_id}", stage.agent)["progress"]
    assert "positions_void" not in working and [one["id"] for one in working["positions"]] == [
        "p1",
        "p2",
    ]
    progress = stop(stage, mandate_id)["progress"]
    assert progress["positions"] == []
    assert progress["positions_void"] == [
        {"id": "p1", "name": "Unit", "status": "void", "cost_returned": "150.000000"},
        {"id": "p2", "name": None, "status": "void", "cost_returned": "30.000000"},
    ]
    assert (progress["cash"], progress["worth_est"], progress["positions_est"]) == (
        "1000.000000",
        "1000.000000",
        "0.000000",
    )


@pytest.mark.row(
    "2.8 positions_void is there only when there were any",
    "2.8 positions of a paper mandate are empty after a stop",
)
def test_positions_void__is_absent_without_positions_and_on_testnet(live: Live) -> None:
    paper = stop(live.stage, live.stage.paper())["progress"]
    assert paper["positions"] == [] and "positions_void" not in paper
    mandate_id, _ = live.working()
    live.execute(mandate_id, "buy(uint256)", 100)
    live.send_owners(mandate_id, "stop-call")
    progress = live.read(mandate_id)["progress"]
    assert "positions_void" not in progress
    assert [(one["id"], one["source"], one["cost_usdc"]) for one in progress["positions"]] == [
        (live.adapter, "chain", "100.000000")
    ]


@pytest.mark.row("2.8 cash is never below 0")
def test_paper_cash__of_an_agent_that_overspends__is_zero_and_the_report_is_flagged(
    stage: Stage,
) -> None:
    mandate_id = stage.paper(per_tx_cap_usdc=None, daily_cap_usdc=None)
    answer = report(stage, mandate_id, "buy", "1000.000001", target=ADAPTER, position={"id": "p1"})
    assert (answer.status_code, answer.json()["codes"]) == (
        202,
        ["over_per_tx_cap", "over_daily_cap", "over_budget"],
    )
    report(stage, mandate_id, "fee", "7", fee_kind="gas")
    read = stage.get(f"/mandates/{mandate_id}", stage.agent)
    assert (read["progress"]["cash"], read["limits"]["used"]["left_total"]["value"]) == (
        "0.000000",
        "0.000000",
    )
    after = stop(stage, mandate_id)["progress"]
    assert (after["positions_void"][0]["cost_returned"], after["cash"]) == (
        "1000.000000",
        "1000.000000",
    )


@pytest.mark.row(
    "2.8 a paper report after a stop is wrong_status, recorded true, codes mandate_stopped",
    "2.8 the refusal note of a paper report after a stop",
    "7 a paper report after a stop answers wrong_status with recorded true",
)
@pytest.mark.parametrize("kind", ["buy", "sell", "move"])
def test_a_paper_trade_after_a_stop__is_refused_and_the_refusal_is_in_the_record(
    stage: Stage, kind: str
) -> None:
    mandate_id = stage.paper()
    stop(stage, mandate_id)
    before = stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]
    answer = report(stage, mandate_id, kind, "10", target=ADAPTER)
    assert reason(answer) == (409, "wrong_status")
    assert (answer.json()["recorded"], answer.json()["codes"]) == (True, ["mandate_stopped"])
    newest = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner)["events"][0]
    assert (newest["kind"], newest["reported_by"]) == ("note", "agent")
    refusal = newest["payload"]["refusal"]
    assert (refusal["reason"], refusal["code"], refusal["server_check"]) == (
        "MandateStopped",
        "mandate_stopped",
        "confirmed",
    )
    assert refusal["attempted"] == {"kind": kind, "amount_usdc": "10.000000"}
    step = stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"][0]
    assert (step["status"], step["note"]) == ("refused", "Refused: MandateStopped")
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"] == before
    assert report(stage, mandate_id, "note", text="goodbye").status_code == 200


@pytest.mark.row("2.8 agent_status active_mandates", "2.8 agent_status ended_mandates")
@pytest.mark.slow
def test_agent_status__of_a_live_and_an_ended_vault__and_of_no_draft_or_cancelled_one(
    live: Live,
) -> None:
    stage = live.stage
    ended_id, ended_vault = live.working()
    live.execute(ended_id, "buy(uint256)", 100)
    for kind, amount in (("resolve", "12.5"), ("fee", "0.5")):
        report(stage, ended_id, kind, amount)
    live.send_owners(ended_id, "stop-call")
    signed, paper, cancelled = stage.signed(), stage.paper(), stage.signed()
    live.send(OWNER, stage.post(f"/mandates/{cancelled}/cancel", stage.owner)["cancel_call"])
    live.follower.be_safe()
    stage.draft()
    status = status_of_agent(stage)
    active = {one["id"]: one for one in status["active_mandates"]}
    assert {
        key: (one["status"], one["vault"], one["market_mode"], one["paused"])
        for key, one in active.items()
    } == {
        signed: ("signed", None, "testnet", False),
        paper: ("working", None, "paper", False),
    }
    ended_at = live.read(ended_id)["mandate"]["ended_at"]
    shown = {
        "id": ended_id,
        "status": "stopped",
        "ended_at": ended_at,
        "vault": ended_vault,
        "market_mode": "testnet",
    }
    assert ended_at is not None
    # what the agent says of results moves no figure of a vault: nothing has come home yet
    assert status["ended_mandates"] == [{**shown, "net_usdc": "0.000000", "net_basis": "realized"}]
    live.settle(ended_vault)
    (settled,) = status_of_agent(stage)["ended_mandates"]
    assert settled == {
        **shown,
        "status": "settled",
        "net_usdc": "0.000000",
        "net_basis": "realized",
    }


@pytest.mark.row("2.8 ended_mandates are newest first and at most 10", "8 ended_mandates")
@pytest.mark.slow
def test_ended_mandates__are_the_ten_newest(stage: Stage) -> None:
    made = [stage.paper() for _ in range(11)]
    for mandate_id in made:
        stage.clock.pass_(seconds=1)
        stop(stage, mandate_id)
    stage.post(f"/mandates/{stage.draft()}/cancel", stage.owner)
    status = status_of_agent(stage)
    assert [one["id"] for one in status["ended_mandates"]] == made[:0:-1]
    assert status["active_mandates"] == []
