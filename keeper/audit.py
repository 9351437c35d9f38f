"""Whether other nodes see a vault fallen that the preferred one does not: of a few vaults a tick,
of all in turn.

A node that says too much worth, or that a working vault has ended, keeps the keeper from a stop by
well-formed answers. When others outvote it, it rests; where it is word against word, each node has
its turn (keeper.witness). Either way the next tick goes by another one.
"""

from collections.abc import Collection, Sequence
from itertools import islice

import structlog

from core.mandate.rules.lifecycle import VaultStatus
from keeper.jobs.stop_line import is_fallen
from keeper.observe import Observer
from keeper.state import KeeperState, VaultReading

LEAST_A_TICK, SHARE = 20, 50  # so many vaults, or the fiftieth of them: each one within fifty ticks
FIRST = 20  # and so many of those nearest to their floors

log = structlog.get_logger("keeper")


class VaultAudit:
    """Remembers which vaults come next."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._next = 0

    def hear(self, state: KeeperState, at_work: Collection[str]) -> None:
        """`at_work`: vaults that the record calls working.

        Nothing happens where there is one node alone.
        """
        witnesses, asked = self._observer.witnesses, self._observer.told_by or ""
        # the rest would make nodes fail
        sound = [reading for reading in state.vaults if reading.vault not in self._observer.trouble]
        readings = (
            {reading.vault: reading for reading in self._some(sound, at_work)}
            if witnesses.are_several
            else {}
        )
        floors = {
            vault: floor
            for vault, reading in readings.items()
            if (floor := reading.floor_usdc_e6) is not None
        }
        if not floors:
            return
        others = witnesses.said(floors, witnesses.others(asked))
        contradicted = [
            one.with_against(asked)
            for vault, one in others.items()
            if one.fallen and not is_fallen(readings[vault])
        ]
        if contradicted:
            log.warning("another node sees vaults at their floor", count=len(contradicted))
            witnesses.weigh(contradicted)

    def _some(
        self, readings: Sequence[VaultReading], at_work: Collection[str]
    ) -> Sequence[VaultReading]:
        """The first are those nearest to their floors by their newest judgement; one of unknown
        worth has no place among these.
        """
        size = max(LEAST_A_TICK, len(readings) // SHARE)
        first = self._next if self._next < len(readings) else 0
        self._next = first + size
        near = (
            reading
            for reading in readings
            if _is_judged(reading) and (reading.vault in at_work or _works(reading))
        )
        return [*islice(near, FIRST), *readings[first : first + size]]


def _is_judged(reading: VaultReading) -> bool:
    return reading.last_written is not None and reading.last_written.worth_usdc_e6 is not None


def _works(reading: VaultReading) -> bool:
    return reading.status is VaultStatus.WORKING
