"""The block of limits that a read carries."""

import pytest

from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.limits import LimitsFacts, SpendWindow, limits_block
from core.mandate.rules.terms import MandateTerms
from core.money import usdc_e6_from_text
from core.times import utc_text
from tests.unit.core.mandate.rules.test_limits import AGENT, DAY, END, START, STRANGER, USDC
from tests.unit.core.mandate.rules.worked import table

# The block in a read

TERMS = MandateTerms(
    public_id="m_4k2v7c3xqa",
    owner=STRANGER,
    agent=AGENT,
    budget_usdc=1_000 * USDC,
    per_tx_cap=100 * USDC,
    daily_cap=300 * USDC,
    stop_floor=800 * USDC,
    stop_floor_bps=2_000,
    horizon_days=30,
    ends_at=END,
    agent_fee_bps=1_000,
    approval_above=0,
    on_floor=0,
    allowed_targets_hash="0x" + "11" * 32,
    guard_targets_hash="0x" + "22" * 32,
    issued_at=START,
    nonce=1,
)
FACTS = LimitsFacts(
    status=Status.WORKING,
    market_mode=MarketMode.TESTNET,
    terms=TERMS,
    cash_usdc_e6=900 * USDC,
    window=SpendWindow.of([(START, 100 * USDC)]),
    reverts_count=2,
    refusals_count=3,
    violations_count=4,
    violation_codes=("over_per_tx_cap",),
)


def test_worked_numbers__of_a_read__are_the_blocks() -> None:
    rows = table("limits.md", "limits in a read")
    assert len(rows) == 5
    for second, *worked, basis in rows:
        used = limits_block(FACTS, START + int(second), 7)["used"]
        frees_at = worked.pop()
        assert [
            one and usdc_e6_from_text(one)
            for one in (
                used[name]["value"] for name in ("left_today", "left_total", "per_action_max")
            )
        ] == [None if one == "null" else usdc_e6_from_text(one) for one in worked], second
        assert used["window_frees_at"]["value"] == (
            None if frees_at == "null" else utc_text(START + int(frees_at))
        ), second
        assert used["left_total"]["basis"] == basis, second


def test_limits_block__with_an_empty_window__frees_nothing() -> None:
    used = limits_block(FACTS, START + DAY, 7)["used"]
    assert used["window_frees_at"] == {"value": None, "source": "chain", "basis": "window_empty"}
    assert used["left_today"]["value"] == "300.000000"


@pytest.mark.parametrize(("now", "basis"), [(END - 1, "own_cash"), (END, "mandate_ended")])
def test_limits_block__from_the_end_on__is_null(now: int, basis: str) -> None:
    assert limits_block(FACTS, now, 7)["used"]["left_total"]["basis"] == basis
