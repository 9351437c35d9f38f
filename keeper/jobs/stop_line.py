"""The stop line: a working vault whose worth is at or below its floor gets the call that stops it.

Laws
- Nothing is stopped on missing or stale data: unknown worth and an old head decide nothing.
- Money that no adapter values counts at cost, and such a worth stops as any other.
- At the floor is below it: worth == floor stops, one base unit more does not. Source:
  MandateVault.enforceStopLine, which measures again in the block that it is mined in.
"""

from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds
from keeper.state import Action, IntentKind, KeeperState, VaultReading

WHY = "at_or_below_floor"


def plan(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """One stop for each working vault at or below its floor; keeper.stops knows which are sent."""
    if state.is_stale(now):
        return []
    return [
        reading.action(IntentKind.STOP, state.head, WHY)
        for reading in state.vaults
        if is_fallen(reading)
    ]


def is_fallen(reading: VaultReading) -> bool:
    """It works, and its worth is known and at or below its floor."""
    above = reading.above_floor_usdc_e6()
    return reading.status is VaultStatus.WORKING and above is not None and above <= 0
