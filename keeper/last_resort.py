"""The last resort for a vault that cannot be stopped: a pauser removes its agent, which moves no
money and ends nothing.

Only where the operator set a pauser's key. The owner may set an agent again at once. It is asked
for when a working vault
- was at or below its floor for FALLEN_S, by every reading that knew its worth, and still works:
  neither mark nor `enforceStopLine` did what it should;
- has had no known worth for UNKNOWN_S, and the last one known was at most NEAR_BPS above its floor.

Laws
- Unknown is not zero: a vault whose last known worth was well above its floor keeps its agent,
  however long it stays unknown.
- Time is what this process saw, on a clock that only rises: it begins again with the process, and
  after GAP_S without a look.
- Two nodes agree, where there are two, and more than speak against it (keeper.witness).
- Nodes are asked about a part of the vaults at a time, the nearest to their floors first, and about
  MOST_A_TICK a tick: whoever takes the parts one by one writes and signs each. Where one speaks
  against it they are asked again after REFUSED_S.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence

from core.db.engine import Database
from core.keeper import views as watched_rows
from core.mandate.rules.lifecycle import VaultStatus
from core.money import BPS_ONE, UnixSeconds
from keeper.state import Action, IntentKind, KeeperState, VaultReading
from keeper.witness import VAULTS_A_PART, Witnesses

FALLEN_S = 60
UNKNOWN_S = 600
NEAR_BPS = 200  # of the floor; inclusive
AGAIN_S = 600  # between two removals from one vault
REFUSED_S = 30
MOST_A_TICK = 5 * VAULTS_A_PART
GAP_S = 60.0  # between two looks, at most: a tick over 20,000 vaults takes less
WHY_FALLEN = "stop_failed"
WHY_UNKNOWN = "unknown_near_floor"


class LastResort:
    """Remembers since when each vault has been below its floor, and unknown.

    `clock`: seconds that only rise.
    """

    def __init__(
        self,
        database: Database,
        chain_id: int,
        witnesses: Witnesses,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._chain_id = chain_id
        self._witnesses = witnesses
        self._clock = clock
        self._looked_at = clock()
        self._fallen_since: dict[str, float] = {}
        self._unknown_since: dict[str, float] = {}
        self._not_before: dict[str, float] = {}

    def plan(self, state: KeeperState, now: UnixSeconds) -> Iterator[list[Action]]:
        """Removals, part by part; none on a stale head, nor while one is under way, nor soon after
        one.
        """
        if state.is_stale(now):
            return
        working = [reading for reading in state.vaults if reading.status is VaultStatus.WORKING]
        self._note(
            [reading for reading in state.vaults if reading.status in (VaultStatus.WORKING, None)]
        )
        due = [reading for reading in working if self._may_ask(reading)]
        near = self._near_the_floor(
            [
                reading
                for reading in due
                if self._is_long(self._unknown_since.get(reading.vault), UNKNOWN_S)
            ]
        )
        reasons = [
            (reading, why) for reading in due if (why := self._why(reading, near)) is not None
        ][:MOST_A_TICK]
        for first in range(0, len(reasons), VAULTS_A_PART):
            part = reasons[first : first + VAULTS_A_PART]
            agreed, refused = self._heard([reading for reading, _ in part])
            self._not_before |= dict.fromkeys(agreed, self._looked_at + AGAIN_S) | dict.fromkeys(
                refused, self._looked_at + REFUSED_S
            )
            yield [
                reading.action(IntentKind.REMOVE, state.head, why)
                for reading, why in part
                if reading.vault in agreed
            ]

    def _note(self, readings: Collection[VaultReading]) -> None:
        """Of vaults that may be working: a tick that could not read even the status begins nothing
        again.
        """
        now, was = self._clock(), self._looked_at
        self._looked_at = now
        if now - was > GAP_S:
            self._fallen_since, self._unknown_since = {}, {}
        unknown = {r.vault for r in readings if r.worth_usdc_e6 is None}
        fallen = {
            r.vault
            for r in readings
            if (above := r.above_floor_usdc_e6()) is not None and above <= 0
        }
        # one that waits to be read is not above its floor
        unread = unknown & self._fallen_since.keys()
        self._fallen_since = {
            vault: self._fallen_since.get(vault, now) for vault in fallen | unread
        }
        self._unknown_since = {vault: self._unknown_since.get(vault, now) for vault in unknown}
        self._not_before = {vault: at for vault, at in self._not_before.items() if now < at}

    def _is_long(self, since: float | None, limit_s: float) -> bool:
        return since is not None and self._looked_at - since >= limit_s

    def _may_ask(self, reading: VaultReading) -> bool:
        return IntentKind.REMOVE not in reading.live and reading.vault not in self._not_before

    def _why(self, reading: VaultReading, near: Collection[str]) -> str | None:
        if reading.worth_usdc_e6 is None:
            return WHY_UNKNOWN if reading.vault in near else None
        return (
            WHY_FALLEN if self._is_long(self._fallen_since.get(reading.vault), FALLEN_S) else None
        )

    def _near_the_floor(self, readings: Collection[VaultReading]) -> set[str]:
        """Those whose last known worth was near their floor, or below it."""
        floors = {
            reading.vault: floor
            for reading in readings
            if (floor := reading.floor_usdc_e6) is not None
        }
        if not floors:
            return set()
        with self._database.read() as session:
            worths = watched_rows.last_known_worths(session, self._chain_id, floors)
        return {
            vault
            for vault, worth in worths.items()
            if worth * BPS_ONE <= floors[vault] * (BPS_ONE + NEAR_BPS)
        }

    def _heard(self, readings: Sequence[VaultReading]) -> tuple[set[str], set[str]]:
        """Whose agents may be removed, and for which vaults a node speaks against it."""
        floors = {
            reading.vault: floor
            for reading in readings
            if (floor := reading.floor_usdc_e6) is not None
        }
        if not self._witnesses.are_several:
            return set(floors), set()
        said = self._witnesses.said(floors)
        agreed = {vault for vault, one in said.items() if one.agrees_to_remove}
        return agreed, {vault for vault, one in said.items() if one.against} - agreed
