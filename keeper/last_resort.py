"""The last resort for a vault that cannot be stopped: a pauser removes its agent, which moves no
money and ends nothing.

Only where the operator set a pauser's key, and only for a working vault whose worth has been unknown
for UNKNOWN_S and was at most NEAR_BPS above its floor when it was known last: a venue that reverts
keeps anybody from stopping it. The owner may set an agent again at once.

Laws
- Unknown is not zero: a vault whose last known worth was well above its floor keeps its agent,
  however long it stays unknown.
- Time is what this process saw, on a clock that only rises: it begins again with the process, and
  after GAP_S without a look.
"""

import time
from collections.abc import Callable, Collection, Mapping

from core.db.engine import Database
from core.keeper import views as watched_rows
from core.mandate.rules.lifecycle import VaultStatus
from core.money import BPS_ONE, UsdcE6
from keeper.state import Action, IntentKind, KeeperState, VaultReading

UNKNOWN_S = 600
NEAR_BPS = 200  # of the floor; inclusive
AGAIN_S = 600  # between two removals from one vault
MOST_A_TICK = 200
GAP_S = 60.0  # between two looks, at most
WHY = "unknown_near_floor"


class LastResort:
    """Remembers since when each vault has been unknown. `clock`: seconds that only rise."""

    def __init__(
        self, database: Database, chain_id: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._chain_id = chain_id
        self._clock = clock
        self._looked_at = clock()
        self._unknown_since: dict[str, float] = {}
        self._not_before: dict[str, float] = {}

    def plan(self, state: KeeperState, agreed: Callable[[str], bool]) -> list[Action]:
        """None on a stale head, nor while one is under way, nor soon after one.

        `agreed`: enough nodes spoke of this vault, and none knows its worth.
        """
        if state.is_stale:
            return []
        self._note([reading for reading in state.vaults if reading.worth_usdc_e6 is None])
        due = {
            reading.vault: reading
            for reading in state.vaults
            if self._is_due(reading)
            and IntentKind.REMOVE not in state.live_of(reading)
            and agreed(reading.vault)
        }
        near = self._near_the_floor(
            {v: floor for v, one in due.items() if (floor := one.floor_usdc_e6) is not None}
        )[:MOST_A_TICK]
        self._not_before |= dict.fromkeys(near, self._looked_at + AGAIN_S)
        return [due[vault].action(IntentKind.REMOVE, state.head, WHY) for vault in near]

    def _note(self, unknown: Collection[VaultReading]) -> None:
        """A tick that could not read even the status begins nothing again."""
        now, was = self._clock(), self._looked_at
        self._looked_at = now
        before = self._unknown_since if now - was <= GAP_S else {}
        self._unknown_since = {
            one.vault: before.get(one.vault, now)
            for one in unknown
            if one.status in (VaultStatus.WORKING, None)
        }
        self._not_before = {vault: at for vault, at in self._not_before.items() if now < at}

    def _is_due(self, reading: VaultReading) -> bool:
        since = self._unknown_since.get(reading.vault, self._looked_at)
        return (
            reading.status is VaultStatus.WORKING
            and self._looked_at - since >= UNKNOWN_S
            and reading.vault not in self._not_before
        )

    def _near_the_floor(self, floors: Mapping[str, UsdcE6]) -> list[str]:
        """Those whose last known worth was near their floor, or below it."""
        if not floors:
            return []
        with self._database.read() as session:
            worths = watched_rows.last_known_worths(session, self._chain_id, floors)
        return [
            vault
            for vault, worth in worths.items()
            if worth * BPS_ONE <= floors[vault] * (BPS_ONE + NEAR_BPS)
        ]
