"""The stop line: a working vault whose worth is at or below its floor is stopped.

Laws
- Any node's lens is enough, however old its head: the contract measures again in the block that the
  stop is mined in, and reverts above the floor. Source: MandateVault.enforceStopLine.
- Unknown worth decides nothing. Money that no adapter values counts at cost, and such a worth stops
  as any other.
- At the floor is below it: worth == floor stops, one base unit more does not.
"""

from core.mandate.rules.lifecycle import VaultStatus
from keeper.state import VaultReading

WHY = "at_or_below_floor"


def is_due(reading: VaultReading) -> bool:
    """It works, its worth is known and at or below its floor, and its end is not reached: from then
    on the vault takes no stop.
    """
    above = reading.above_floor_usdc_e6()
    is_fallen = reading.status is VaultStatus.WORKING and above is not None and above <= 0
    return is_fallen and (reading.block is None or reading.is_for_anyone(reading.block))
