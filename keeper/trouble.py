"""Vaults that a node cannot be asked about together with the others, and how often each is looked
at again. Pure: no socket.

    a batch fails --> its vaults are a group --> the group fails --> two halves --> ... --> one vault: it is at fault
    a group that answers is asked apart from the others for DOUBT_S, then with them again

Laws
- What one vault's adapters do costs the others nothing but their place in a batch: groups are asked
  after all other vaults.
- A vault that fails alone is looked at again after 1, 2, 4 .. MOST_WAIT_S seconds; one that was
  near its floor when it was read last, or was never read, waits MOST_WAIT_NEAR_S at most. None is
  given up.
- Who waits longest is asked first, so that no group starves another.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import structlog

DOUBT_S = 600.0
FIRST_WAIT_S = 1.0
MOST_WAIT_S = 300.0
MOST_WAIT_NEAR_S = 4.0

log = structlog.get_logger("keeper")


@dataclass(slots=True, eq=False)
class Group:
    """Vaults that are asked together, apart from the others.

    `failures` in a row, of one vault alone; times: the clock's seconds.
    """

    vaults: tuple[str, ...]
    due_at: float
    doubted_until: float
    failures: int = 0


class Trouble:
    """`clock`: seconds that only rise."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._group_of: dict[str, Group] = {}

    def __contains__(self, vault: str) -> bool:
        return vault in self._group_of

    @property
    def vaults(self) -> frozenset[str]:
        return frozenset(self._group_of)

    def suspect(self, vaults: Iterable[str]) -> Group:
        """One of these made a batch fail."""
        now = self._clock()
        return self._keep(Group(tuple(vaults), now, now + DOUBT_S))

    def due(self, among: Collection[str]) -> deque[Group]:
        """The groups of any of these vaults that are due, the one that waits longest first."""
        now = self._clock()
        found = {
            id(group): group for vault in among if (group := self._group_of.get(vault)) is not None
        }
        return deque(
            sorted(
                (group for group in found.values() if group.due_at <= now),
                key=lambda group: group.due_at,
            )
        )

    def answered(self, group: Group) -> None:
        now = self._clock()
        group.failures, group.due_at = 0, now
        if now >= group.doubted_until:
            for vault in group.vaults:
                del self._group_of[vault]

    def failed(self, group: Group, *, is_near: bool) -> list[Group]:
        """The two halves of it, which are due at once; a vault alone waits."""
        if len(group.vaults) > 1:
            half = len(group.vaults) // 2
            return [self.suspect(part) for part in (group.vaults[:half], group.vaults[half:])]
        self.waits(group.vaults[0], is_near=is_near)
        return []

    def waits(self, vault: str, *, is_near: bool) -> None:
        """This vault alone is at fault: told once, and looked at again later, each time twice as
        late.
        """
        now = self._clock()
        was = self._group_of.get(vault)
        failures = 1 if was is None or len(was.vaults) > 1 else was.failures + 1
        if failures == 1:
            log.error("vault cannot be read", vault=vault)
        wait_s = min(
            FIRST_WAIT_S * 2 ** min(failures - 1, 16), MOST_WAIT_NEAR_S if is_near else MOST_WAIT_S
        )
        self._leave(vault)
        self._keep(Group((vault,), now + wait_s, now + DOUBT_S, failures))

    def forget_others(self, watched: Collection[str]) -> None:
        """Vaults that are watched no more."""
        for vault in self.vaults - frozenset(watched):
            self._leave(vault)

    def _leave(self, vault: str) -> None:
        group = self._group_of.pop(vault, None)
        if group is not None:
            group.vaults = tuple(one for one in group.vaults if one != vault)

    def _keep(self, group: Group) -> Group:
        for vault in group.vaults:
            self._group_of[vault] = group
        return group
