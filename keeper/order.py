"""In which order vaults are looked at, and which are left out of a tick. Pure: no socket.

    unread and at work by the record, nearest to the floor ... farthest, unread of any other status, unfunded

Laws
- What the chain calls funding has nothing to lose yet: it comes last, once in UNFUNDED_S, and once
  in OVER_S when its mandate is over, a few a tick: that it has no money is one node's word. The
  record that calls its mandate working brings it back at once.
- This is what one process saw: the next one looks at each vault once.
"""

from collections.abc import Callable, Iterable, Sequence

from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import BPS_ONE, UnixSeconds
from keeper.state import VaultReading

UNFUNDED_S = 15.0
OVER_S, MOST_OVER_A_TICK = 3_600.0, 50
UNREAD, LAST = -1, 2**62  # in basis points of the floor


class Order:
    """Remembers when each vault without money was looked at. `clock`: seconds that only rise."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._unfunded: dict[str, float] = {}

    def due(self, watched: Iterable[WatchedVault], now: UnixSeconds) -> list[WatchedVault]:
        due, over, unfunded = list[WatchedVault](), list[WatchedVault](), dict[str, float]()
        for vault in watched:
            seen_at = self._unfunded.get(vault.vault)
            if seen_at is not None:
                unfunded[vault.vault] = seen_at
            if seen_at is None or vault.is_recorded_at_work:
                due.append(vault)
            elif vault.ends_at is None or vault.ends_at > now:
                due += [vault] if self._clock() - seen_at >= UNFUNDED_S else []
            elif self._clock() - seen_at >= OVER_S and len(over) < MOST_OVER_A_TICK:
                over.append(vault)
        self._unfunded = unfunded
        return sorted([*due, *over], key=self._place)

    def note(self, readings: Sequence[VaultReading]) -> None:
        for reading in readings:
            if reading.status is VaultStatus.FUNDING:
                self._unfunded[reading.vault] = self._clock()
            else:
                self._unfunded.pop(reading.vault, None)

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
