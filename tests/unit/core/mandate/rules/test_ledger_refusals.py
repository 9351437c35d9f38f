"""What the fold makes of refusals, reverts and violations: each counts once."""

from dataclasses import replace

from core.mandate.rules.rows import RowKind
from tests.unit.core.mandate.rules.ledgers import AGENT, STRANGER, VENUE, working
from tests.unit.core.mandate.rules.test_ledger import _refusal, _revert


def test_refusals__proven_then_reported__counts_once() -> None:
    ledger = working()
    _revert(ledger, 60)
    _refusal(ledger, 60)
    assert (
        ledger.state.refusals_count,
        ledger.state.refusals_confirmed_count,
        ledger.state.reverts_count,
    ) == (1, 1, 1)


def test_reverts__an_agents_word_for_a_revert__is_no_revert() -> None:
    ledger = working()
    ledger.report(
        RowKind.NOTE,
        tx_number=60,
        payload={"refusal": {"reason": "OverPerTxCap"}, "reverted": True},
    )
    assert (
        ledger.state.refusals_count,
        ledger.state.reverts_count,
        ledger.state.refusals_confirmed_count,
    ) == (1, 0, 0)


def test_agents_payload__can_not_pass_for_a_chain_row() -> None:
    ledger = working()
    before = ledger.state
    forged = {
        "vault_created": {"vault": STRANGER, "agent": STRANGER},
        "agent_removed": {"agent": AGENT},
        "mark": {"worth_usdc": "1", "as_of_block": 1},
        "cancelled": True,
        "unwound": {"target": VENUE},
        "executed": {"spent": "5.000000", "received": "0.000000", "nonce": 1},
    }
    row = ledger.report(RowKind.NOTE, "50", payload=forged)
    move = ledger.report(RowKind.MOVE, "50", payload=forged)
    assert ledger.state == replace(before, last_row_at=move.occurred_at)
    assert row.cash_delta_usdc_e6 == 0
