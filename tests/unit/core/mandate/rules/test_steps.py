"""The record as steps: groups, order, doubles shown once, pages that never shift."""

from typing import Any

import pytest

from core.mandate.rules import events as ev
from core.mandate.rules.ledger import RowKind, revert_note, stop_request_note
from core.mandate.rules.steps import step_groups, steps_page
from tests.unit.core.mandate.rules.ledgers import (
    AGENT,
    OWNER,
    PAPER,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    created,
    deposited,
    e6,
    executed,
    marked,
    paid,
    settled,
    stopped,
    tx,
    unwound,
    withdrawn,
    working,
)

PURPOSE = "Buy ETH slowly"


def _steps(ledger: SampleLedger) -> list[dict[str, Any]]:
    return [
        step for group in step_groups(ledger.rows, PURPOSE, vault=VAULT) for step in group.steps
    ]


def _brief(ledger: SampleLedger) -> list[tuple[str, str]]:
    return [(step["kind"], step["code"]) for step in _steps(ledger)]


def test_steps__a_life__newest_group_first_and_reading_order_inside() -> None:
    ledger = working()
    ledger.report(RowKind.MOVE, "100", 60, {"why": "dip", "target": VENUE, "text": "bought"})
    ledger.chain(executed("100"), 60)
    ledger.chain(marked("800"), 61)
    ledger.chain(stopped(worth="800"), 61)
    ledger.chain(unwound("80"), 62)
    ledger.chain(ev.ProceedsReceived(X402, e6("1"), 0), 63)
    ledger.chain(settled("0"), 64)
    ledger.chain(withdrawn("981"), 65)
    assert _brief(ledger) == [
        ("funding", "funding_withdraw"),
        ("outcome", "outcome_payout"),
        ("outcome", "outcome_proceeds"),
        ("control", "control_unwound"),
        ("outcome", "outcome_mark"),
        ("control", "control_stopped"),
        ("action", "action_move"),
        ("outcome", "action_executed"),
        ("control", "control_vaultcreated"),
        ("funding", "funding_deposit"),
        ("instruction", "instruction_purpose"),
    ]


def test_step__an_instruction__is_the_owners_purpose_with_all_ten_clauses() -> None:
    step = _steps(working())[-1]
    assert step == {
        "id": 1,
        "group": "g1",
        "kind": "instruction",
        "code": "instruction_purpose",
        "status": "recorded",
        "at": "2026-02-02T09:01:00Z",
        "reported_by": "owner",
        "confirmed_on_chain": False,
        "est": False,
        "amount_usdc": None,
        "tx_hash": None,
        "why": None,
        "note": PURPOSE,
        "resource": None,
        "target": None,
        "allowed_by": [],
        "breached": [],
        "clauses": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        "params": {"version": 2, "terms_digest": "0x" + "33" * 32},
    }


def test_step__a_report_that_the_chain_confirmed() -> None:
    ledger = working()
    ledger.report(
        RowKind.MOVE,
        "100",
        60,
        {"why": "dip", "target": {"address": VENUE, "market": "ETH"}, "clause": 2},
    )
    ledger.chain(executed("100"), 60)
    action, outcome = _steps(ledger)[:2]
    assert (action["kind"], action["status"], action["confirmed_on_chain"], action["est"]) == (
        "action",
        "confirmed",
        True,
        False,
    )
    assert (action["why"], action["target"]) == (
        "dip",
        {"market": "ETH", "address": VENUE, "selector": None},
    )
    assert (action["allowed_by"], action["clauses"], action["amount_usdc"]) == (
        [1, 2, 3, 5, 8],
        [2],
        "100.000000",
    )
    assert (outcome["kind"], outcome["reported_by"], outcome["group"]) == (
        "outcome",
        "chain",
        action["group"],
    )
    assert outcome["target"] == {"market": None, "address": VENUE, "selector": "0xd96a094a"}


def test_step__executed_without_a_report__is_the_action() -> None:
    ledger = working()
    ledger.chain(executed("100"), 60)
    step = _steps(ledger)[0]
    assert (step["kind"], step["code"], step["status"], step["why"]) == (
        "action",
        "action_executed",
        "confirmed",
        None,
    )


def test_step__a_report_that_the_chain_does_not_know__is_an_estimate() -> None:
    ledger = working()
    ledger.report(RowKind.BUY, "100", 60, {"target": VENUE})
    step = _steps(ledger)[0]
    assert (step["status"], step["confirmed_on_chain"], step["est"]) == ("reported", False, True)


