"""The week's statement: exact values, and the identity of cash for every week of every ledger."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules import events as ev
from core.mandate.rules.cash import stop_row
from core.mandate.rules.rows import ReportedBy, RowKind
from core.mandate.rules.statement import (
    WeekStatement,
    all_mandates_json,
    statement_json,
)
from core.mandate.rules.weeks import IsoWeek
from tests.statements import week_statement
from tests.unit.core.mandate.rules.ledgers import (
    DAY,
    MONDAY,
    PAPER,
    TESTNET,
    X402,
    SampleLedger,
    e6,
    executed,
    paid,
    settled,
    stopped,
    unwound,
    withdrawn,
    working,
)
from tests.unit.core.mandate.rules.week_story import LATER, NEXT, WEEK, about, story
from tests.unit.core.mandate.rules.worked import table


def test_statement__a_log_at_the_weeks_last_second_and_at_monday__fall_apart() -> None:
    ledger = working()
    ledger.chain(executed("1", nonce=0), 60, WEEK.end_at - timedelta(seconds=1))
    ledger.chain(executed("2", nonce=1), 61, WEEK.end_at)
    assert week_statement(ledger.rows, about(), WEEK, LATER).flows.spent_usdc_e6 == e6("1")
    assert week_statement(ledger.rows, about(), NEXT, LATER).flows.spent_usdc_e6 == e6("2")


def test_statement__a_call_that_took_and_brought__is_gross_in_flows_and_against_the_caps() -> None:
    ledger = working()
    ledger.chain(executed("80", "30", nonce=0), 60, MONDAY + DAY)
    ledger.chain(executed("60", "60", nonce=1), 61, MONDAY + DAY)
    shown = statement_json(week_statement(ledger.rows, about(), WEEK, LATER))
    flows, used = shown["flows"], shown["allowed_vs_used"]
    assert (flows["spent"], flows["received"], flows["unexplained"]) == (
        "140.000000",
        "90.000000",
        "0.000000",
    )
    assert (used["largest_move"]["used"], used["busiest_day"]["used"]) == (
        "80.000000",
        "140.000000",
    )


def test_statement__a_row_reversed_a_week_later__is_in_no_week() -> None:
    ledger = working()
    lost = ledger.chain(executed("50"), 60)
    ledger.clock = NEXT.start_at + DAY
    ledger.reverse(lost)
    for week in (WEEK, NEXT):
        statement = week_statement(ledger.rows, about(), week, LATER)
        assert (statement.flows.spent_usdc_e6, statement.unexplained_usdc_e6) == (0, 0)


def test_statement__donations_withdrawn__are_told_apart_and_balance() -> None:
    ledger = working()
    ledger.chain(stopped())
    ledger.chain(withdrawn("1005"))
    statement = week_statement(ledger.rows, about(), WEEK, LATER)
    assert (statement.flows.withdrawals_usdc_e6, statement.flows.donated_usdc_e6) == (
        e6("1000"),
        e6("5"),
    )
    assert statement.unexplained_usdc_e6 == 0


def test_statement__paper_stop__what_void_positions_return_is_received() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "100", payload={"position": {"id": "p1"}})
    ledger.add(stop_row(by=ReportedBy.OWNER, reason="owner", now=ledger.clock))
    statement = week_statement(ledger.rows, about(PAPER), WEEK, LATER)
    assert (statement.flows.spent_usdc_e6, statement.flows.received_usdc_e6) == (
        e6("100"),
        e6("100"),
    )
    assert (statement.end.cash_usdc_e6, statement.unexplained_usdc_e6) == (e6("1000"), 0)


def test_statement__before_the_mandate__is_nothing_and_balances() -> None:
    statement = week_statement(story().rows, about(), IsoWeek(2026, 5), LATER)
    answer = statement_json(statement)
    assert (answer["worth"]["end"], answer["cash"]["end"], answer["steps"], answer["status"]) == (
        "0.000000",
        "0.000000",
        [],
        "draft",
    )


def test_all_mandates__of_nobody__is_empty() -> None:
    answer = all_mandates_json([], WEEK, LATER)
    assert (answer["totals"], answer["mandates"]) == ({}, [])


# The identity


AMOUNTS = st.integers(min_value=0, max_value=90_000_000)
HOURS = st.integers(min_value=0, max_value=24 * 21)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "executed",
                "paid",
                "unwound",
                "proceeds",
                "settled",
                "withdrawn",
                "buy",
                "sell",
                "fee",
            ]
        ),
        AMOUNTS,
        HOURS,
        st.booleans(),
    ),
    max_size=16,
)


def _play(ledger: SampleLedger, word: str, amount: int, hours: int) -> Any:
    at, text = MONDAY + timedelta(hours=hours), f"{amount // 10**6}.{amount % 10**6:06d}"
    match word:
        case "buy" | "sell" | "fee":
            return ledger.report(RowKind(word), text, payload={"position": {"id": "p1"}}, at=at)
        case "proceeds":
            return ledger.chain(ev.ProceedsReceived(X402, amount, 0), at=at)
        case "executed":
            return ledger.chain(executed(text, "1.5"), at=at)
        case _:
            event: Any = {
                "paid": paid,
                "unwound": unwound,
                "settled": settled,
                "withdrawn": withdrawn,
            }[word](text)
            return ledger.chain(event, at=at)


def _balances(statement: WeekStatement) -> None:
    flows = statement.flows
    inflow = statement.start.cash_usdc_e6 + flows.deposits_usdc_e6 + flows.received_usdc_e6
    outflow = flows.withdrawals_usdc_e6 + flows.spent_usdc_e6 + flows.agent_fee_usdc_e6
    assert inflow - outflow == statement.end.cash_usdc_e6
    assert statement.unexplained_usdc_e6 == 0


@given(steps=STEPS, is_paper=st.booleans())
def test_statement__every_week_of_any_ledger__balances_to_the_last_micro_usdc(
    steps: list[tuple[str, int, int, bool]], is_paper: bool
) -> None:
    facts = PAPER if is_paper else TESTNET
    ledger = working(facts)
    for word, amount, hours, is_lost in steps:
        row = _play(ledger, word, amount, hours)
        if is_lost and not is_paper and row.block_hash:
            ledger.reverse(row)
    weeks = [IsoWeek(2026, number) for number in range(5, 11)]
    statements = [week_statement(ledger.rows, about(facts), week, LATER) for week in weeks]
    for statement in statements:
        _balances(statement)
    assert [one.start.cash_usdc_e6 for one in statements[1:]] == [
        one.end.cash_usdc_e6 for one in statements[:-1]
    ]
    assert statements[-1].end.cash_usdc_e6 == sum(row.cash_delta_usdc_e6 for row in ledger.rows)


def figure(statement: Mapping[str, Any], name: str) -> str:
    """A leaf of the answer by its path, as the page writes it."""
    value: Any = statement
    for key in name.split("."):
        value = value[key]
    return value if isinstance(value, str) else json.dumps(value)


def test_docs_statements__the_worked_weeks__are_the_statements_of_these_rows() -> None:
    rows = table("statements.md", "two weeks")
    answers = [
        statement_json(week_statement(story().rows, about(), week, LATER)) for week in (WEEK, NEXT)
    ]
    assert len(rows) == 32
    for name, *worked in rows:
        assert worked == [figure(answer, name) for answer in answers], name


def test_statement__codes_of_violations__are_in_order() -> None:
    ledger = working()
    for code in ("target_missing", "over_per_tx_cap", "mandate_ended", "over_daily_cap"):
        ledger.report(
            RowKind.NOTE, at=MONDAY, payload={"violation": {"codes": [code], "detail": {}}}
        )
    breaches = statement_json(week_statement(ledger.rows, about(), WEEK, LATER))["breaches"]
    assert breaches["violations"]["codes"] == [
        "mandate_ended",
        "over_daily_cap",
        "over_per_tx_cap",
        "target_missing",
    ]
