"""What left: batches as one, reports on paper alone, windows of 24 hours."""

import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules.limits import Spend
from core.mandate.rules.rows import RowKind
from core.mandate.rules.violations import Outflow, busiest_day, outflows, spend_window
from tests.unit.core.mandate.rules.ledgers import (
    DAY,
    PAPER,
    START,
    TESTNET,
    e6,
    executed,
    tx,
    working,
)

AT = int(START.timestamp())


def test_outflows__a_batch_is_one_and_no_report_is_any() -> None:
    ledger = working()
    ledger.chain(executed("30", nonce=1), 50, START)
    ledger.chain(executed("0", "5", nonce=1), 50, START)
    ledger.chain(executed("40", nonce=1), 50, START)
    ledger.report(RowKind.MOVE, "70", 50)
    ledger.report(RowKind.BUY, "9", 51, at=START)
    ledger.report(RowKind.SELL, "9", 52)
    assert outflows(ledger.rows, TESTNET) == (Outflow(AT, e6("70"), tx(50)),)
    assert spend_window(ledger.rows, TESTNET).entries == (Spend(AT, e6("70")),)


def test_outflows__a_call_that_took_and_brought__counts_what_it_took() -> None:
    ledger = working()
    ledger.chain(executed("80", "30", nonce=1), 50, START)
    ledger.chain(executed("20", "20", nonce=2), 51, START)
    assert [outflow.amount_usdc_e6 for outflow in outflows(ledger.rows, TESTNET)] == [
        e6("80"),
        e6("20"),
    ]
    assert spend_window(ledger.rows, TESTNET).spent_usdc_e6(AT) == e6("100")


def test_outflows__a_nonce_that_is_no_number__is_none() -> None:
    ledger = working()
    for spent, odd in (("30", {}), ("40", []), ("5", "1"), ("2", None)):
        row = ledger.chain(executed(spent), 50, START)
        row.payload["executed"]["nonce"] = odd
    assert outflows(ledger.rows, TESTNET) == (Outflow(AT, e6("77"), tx(50)),)


def test_outflows__a_reversed_call__never_left() -> None:
    ledger = working()
    ledger.reverse(ledger.chain(executed("30")))
    assert outflows(ledger.rows, TESTNET) == ()


def test_outflows__paper__is_what_the_report_really_moved() -> None:
    ledger = working(PAPER)
    ledger.report(RowKind.BUY, "1200", 60, at=START)
    assert outflows(ledger.rows, PAPER) == (Outflow(AT, e6("1000"), tx(60)),)


def test_busiest_day__window_may_begin_before_the_week_and_ends_with_an_outflow() -> None:
    spends = [
        Outflow(AT, 60, None),
        Outflow(AT + 86_399, 50, None),
        Outflow(AT + 86_400, 10, None),
    ]
    assert busiest_day(spends, AT + 1, AT + 10**6) == (110, AT + 86_399)
    assert busiest_day(spends, AT + 86_400, AT + 10**6) == (60, AT + 86_400)
    assert busiest_day(spends, AT + 86_401, AT + 10**6) == (0, None)


def test_spend_window__counts_as_the_contract_does() -> None:
    ledger = working()
    ledger.chain(executed("100"), at=START)
    ledger.chain(executed("50"), at=START + timedelta(hours=1))
    window = spend_window(ledger.rows, TESTNET)
    assert window.spent_usdc_e6(AT + 3600) == e6("150")
    assert window.spent_usdc_e6(int((START + DAY).timestamp())) == e6("50")


@pytest.mark.slow
def test_busiest_day__of_a_hundred_thousand_seconds__takes_no_longer_than_its_outflows() -> None:
    """Before, each second looked at all outflows: hours for a file of 20 MB."""
    spends = [Outflow(AT + second, 1, None) for second in range(100_000)]
    began = time.process_time()
    assert busiest_day(spends, AT, AT + 10**6) == (86_400, AT + 86_399)
    assert time.process_time() - began < 2


@given(
    st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 9)), max_size=30),
    st.integers(0, 200_000),
)
def test_busiest_day__is_the_largest_sum_of_any_window(
    found: list[tuple[int, int]], start_at: int
) -> None:
    spends = [Outflow(at, amount, None) for at, amount in found]
    sums = {
        end: sum(amount for at, amount in found if end - 86_400 < at <= end)
        for end, _ in found
        if end >= start_at
    }
    most = max(sums.values(), default=0)
    ended = min((end for end, total in sums.items() if total == most), default=None)
    assert busiest_day(spends, start_at, 10**6) == (most, ended)
