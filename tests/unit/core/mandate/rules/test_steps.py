"""The record as steps: groups, order, doubles shown once, pages that never shift."""

from typing import Any

import pytest

from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import revert_note, stop_request_note
from core.mandate.rules.rows import RowKind
from core.mandate.rules.steps import step_groups, steps_page
from tests.unit.core.mandate.rules.ledgers import (
    AGENT,
    OWNER,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    created,
    deposited,
    executed,
    marked,
    paid,
    stopped,
    tx,
    working,
)

PURPOSE = "Buy ETH slowly"


def _steps(ledger: SampleLedger) -> list[dict[str, Any]]:
    return [
        step for group in step_groups(ledger.rows, PURPOSE, vault=VAULT) for step in group.steps
    ]


def _brief(ledger: SampleLedger) -> list[tuple[str, str]]:
    return [(step["kind"], step["code"]) for step in _steps(ledger)]


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
