"""In which order vaults are looked at, and which are left out of a tick. Pure: no socket.

    unread and at work by the record, nearest to the floor ... farthest, unread of any other status, unfunded

Laws
- What the chain calls funding has nothing to lose yet: it comes last, once in UNFUNDED_S, and never again once its mandate is over.
  The record that calls its mandate working brings it back at once.
- This is what one process saw: the next one looks at each vault once.
"""

from collections.abc import Callable, Iterable, Sequence

from core.db.repositories.watched import WatchedVault
from core.domain.money import BPS_ONE, UnixSeconds
from keeper.state import VaultReading, VaultStatus

UNFUNDED_S = 15.0
UNREAD, LAST = -1, 2**62  # in basis points of the floor


class Order:
    """Remembers when each vault without money was looked at. `clock`: seconds that only rise."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._unfunded: dict[str, float] = {}

    def due(self, watched: Iterable[WatchedVault], now: UnixSeconds) -> list[WatchedVault]:
        return sorted((vault for vault in watched if self._is_due(vault, now)), key=self._place)

    def note(self, readings: Sequence[VaultReading]) -> None:
        for reading in readings:
            if reading.status is VaultStatus.FUNDING:
                self._unfunded[reading.vault] = self._clock()
            else:
                self._unfunded.pop(reading.vault, None)

    def _is_due(self, vault: WatchedVault, now: UnixSeconds) -> bool:
        seen_at = self._unfunded.get(vault.vault)
        if seen_at is None or vault.is_recorded_at_work:
            return True
        is_over = vault.ends_at is not None and vault.ends_at <= now
        return not is_over and self._clock() - seen_at >= UNFUNDED_S

    def _place(self, vault: WatchedVault) -> int:
        """Its worth at the newest judgement in basis points of its floor."""
        seen = vault.last_written
        if vault.vault in self._unfunded:
            return LAST
        if seen is None and not vault.is_recorded_at_work:
            return LAST - 1
        if seen is None or seen.worth_usdc_e6 is None or not vault.floor_usdc_e6:
            return UNREAD
        return seen.worth_usdc_e6 * BPS_ONE // vault.floor_usdc_e6
