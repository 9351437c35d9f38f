"""The block of limits that a read carries."""

from dataclasses import replace

import pytest

from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.limits import LimitsFacts, SpendWindow, limits_block
from core.mandate.rules.refusals import NOT_SEEN
from core.mandate.rules.terms import MandateTerms
from core.money import usdc_e6_from_text
from core.times import utc_text
from tests.each import each
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


def test_limits_block__of_a_working_mandate() -> None:
    assert limits_block(FACTS, START + 60, 7) == {
        "as_of": {"block_number": 7, "at": "2026-01-01T00:01:00Z"},
        "allowed": {
            "budget_usdc": "1000.000000",
            "per_tx_cap_usdc": "100.000000",
            "daily_cap_usdc": "300.000000",
            "stop_floor_usdc": "800.000000",
            "approval_above_usdc": None,
            "ends_at": "2026-01-31T00:00:00Z",
        },
        "used": {
            "left_today": {
                "value": "200.000000",
                "source": "chain",
                "basis": "daily_cap_rolling_24h",
            },
            "left_total": {"value": "900.000000", "source": "chain", "basis": "own_cash"},
            "per_action_max": {"value": "100.000000", "source": "terms", "basis": "per_tx_cap"},
            "window_frees_at": {
                "value": "2026-01-02T00:00:00Z",
                "source": "chain",
                "basis": "rolling_24h",
            },
        },
        "breaches": {
            "reverts": {"count": 2, "not_seen": NOT_SEEN},
            "refusals": {"count": 3},
            "violations": {"count": 4, "codes": ["over_per_tx_cap"]},
        },
    }


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


def test_limits_block__of_paper__comes_from_the_ledger_and_is_never_below_zero() -> None:
    used = limits_block(replace(FACTS, market_mode=MarketMode.PAPER, cash_usdc_e6=-1), START, 7)[
        "used"
    ]
    assert used["left_total"] == {"value": "0.000000", "source": "ledger", "basis": "own_cash"}


def test_limits_block__with_an_empty_cap__says_that_the_budget_is_the_cap() -> None:
    used = limits_block(
        replace(FACTS, terms=replace(TERMS, per_tx_cap=TERMS.budget_usdc)), START, 7
    )["used"]
    assert used["per_action_max"] == {"value": "1000.000000", "source": "terms", "basis": "budget"}


@each("status", [status for status in Status if status is not Status.WORKING])
def test_limits_block__unless_working__is_null_with_its_basis(status: Status) -> None:
    nothing = {"value": None, "source": "none", "basis": "mandate_not_working"}
    used = limits_block(replace(FACTS, status=status), START, 7)["used"]
    assert used == dict.fromkeys(
        ("left_today", "left_total", "per_action_max", "window_frees_at"), nothing
    )


@pytest.mark.parametrize(("now", "basis"), [(END - 1, "own_cash"), (END, "mandate_ended")])
def test_limits_block__from_the_end_on__is_null(now: int, basis: str) -> None:
    assert limits_block(FACTS, now, 7)["used"]["left_total"]["basis"] == basis


def test_limits_block__without_a_scan__has_no_count_of_reverts() -> None:
    assert limits_block(replace(FACTS, reverts_count=None), START, 7)["breaches"]["reverts"] == {
        "count": None,
        "not_seen": None,
    }
