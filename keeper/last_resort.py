"""The last resort for a vault that cannot be stopped: a pauser removes its agent, which moves no money and ends nothing.

Only where the operator set a pauser's key. The owner may set an agent again at once. It is asked for when a working vault
- was at or below its floor for FALLEN_S, by every reading, and still works: neither mark nor `enforceStopLine` did what it should;
- has had no known worth for UNKNOWN_S, and the last one known was at most NEAR_BPS above its floor.

Unknown is not zero: a vault whose last known worth was well above its floor keeps its agent, however long it stays unknown.
"""

from core.db.engine import Database
from core.db.repositories import watched as watched_rows
from core.domain.money import BPS_ONE, UnixSeconds
from keeper.state import Action, KeeperState, Kind, VaultReading, VaultStatus

FALLEN_S = 60
UNKNOWN_S = 600
NEAR_BPS = 200  # of the floor; inclusive
AGAIN_S = 600  # between two removals from one vault
WHY_FALLEN = "stop_failed"
WHY_UNKNOWN = "unknown_near_floor"


class LastResort:
    """Remembers since when each vault has been below its floor, and unknown."""

    def __init__(self, database: Database, chain_id: int) -> None:
        self._database = database
        self._chain_id = chain_id
        self._fallen_since: dict[str, UnixSeconds] = {}
        self._unknown: dict[str, tuple[int, UnixSeconds]] = {}  # last known worth, and since when it is unknown
        self._asked_at: dict[str, UnixSeconds] = {}

    def plan(self, state: KeeperState, now: UnixSeconds) -> list[Action]:
        """Removals; none on a stale head, nor while one is under way, nor soon after one."""
        if state.is_stale(now):
            return []
        working = [reading for reading in state.vaults if reading.status is VaultStatus.WORKING]
        fallen = {r.vault for r in working if (above := r.above_floor_usdc_e6()) is not None and above <= 0}
        unknown = {r.vault for r in working if r.worth_usdc_e6 is None}
        self._fallen_since = {vault: self._fallen_since.get(vault, now) for vault in fallen}
        self._unknown = {vault: known for vault, known in self._unknown.items() if vault in unknown} | self._looked_up(unknown)
        due = ((reading, self._why(reading, now)) for reading in working if self._may_ask(reading, now))
        actions = [reading.action(Kind.REMOVE, state.head, why) for reading, why in due if why is not None]
        self._asked_at |= {action.to: now for action in actions}
        return actions

    def _looked_up(self, unknown: set[str]) -> dict[str, tuple[int, UnixSeconds]]:
        new = unknown - self._unknown.keys()
        if not new:
            return {}
        with self._database.read() as session:
            found = watched_rows.last_known_worths(session, self._chain_id, new)
        return {vault: (worth, UnixSeconds(int(at.timestamp()))) for vault, (worth, at) in found.items()}

    def _may_ask(self, reading: VaultReading, now: UnixSeconds) -> bool:
        return Kind.REMOVE not in reading.live and now - self._asked_at.get(reading.vault, UnixSeconds(0)) >= AGAIN_S

    def _why(self, reading: VaultReading, now: UnixSeconds) -> str | None:
        fallen_since = self._fallen_since.get(reading.vault)
        if fallen_since is not None:
            return WHY_FALLEN if now - fallen_since >= FALLEN_S else None
        known = self._unknown.get(reading.vault)
        if known is None or reading.floor_usdc_e6 is None:
            return None
        worth_usdc_e6, since = known
        is_near = worth_usdc_e6 * BPS_ONE <= reading.floor_usdc_e6 * (BPS_ONE + NEAR_BPS)
        return WHY_UNKNOWN if is_near and now - since >= UNKNOWN_S else None
