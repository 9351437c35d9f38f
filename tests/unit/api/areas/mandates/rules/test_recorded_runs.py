"""What a what-if replays of a record."""

from dataclasses import replace

from api.areas.mandates.rules.recorded_runs import run_of
from api.areas.mandates.rules.what_if import RecordedCall
from core.mandate.rules.rows import RowKind
from tests.unit.core.mandate.rules.ledgers import VENUE, executed, working


def test_a_call_without_a_number__has_none_of_another() -> None:
    ledger = working()
    row = ledger.chain(executed("5", nonce=1))
    odd = replace(row, payload={"executed": {**row.payload["executed"], "nonce": None}})
    (call,) = run_of([odd], ledger.state.cash_usdc_e6, ledger.state, None).facts
    assert isinstance(call, RecordedCall)
    assert call.nonce == -1


def test_a_fee_that_an_agent_reports__is_no_cost_of_a_call() -> None:
    """Its payload may hold any key, `adapter` too: a trade passed for a payment of services."""
    ledger = working()
    ledger.report(RowKind.FEE, "100", 60, {"fee_kind": "x402", "adapter": VENUE})
    ledger.chain(executed("100"), 60)
    (fact,) = run_of(ledger.rows, ledger.state.cash_usdc_e6, ledger.state, None).facts
    assert isinstance(fact, RecordedCall) and fact.cost_usdc_e6 == 0
