"""What an agent sends, as rows."""

from typing import Any

import pytest

from core.errors import InvalidParameterError
from core.mandate.rules.new_rows import after_stop_note, event_row
from core.mandate.rules.rows import NewRow, RowKind
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import PAPER, START, VENUE, e6, stopped, tx, working


def _event(**changes: Any) -> NewRow:
    standard: dict[str, Any] = {
        "kind": "buy",
        "amount_usdc_e6": e6("10"),
        "tx_hash": tx(9),
        "why": "cheap",
        "payload": {"target": VENUE},
        "violation": None,
        "fact": "u-1",
        "now": START,
    }
    return event_row(**standard | changes)


@each("kind", ["deposit", "withdraw", "signed", "stop", "payout", "BUY", ""])
def test_event_row__a_kind_that_agents_may_not_report__is_refused(kind: str) -> None:
    with pytest.raises(
        InvalidParameterError, match="an agent reports one of move, buy, sell, fee, resolve, note"
    ):
        _event(kind=kind)


def test_after_stop_note__is_confirmed_and_counts() -> None:
    ledger = working(PAPER)
    ledger.chain(stopped())
    ledger.add(
        after_stop_note(
            kind=RowKind.BUY,
            amount_usdc_e6=e6("5"),
            tx_hash=None,
            why="late",
            fact="u-4",
            now=START,
        )
    )
    refusal = ledger.rows[-1].payload["refusal"]
    assert (refusal["reason"], refusal["code"], refusal["server_check"]) == (
        "MandateStopped",
        "mandate_stopped",
        "confirmed",
    )
    assert (
        ledger.state.refusals_count,
        ledger.state.refusals_confirmed_count,
        ledger.state.reverts_count,
    ) == (1, 1, 0)
