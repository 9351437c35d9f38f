"""What a what-if replays of a record."""

from dataclasses import replace

from core.mandate.rules.recorded_runs import run_of
from core.mandate.rules.what_if import RecordedCall
from tests.unit.core.mandate.rules.ledgers import executed, working


def test_a_call_without_a_number__has_none_of_another() -> None:
    ledger = working()
    row = ledger.chain(executed("5", nonce=1))
    odd = replace(row, payload={"executed": {**row.payload["executed"], "nonce": None}})
    (call,) = run_of([odd], ledger.state.cash_usdc_e6, ledger.state, None).facts
    assert isinstance(call, RecordedCall)
    assert call.nonce == -1
