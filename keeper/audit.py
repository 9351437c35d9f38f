"""Whether other nodes see a vault fallen that the preferred one does not: of a few vaults a tick, of all in turn.

A node that says too much worth, or that a working vault has ended, keeps the keeper from a stop by well-formed answers. It rests, and
the next tick goes by another one.
"""

from collections.abc import Sequence

import structlog

from keeper.jobs.stop_line import is_fallen
from keeper.observe import Observer
from keeper.state import KeeperState, VaultReading

LEAST_A_TICK, SHARE = 20, 50  # so many vaults, or the fiftieth of them: each one within fifty ticks
FIRST = 20  # and so many of those nearest to their floors

log = structlog.get_logger("keeper")


class Audit:
    """Remembers which vaults come next."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._next = 0

    def hear(self, state: KeeperState) -> None:
        """Nothing happens where there is one node alone."""
        witnesses = self._observer.witnesses
        sound = [reading for reading in state.vaults if reading.vault not in self._observer.trouble]  # the rest would make nodes fail
        readings = {reading.vault: reading for reading in self._some(sound)} if witnesses.are_several else {}
        floors = {vault: floor for vault, reading in readings.items() if (floor := reading.floor_usdc_e6) is not None}
        if not floors:
            return
        said = witnesses.said(floors, witnesses.others(self._observer.told_by))
        fallen = [vault for vault, one in said.items() if one.fallen and not is_fallen(readings[vault])]
        if fallen:
            log.warning("another node sees vaults at their floor", vaults=fallen[:5], count=len(fallen))
            witnesses.doubt(self._observer.told_by, "contradicts")

    def _some(self, readings: Sequence[VaultReading]) -> Sequence[VaultReading]:
        size = max(LEAST_A_TICK, len(readings) // SHARE)
        first = self._next if self._next < len(readings) else 0
        self._next = first + size
        return [*readings[:FIRST], *readings[first : first + size]]
