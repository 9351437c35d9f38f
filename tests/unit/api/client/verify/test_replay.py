"""Sums of rows that were taken back again and again."""

from dataclasses import replace

import pytest

from api.client.verify import replay
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.replay import fold_rows, proven_state
from core.mandate.rules.fold import fold
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import MandateFacts, PositionRules
from tests.unit.core.mandate.rules.test_record_file import ROW

FACTS = MandateFacts(
    market_mode=MarketMode.TESTNET, budget_usdc_e6=1_000_000_000, positions=PositionRules()
)


def taken_back(times: int) -> list[LedgerRow]:
    """A row and its reversal, so many times, and a row after each pair."""
    rows: list[LedgerRow] = []
    for number in range(times):
        seq = 3 * number + 1
        row = replace(ROW, id=seq, seq=seq, base_key=f"log:{number}")
        rows += [
            row,
            replace(row, id=seq + 1, seq=seq + 1, reverses_id=seq, base_key=f"reversal:{number}"),
            replace(row, id=seq + 2, seq=seq + 2, base_key=f"log:{number}:1"),
        ]
    return rows


def test_rows_taken_back__count_for_nothing() -> None:
    rows = taken_back(3)
    assert fold_rows(rows, {}, FACTS, Report()) == fold(rows, FACTS)


def test_rows_taken_back_too_often__are_not_folded_again_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each reversal folded all rows before it: 4 MB of them took half a minute."""
    rows = taken_back(4)
    monkeypatch.setattr(replay, "MOST_FOLDED_AGAIN", 2 + 5 + 8 + 11)
    fold_rows(rows, {}, FACTS, Report())
    monkeypatch.setattr(replay, "MOST_FOLDED_AGAIN", 2 + 5 + 8 + 10)
    with pytest.raises(UncheckedError, match="taken back too often"):
        fold_rows(rows, {}, FACTS, Report())


def test_figures__are_those_of_proven_rows_alone() -> None:
    rows = [replace(ROW, id=seq, seq=seq, base_key=f"log:{seq}") for seq in (1, 2)]
    counted, state = proven_state(rows, {2}, fold(rows, FACTS), FACTS)
    assert (counted, state) == ([rows[1]], fold([rows[1]], FACTS))
