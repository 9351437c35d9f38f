"""The lock, the settle grace and their boundaries, second by second."""

from dataclasses import replace

import pytest

from core.errors import SettleGraceError
from core.mandate.rules.lifecycle import (
    LockFacts,
    LockReason,
    MarketMode,
    Status,
    StoppedBy,
    chain_state,
    check_stop,
    lock_of,
    settle_grace_until,
    settle_note,
)
from core.mandate.rules.terms import ZERO_ADDRESS
from tests.each import each

END = 1_767_225_600  # 2026-01-01T00:00:00Z
OPEN = END + 86_400
WORKING = LockFacts(
    status=Status.WORKING,
    market_mode=MarketMode.TESTNET,
    has_vault=True,
    ends_at=END,
    withdrawable_usdc_e6=1_000_000,
)
STOPPED = replace(
    WORKING, status=Status.STOPPED, stopped_at=END - 3_600, stopped_by=StoppedBy.OWNER
)


@each(("now", "until"), [(END - 1, None), (END, OPEN), (OPEN - 1, OPEN), (OPEN, None)])
def test_settle_grace__is_the_day_from_the_end(now: int, until: int | None) -> None:
    assert settle_grace_until(END, now) == until


@each("now", [END - 1, OPEN])
def test_owner_stop__outside_the_grace__is_allowed(now: int) -> None:
    check_stop(StoppedBy.OWNER, END, now, is_paper=False)


@each("now", [END, OPEN - 1])
def test_owner_stop__inside_the_grace__is_refused_until_its_end(now: int) -> None:
    with pytest.raises(SettleGraceError) as refused:
        check_stop(StoppedBy.OWNER, END, now, is_paper=False)
    assert refused.value.until == OPEN


@each("now", [END, OPEN - 1])
def test_agent_stop_of_a_vault__inside_the_grace__is_refused_as_the_owners_is(now: int) -> None:
    with pytest.raises(SettleGraceError) as refused:
        check_stop(StoppedBy.AGENT, END, now, is_paper=False)
    assert refused.value.until == OPEN


@each("now", [END - 1, OPEN])
def test_agent_stop_of_a_vault__outside_the_grace__is_allowed(now: int) -> None:
    check_stop(StoppedBy.AGENT, END, now, is_paper=False)


def test_agent_stop_without_a_vault__inside_the_grace__is_allowed() -> None:
    check_stop(StoppedBy.AGENT, END, END, is_paper=True)


@each("by", [StoppedBy.KEEPER, StoppedBy.CHAIN])
@each("now", [END, OPEN - 1])
def test_other_stops__inside_the_grace__are_never_gated(by: StoppedBy, now: int) -> None:
    check_stop(by, END, now, is_paper=False)


@each(
    ("now", "withdrawable", "reason", "until"),
    [
        (END - 1, False, LockReason.WORKING, OPEN),
        (END, False, LockReason.SETTLE_GRACE, OPEN),
        (OPEN - 1, False, LockReason.SETTLE_GRACE, OPEN),
        (OPEN, True, None, None),
    ],
)
def test_lock__of_a_working_mandate__opens_a_day_after_the_end(
    now: int, withdrawable: bool, reason: LockReason | None, until: int | None
) -> None:
    lock = lock_of(WORKING, now)
    assert (lock.withdrawable, lock.reason, lock.until) == (withdrawable, reason, until)


@each("left", [0, -1])
def test_lock__of_an_emptied_vault__is_nothing_left(left: int) -> None:
    lock = lock_of(replace(STOPPED, withdrawable_usdc_e6=left), END)
    assert (lock.withdrawable, lock.reason, lock.until) == (False, LockReason.NOTHING_LEFT, None)


@each("status", [Status.SIGNED, Status.SETTLED])
def test_lock__while_funding_or_settled__is_open_even_in_the_grace(status: Status) -> None:
    assert lock_of(replace(WORKING, status=status), END).withdrawable


@each(
    ("agent", "known", "stopped", "shown", "shown_known"),
    [
        ("0xAb", True, False, "0xAb", True),
        ("0xAb", False, False, None, False),
        (ZERO_ADDRESS, True, False, None, True),
        ("0xAb", True, True, None, True),
        ("0xAb", False, True, None, True),
    ],
)
def test_chain_state__shows_the_agent_that_the_vault_obeys(
    agent: str, known: bool, stopped: bool, shown: str | None, shown_known: bool
) -> None:
    state = chain_state(
        has_vault=True, stopped=stopped, settled=False, agent=agent, agent_known=known
    )
    assert (state["agent"], state["agent_known"]) == (shown, shown_known)


def test_settle_note__is_carried_by_a_stopped_mandate_alone() -> None:
    note = settle_note(Status.STOPPED, agent_fee_bps=1_050, has_vault=True)
    assert note is not None
    assert "10.50 %" in note
    assert settle_note(Status.STOPPED, agent_fee_bps=1_000, has_vault=False) is not None
    assert settle_note(Status.WORKING, agent_fee_bps=1_000, has_vault=True) is None
    assert settle_note(Status.SETTLED, agent_fee_bps=1_000, has_vault=True) is None
