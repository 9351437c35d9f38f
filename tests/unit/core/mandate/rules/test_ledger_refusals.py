"""What the fold makes of refusals, reverts and violations: each counts once."""

from dataclasses import replace

from core.mandate.rules.ledger import RowKind
from tests.unit.core.mandate.rules.ledgers import AGENT, STRANGER, VENUE, working
from tests.unit.core.mandate.rules.test_ledger import _refusal, _revert


def test_refusals__reported_then_proven__counts_once() -> None:
    ledger = working()
    report = _refusal(ledger, 60)
    assert (
        ledger.state.refusals_count,
        ledger.state.refusals_confirmed_count,
        ledger.state.reverts_count,
    ) == (1, 0, 0)
    _revert(ledger, 60, proves=report.seq)
    assert (
        ledger.state.refusals_count,
        ledger.state.refusals_confirmed_count,
        ledger.state.reverts_count,
    ) == (1, 1, 1)


def test_refusals__proven_then_reported__counts_once() -> None:
    ledger = working()
    _revert(ledger, 60)
    _refusal(ledger, 60)
    assert (
        ledger.state.refusals_count,
        ledger.state.refusals_confirmed_count,
        ledger.state.reverts_count,
    ) == (1, 1, 1)


def test_refusals__without_a_transaction__count_each() -> None:
    ledger = working()
    _refusal(ledger, None)
    _refusal(ledger, None)
    assert (ledger.state.refusals_count, ledger.state.reverts_count) == (2, 0)


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


def test_violations__codes_each_once_sorted_and_counted() -> None:
    ledger = working()
    ledger.report(
        RowKind.BUY,
        "500",
        payload={"violation": {"codes": ["over_per_tx_cap", "over_daily_cap"], "detail": {}}},
    )
    ledger.report(
        RowKind.BUY, "500", payload={"violation": {"codes": ["over_per_tx_cap"], "detail": {}}}
    )
    assert (ledger.state.violation_codes, ledger.state.violations_count) == (
        ("over_daily_cap", "over_per_tx_cap"),
        2,
    )