def test_step__a_flagged_report__names_the_clauses_it_breaks() -> None:
    ledger = working()
    violation = {
        "codes": ["target_not_allowed", "over_per_tx_cap"],
        "detail": {"target_detail": "not_on_the_list"},
    }
    ledger.report(RowKind.BUY, "500", None, {"target": VENUE, "violation": violation})
    step = _steps(ledger)[0]
    assert (step["status"], step["breached"], step["allowed_by"]) == ("flagged", [2, 5], [1, 3, 8])
    assert step["params"]["codes"] == ["target_not_allowed", "over_per_tx_cap"]


def _revert(ledger: SampleLedger, number: int, proves: int | None = None) -> None:
    attempted = {"target": VENUE, "selector": "0xd96a094a", "amount_usdc": "150.000000"}
    ledger.add(
        revert_note(
            chain_id=84532,
            tx_hash=tx(number),
            block_number=number,
            block_hash=tx(number),
            at=int(ledger.clock.timestamp()),
            reason="OverPerTxCap",
            attempted=attempted,
            proves_event_id=proves,
        )
    )


def test_refusal__found_by_the_block_scan_alone() -> None:
    ledger = working()
    _revert(ledger, 60)
    step = _steps(ledger)[0]
    assert (step["kind"], step["code"], step["status"], step["reported_by"]) == (
        "action",
        "refused",
        "refused",
        "chain",
    )
    assert (step["note"], step["breached"], step["allowed_by"]) == (
        "Refused: OverPerTxCap",
        [2],
        [],
    )
    assert step["target"] == {"market": None, "address": VENUE, "selector": "0xd96a094a"}
    assert (step["params"]["source"], step["params"]["check"], step["params"]["codes"]) == (
        "chain",
        "block_scan",
        ["over_per_tx_cap"],
    )


@pytest.mark.parametrize("report_first", [True, False])
def test_refusal__reported_and_proven__is_shown_once_with_the_agents_why(
    report_first: bool,
) -> None:
    ledger = working()
    payload = {
        "refusal": {"reason": "OverPerTxCap", "source": "agent", "check": "reported"},
        "why": "tried",
    }
    if report_first:
        ledger.report(RowKind.NOTE, tx_number=60, payload=payload)
    _revert(ledger, 60, proves=ledger.rows[-1].seq if report_first else None)
    if not report_first:
        ledger.report(RowKind.NOTE, tx_number=60, payload=payload)
    steps = [step for step in _steps(ledger) if step["code"] == "refused"]
    assert len(steps) == 1
    assert (steps[0]["params"]["source"], steps[0]["params"]["check"], steps[0]["why"]) == (
        "chain",
        "block_scan",
        "tried",
    )


def test_payment__reported_and_proven__is_one_research_step_before_its_call() -> None:
    ledger = working()
    ledger.report(
        RowKind.FEE,
        "0.01",
        70,
        {"fee_kind": "x402", "resource": "https://a.example/x", "why": "news"},
    )
    ledger.chain(paid("0.01"), 70)
    ledger.chain(executed("0.01", target=X402), 70)
    steps = _steps(ledger)[:2]
    assert [(step["kind"], step["code"]) for step in steps] == [
        ("research", "research_paid"),
        ("action", "action_executed"),
    ]
    assert (steps[0]["resource"], steps[0]["why"], steps[0]["amount_usdc"]) == (
        "0x" + "44" * 32,
        "news",
        "0.010000",
    )


@pytest.mark.parametrize(
    ("payload", "kind", "code"),
    [
        ({"fee_kind": "tools", "resource": "https://a.example/x"}, "research", "research_paid"),
        ({"fee_kind": "venue"}, "note", "note_fee"),
    ],
)
def test_fee__with_a_resource_is_research_and_without_is_a_note(
    payload: dict[str, str], kind: str, code: str
) -> None:
    ledger = working()
    ledger.report(RowKind.FEE, "1", payload=payload)
    assert _brief(ledger)[0] == (kind, code)


def test_agents_notes__text_check_mark_and_stop_request() -> None:
    ledger = working()
    ledger.report(RowKind.NOTE, payload={"text": "hello"})
    ledger.report(RowKind.NOTE, payload={"check": "price above 2000"})
    ledger.report(RowKind.NOTE, payload={"mark": {"position_id": "p1", "worth_usdc": "1"}})
    ledger.report(RowKind.RESOLVE, "-1", payload={"position": {"id": "p1"}})
    ledger.add(stop_request_note(why="done", fact="u", now=ledger.clock))
    assert _brief(ledger)[:5] == [
        ("control", "control_stoprequested"),
        ("outcome", "outcome_resolve"),
        ("outcome", "outcome_mark"),
        ("verify", "verify_check"),
        ("note", "note_text"),
    ]
    assert [step["est"] for step in _steps(ledger)[:5]] == [False, True, True, False, False]


