"""Mandate wallet 2.4: the record in steps, on a real chain and in the agent's own words."""

from dataclasses import replace
from typing import Any

import pytest

from core.mandate.chain import calldata
from core.mandate.rules import events as ev
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import ADAPTER, BUY, KEEPER, USDC, Stage
from tests.personas import AGENT, OWNER
from tests.personas import KEEPER as KEEPER_PERSONA
from tests.world.mandates import marked

FIELDS = {
    "id", "group", "kind", "code", "status", "at", "reported_by", "confirmed_on_chain", "est",
    "amount_usdc", "tx_hash", "why", "note",
    "resource", "target", "allowed_by", "breached", "clauses", "params",
}  # fmt: skip


def steps_of(stage: Stage, mandate_id: str) -> list[dict[str, Any]]:
    return list(stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"])


def report(stage: Stage, mandate_id: str, **body: Any) -> dict[str, Any]:
    answer = stage.call("POST", f"/mandates/{mandate_id}/events", stage.agent, body)
    assert answer.status_code in (200, 202), answer.text
    return dict(answer.json())


def brief(steps: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(step["kind"], step["code"], step["reported_by"]) for step in steps]


@pytest.mark.row(
    "2.4 newest group first, a group in reading order", "2.4 group", "2.4 kind", "2.4 code",
    "2.4 kind instruction", "2.4 kind action",
    "2.4 kind outcome", "2.4 kind funding", "2.4 kind control",
    "2.4 control_agentremoved and control_agentset",
    "2.4 a pause or resume carries note and params.action", "2.4 control_unwound",
    "2.4 the withdraw hash is on the funding_withdraw step",
)  # fmt: skip
def test_steps__of_a_whole_life_on_the_chain__newest_first(live: Live) -> None:
    mandate_id, vault = live.working()
    told = live.execute(mandate_id, "buy(uint256)", 100)
    report(
        live.stage,
        mandate_id,
        kind="buy",
        amount_usdc="100",
        tx_hash=told.tx_hash,
        why="dip",
        payload={"target": live.adapter},
    )
    live.execute(mandate_id, "buy(uint256)", 50)
    refused = live.execute(mandate_id, "buy(uint256)", 201, succeeds=False)
    live.send_owners(mandate_id, "set-agent-call")
    live.send_owners(mandate_id, "set-agent-call", agent_wallet=AGENT.address)
    live.send(
        KEEPER_PERSONA,
        {"to": vault, "data": calldata.mark()},
    )
    live.send_owners(mandate_id, "stop-call")
    live.price(1_200_000)
    unwound = live.send(
        OWNER, live.stage.post(f"/mandates/{mandate_id}/unwind-call", live.stage.owner)
    )
    live.settle(vault)
    withdrawn = live.send_owners(mandate_id, "withdraw-call")
    steps = steps_of(live.stage, mandate_id)
    assert brief(steps) == [
        ("funding", "funding_withdraw", "chain"),
        ("outcome", "outcome_payout", "chain"),
        ("control", "control_unwound", "chain"),
        ("control", "control_stopped", "owner"),
        ("outcome", "outcome_mark", "keeper"),
        ("control", "control_agentset", "chain"),
        ("control", "control_agentremoved", "chain"),
        ("action", "refused", "chain"),
        ("action", "action_executed", "chain"),
        ("action", "action_buy", "agent"),
        ("outcome", "action_executed", "chain"),
        ("control", "control_vaultcreated", "chain"),
        ("funding", "funding_deposit", "chain"),
        ("instruction", "instruction_purpose", "owner"),
    ]
    assert all(set(step) == FIELDS for step in steps)
    by_code = {step["code"]: step for step in reversed(steps)}
    assert (by_code["control_unwound"]["amount_usdc"], by_code["control_unwound"]["tx_hash"]) == (
        "180.000000",
        unwound.tx_hash,
    )
    assert (by_code["funding_withdraw"]["tx_hash"], by_code["funding_withdraw"]["amount_usdc"]) == (
        withdrawn.tx_hash,
        "1027.000000",
    )
    assert (
        by_code["outcome_payout"]["amount_usdc"],
        by_code["funding_deposit"]["amount_usdc"],
    ) == ("3.000000", "1000.000000")
    assert (by_code["refused"]["tx_hash"], by_code["refused"]["note"]) == (
        refused.tx_hash,
        "Refused: OverPerTxCap",
    )
    removed, resumed = by_code["control_agentremoved"], by_code["control_agentset"]
    assert (removed["note"], removed["params"]["action"]) == (
        "Paused: agent removed on chain",
        "paused",
    )
    assert (resumed["note"], resumed["params"]["action"]) == (
        "Resumed: agent set on chain",
        "resumed",
    )
    action, outcome = (step for step in steps if step["tx_hash"] == told.tx_hash)
    assert action["group"] == outcome["group"] and [action["id"], outcome["id"]] == [5, 4]
    seqs = [min(one["id"] for one in steps if one["group"] == step["group"]) for step in steps]
    assert seqs == sorted(seqs, reverse=True)


@pytest.mark.row(
    "2.4 id", "2.4 status", "2.4 at", "2.4 reported_by", "2.4 confirmed_on_chain", "2.4 est",
    "2.4 amount_usdc", "2.4 tx_hash",
    "2.4 why is taken only from the agent's own events", "2.4 note", "2.4 resource", "2.4 target",
    "2.4 allowed_by", "2.4 breached",
    "2.4 clauses", "2.4 params", "2.4 kind action",
)  # fmt: skip
def test_step__of_a_report_and_of_the_chains_word_beside_it__field_by_field(stage: Stage) -> None:
    mandate_id, tx_hash = stage.working(), "0x" + "cd" * 32
    stage.executed(mandate_id, 10 * USDC, tx_hash=tx_hash)
    target = {
        "kind": "contract",
        "chain_id": 84532,
        "address": ADAPTER,
        "market": "UNIT",
        "selector": BUY,
    }
    body = {"target": target, "text": "bought ten", "clause": 2, "next_at": "2026-11-22T00:00:00Z"}
    report(
        stage,
        mandate_id,
        kind="buy",
        amount_usdc="10",
        tx_hash=tx_hash,
        why="It is cheap.",
        payload=body,
    )
    action, outcome = steps_of(stage, mandate_id)[:2]
    assert action == {
        "id": 5,
        "group": "g4",
        "kind": "action",
        "code": "action_buy",
        "status": "confirmed",
        "at": "2026-11-21T12:00:00Z",
        "reported_by": "agent",
        "confirmed_on_chain": True,
        "est": False,
        "amount_usdc": "10.000000",
        "tx_hash": tx_hash,
        "why": "It is cheap.",
        "note": "bought ten",
        "resource": None,
        "target": {"market": "UNIT", "address": ADAPTER, "selector": BUY},
        "allowed_by": [1, 2, 3, 5, 8],
        "breached": [],
        "clauses": [2],
        "params": {"clause": 2, "next_at": "2026-11-22T00:00:00Z"},
    }
    assert (outcome["id"], outcome["why"], outcome["status"], outcome["reported_by"]) == (
        4,
        None,
        "confirmed",
        "chain",
    )
    assert (outcome["kind"], outcome["est"], outcome["target"]) == (
        "outcome",
        False,
        {"market": None, "address": ADAPTER, "selector": BUY},
    )
    assert (outcome["params"]["spent"], outcome["params"]["received"]) == ("10.000000", "0.000000")


@pytest.mark.row(
    "2.4 est",
    "2.4 confirmed_on_chain",
    "2.4 status",
    "2.4 allowed_by",
    "2.4 breached",
    "2.4 params",
)
def test_step__of_a_report_that_the_chain_lacks__is_an_estimate_and_names_what_it_breaks(
    stage: Stage, mandate_id: str
) -> None:
    report(stage, mandate_id, kind="move", amount_usdc="10", payload={"target": ADAPTER})
    plain = steps_of(stage, mandate_id)[0]
    assert (plain["status"], plain["confirmed_on_chain"], plain["est"], plain["breached"]) == (
        "reported",
        False,
        True,
        [],
    )
    report(stage, mandate_id, kind="move", amount_usdc="200.000001", payload={"target": KEEPER})
    flagged = steps_of(stage, mandate_id)[0]
    assert (flagged["status"], flagged["breached"], flagged["allowed_by"]) == (
        "flagged",
        [2, 5],
        [1, 3, 8],
    )
    assert flagged["params"]["codes"] == ["target_not_allowed", "over_per_tx_cap"]


@pytest.mark.row("2.4 kind instruction", "2.4 clauses", "2.4 note")
def test_instruction__is_the_owners_purpose_with_ten_clauses_last_in_its_group(
    stage: Stage,
) -> None:
    step = steps_of(stage, stage.paper())[-1]
    assert (step["kind"], step["code"], step["reported_by"]) == (
        "instruction",
        "instruction_purpose",
        "owner",
    )
    assert (step["note"], step["clauses"]) == (
        "Buy units at the test venue, carefully.",
        list(range(1, 11)),
    )
    assert step["id"] == 1


@pytest.mark.row(
    "2.4 kind research",
    "2.4 kind verify",
    "2.4 kind outcome",
    "2.4 kind note",
    "2.4 kind control",
    "2.4 resource",
)
def test_kinds__of_what_an_agent_says_beside_its_trades(stage: Stage, mandate_id: str) -> None:
    report(
        stage,
        mandate_id,
        kind="fee",
        amount_usdc="0.01",
        payload={"fee_kind": "paid_read", "resource": "https://example.org/prices"},
    )
    report(
        stage, mandate_id, kind="note", payload={"check": "price above floor", "text": "checked"}
    )
    report(
        stage, mandate_id, kind="note", payload={"mark": {"position_id": "p1", "worth_usdc": "9"}}
    )
    report(stage, mandate_id, kind="resolve", amount_usdc="-1", payload={"position": {"id": "p1"}})
    report(stage, mandate_id, kind="note", payload={"text": "resting"})
    stage.post(f"/mandates/{mandate_id}/stop", stage.agent)
    stop, note, resolve, mark, verify, research = steps_of(stage, mandate_id)[:6]
    assert (research["kind"], research["code"], research["resource"]) == (
        "research",
        "research_paid",
        "https://example.org/prices",
    )
    assert (research["amount_usdc"], research["params"]) == ("0.010000", {"fee_kind": "paid_read"})
    assert (verify["kind"], verify["note"], verify["params"]) == (
        "verify",
        "checked",
        {"check": "price above floor"},
    )
    assert (mark["kind"], mark["code"], mark["est"]) == ("outcome", "outcome_mark", True)
    assert (resolve["kind"], resolve["code"], resolve["amount_usdc"]) == (
        "outcome",
        "outcome_resolve",
        "-1.000000",
    )
    assert (note["kind"], note["code"], note["note"]) == ("note", "note_text", "resting")
    assert (stop["kind"], stop["code"], stop["reported_by"]) == (
        "control",
        "control_stoprequested",
        "agent",
    )


@pytest.mark.row("2.4 kind consent", "2.4 pending consents are pinned on top")
def test_consent__above_the_asking_line__is_pinned_on_top_until_the_mandate_ends(
    stage: Stage,
) -> None:
    mandate_id = stage.paper(approval_above_usdc="20")
    for amount in ("20", "20.000001", "30"):
        report(
            stage,
            mandate_id,
            kind="buy",
            amount_usdc=amount,
            why=f"because {amount}",
            payload={"target": ADAPTER},
        )
    report(stage, mandate_id, kind="note", payload={"text": "newest"})
    steps = steps_of(stage, mandate_id)
    assert [(step["kind"], step["id"]) for step in steps[:3]] == [
        ("consent", 5),
        ("consent", 4),
        ("note", 6),
    ]
    assert steps[0] == {
        "id": 5,
        "group": "consents",
        "kind": "consent",
        "code": "consent_pending",
        "status": "pending",
        "at": "2026-11-21T12:00:00Z",
        "reported_by": "agent",
        "confirmed_on_chain": False,
        "est": False,
        "amount_usdc": "30.000000",
        "tx_hash": None,
        "why": "because 30",
        "note": (
            "Above the approval threshold of 20.000000 USDC. This is only recorded; nothing "
            "waits for an approval yet."
        ),
        "resource": None,
        "target": {"market": None, "address": ADAPTER, "selector": None},
        "allowed_by": [],
        "breached": [],
        "clauses": [6],
        "params": {"approval_above_usdc": "20.000000"},
    }
    assert [step["id"] for step in steps if step["kind"] == "action"] == [5, 4, 3]
    assert {
        item["status"]
        for item in stage.get(f"/mandates/{mandate_id}/approvals", stage.agent)["items"]
    } == {"pending"}
    stage.post(f"/mandates/{mandate_id}/stop", stage.owner)
    assert "consent" not in {step["kind"] for step in steps_of(stage, mandate_id)}
    items = stage.get(f"/mandates/{mandate_id}/approvals", stage.owner)["items"]
    assert [(item["id"], item["status"]) for item in items] == [(4, "recorded"), (5, "recorded")]


@pytest.mark.row("2.4 pending consents are pinned on top")
def test_consents__are_pinned_on_the_newest_page_alone_and_at_most_ten(stage: Stage) -> None:
    mandate_id = stage.paper(approval_above_usdc="1", per_tx_cap_usdc=None, daily_cap_usdc=None)
    for _ in range(11):
        report(stage, mandate_id, kind="buy", amount_usdc="2", payload={"target": ADAPTER})
    first = stage.get(f"/mandates/{mandate_id}/steps", stage.owner, limit=5)
    assert [step["id"] for step in first["steps"] if step["kind"] == "consent"] == list(
        range(13, 3, -1)
    )
    assert [step["id"] for step in first["steps"] if step["kind"] != "consent"] == [
        13,
        12,
        11,
        10,
        9,
    ]
    second = stage.get(
        f"/mandates/{mandate_id}/steps", stage.owner, limit=5, cursor=first["next_cursor"]
    )
    assert [(step["kind"], step["id"]) for step in second["steps"]] == [
        ("action", seq) for seq in (8, 7, 6, 5, 4)
    ]


@pytest.mark.row(
    "2.4 a pause or resume carries note and params.action",
    "2.4 control_agentremoved and control_agentset",
)
def test_agentset__that_resumes_nothing__has_no_action(stage: Stage, mandate_id: str) -> None:
    stage.chain_says(mandate_id, ev.AgentSet(stage.agent_wallet.address))
    step = steps_of(stage, mandate_id)[0]
    assert (step["code"], step["params"]["action"]) == ("control_agentset", None)


@pytest.mark.row("2.4 why is taken only from the agent's own events")
def test_why__of_a_row_that_the_keeper_wrote__is_not_shown_as_the_agents(
    stage: Stage, mandate_id: str
) -> None:
    note = marked(USDC, stage.clock.now, 7)
    stage.append(
        mandate_id, replace(note, payload={**note.payload, "why": "a thought of the keeper"})
    )
    step = steps_of(stage, mandate_id)[0]
    assert (step["code"], step["reported_by"], step["why"]) == ("outcome_mark", "keeper", None)
