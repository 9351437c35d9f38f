"""The end of a mandate: the keeper settles in the grace of one day after it, so that the owner need
not wait for the day to pass.

A vault that still works at its end is settled at once, or after its last mark where adapters value
something, since it takes none then: that frees the owner's withdrawal and pays the fee. One that
was stopped before is settled in the same day only if a fee is owed, since its owner can withdraw
anyway. After the grace anyone may settle, and the keeper leaves it to them.
Source: MandateVault.settle.
"""

from core.keeper.rules import LacksMark
from core.mandate.rules.lifecycle import VaultStatus
from core.mandate.rules.lock import settle_grace_until
from core.money import UnixSeconds
from keeper.state import Action, Head, IntentKind, KeeperState, VaultReading

WHY = "ended"


def plan(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """One settlement for each ended vault that has none under way.

    The end goes by the block's time, not by the clock.
    """
    if state.is_stale:
        return []
    return [
        reading.action(IntentKind.SETTLE, state.head, WHY)
        for reading in state.vaults
        if is_due(reading, state.head)
    ]


def is_due(reading: VaultReading, head: Head) -> bool:
    """Within the grace, something to settle, nothing under way yet, and no mark to come before it.

    An unknown end, status or fee says no. An unknown worth keeps nothing waiting.
    """
    is_in_grace = (
        reading.ends_at is not None and settle_grace_until(reading.ends_at, head.at) is not None
    )
    return (
        is_in_grace
        and IntentKind.SETTLE not in reading.live
        and (reading.lacks_mark is not LacksMark.OVER or reading.worth_usdc_e6 is None)
        and has_something_to_settle(reading.status, reading.fee_owed_usdc_e6)
    )


def has_something_to_settle(status: VaultStatus | None, fee_owed_usdc_e6: int | None) -> bool:
    """A vault that still works, or a stopped one that owes a fee."""
    return status is VaultStatus.WORKING or (
        status is VaultStatus.STOPPED and bool(fee_owed_usdc_e6)
    )