def test_pause_and_resume__keep_their_codes_and_say_what_they_did() -> None:
    ledger = working()
    ledger.chain(ev.AgentSet(AGENT))
    ledger.chain(ev.AgentRemoved(AGENT, OWNER))
    ledger.chain(ev.AgentSet(AGENT))
    ledger.chain(stopped())
    ledger.chain(ev.AgentSet(AGENT))
    told = [
        (step["code"], step["params"]["action"], step["note"])
        for step in _steps(ledger)
        if "agent" in step["code"]
    ]
    assert told == [
        ("control_agentset", None, "Agent set on chain"),
        ("control_agentset", "resumed", "Resumed: agent set on chain"),
        ("control_agentremoved", "paused", "Paused: agent removed on chain"),
        ("control_agentset", None, "Agent set on chain"),
    ]


def test_keepers_marks__are_outcomes_and_estimates() -> None:
    ledger = working()
    ledger.chain(marked("990"))
    ledger.chain(marked("991"))
    newest, older = _steps(ledger)[:2]
    assert [step["code"] for step in (newest, older)] == ["outcome_mark"] * 2
    assert [
        (step["est"], step["confirmed_on_chain"], step["params"]["worth_usdc"])
        for step in (newest, older)
    ] == [
        (True, True, "991.000000"),
        (True, True, "990.000000"),
    ]


def test_factory_event__is_a_note() -> None:
    ledger = working()
    ledger.chain(ev.KeeperProposed(OWNER, 5))
    step = _steps(ledger)[0]
    assert (step["kind"], step["code"], step["params"]["event"]) == (
        "note",
        "note_factory",
        "KeeperProposed",
    )


def test_reversed_row__never_was() -> None:
    ledger = working()
    before = _steps(ledger)
    lost = ledger.chain(executed("10"))
    ledger.reverse(lost)
    assert _steps(ledger) == before


def test_a_late_report__joins_its_group_and_moves_nothing() -> None:
    ledger = working()
    ledger.chain(executed("10"), 60)
    ledger.chain(executed("20", nonce=1), 61)
    places = [group.place for group in step_groups(ledger.rows, PURPOSE, vault=VAULT)]
    ledger.report(RowKind.MOVE, "10", 60, {"target": VENUE})
    groups = step_groups(ledger.rows, PURPOSE, vault=VAULT)
    assert [group.place for group in groups] == places
    assert [step["code"] for step in groups[1].steps] == ["action_move", "action_executed"]


def test_paper__deposit_of_the_budget_is_funding() -> None:
    assert _brief(working(PAPER)) == [
        ("funding", "funding_deposit"),
        ("instruction", "instruction_purpose"),
    ]


# Pages


def _long() -> SampleLedger:
    ledger = SampleLedger()
    ledger.sign()
    ledger.chain(created(), 1)
    ledger.chain(deposited("1000"), 1)
    for n in range(6):
        ledger.report(RowKind.NOTE, payload={"text": str(n)})
    return ledger


def test_pages__whole_groups__cover_everything_once_though_rows_come_in_between() -> None:
    ledger = _long()
    everything = [step["id"] for step in _steps(ledger)]
    seen: list[int] = []
    cursor: int | None = None
    for _ in range(10):
        steps, cursor = steps_page(step_groups(ledger.rows, PURPOSE, vault=VAULT), cursor, limit=3)
        seen += [step["id"] for step in steps]
        if cursor is None:
            break
        ledger.report(RowKind.NOTE, payload={"text": "new"})
    assert seen == everything


def test_pages__a_group_larger_than_the_limit__is_not_torn() -> None:
    groups = step_groups(_long().rows, PURPOSE, vault=VAULT)
    steps, cursor = steps_page(groups, 3, limit=1)
    assert ([step["id"] for step in steps], cursor) == ([2, 3], 2)
    assert steps_page(groups, cursor, limit=1) == (list(groups[-1].steps), None)


def test_pages__of_an_empty_record() -> None:
    assert steps_page([], None, limit=1) == ([], None)


def test_clauses_that_a_report_breaks__are_in_their_order() -> None:
    ledger = working()
    violation = {"codes": ["mandate_ended", "target_not_allowed"], "detail": {}}
    ledger.report(RowKind.BUY, "500", None, {"target": VENUE, "violation": violation})
    assert _steps(ledger)[0]["breached"] == [5, 8]


def test_an_agent_that_is_removed_after_a_stop__is_no_pause() -> None:
    ledger = working()
    ledger.chain(stopped())
    ledger.chain(ev.AgentRemoved(AGENT, OWNER))
    assert _steps(ledger)[0]["params"]["action"] is None


def test_clauses_that_a_report_cites__are_in_their_order() -> None:
    ledger = working()
    ledger.report(RowKind.BUY, "5", None, {"target": VENUE, "clauses": [8, 5, True, 11, "3"]})
    assert _steps(ledger)[0]["clauses"] == [5, 8]
