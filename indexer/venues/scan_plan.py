"""Which books of a venue are due in a minute (docs/market-store.md#turns). Pure.

budget 600 a minute, 40 targets, 2,000 others:  each minute 40 targets + 500 others in turn
                                                every_s: 60 of targets, 240 of others
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil

MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class DueBooks:
    """Native ids, targets first. `every_s`: how often each is looked at."""

    targets: tuple[str, ...]
    others: tuple[str, ...]
    target_every_s: int
    other_every_s: int

    @property
    def all(self) -> tuple[str, ...]:
        return self.targets + self.others

    def every_s(self, native_id: str) -> int:
        return self.target_every_s if native_id in self.targets else self.other_every_s


def due(listed: Sequence[str], targets: Collection[str], budget: int, minute: datetime) -> DueBooks:
    """`listed`: in an order that stays. The turn follows from the minute alone, so that a scanner
    that takes over goes on where the other one was.
    """
    number = int(minute.timestamp()) // MINUTE_S
    wanted = set(targets)
    first = [one for one in listed if one in wanted]
    rest = [one for one in listed if one not in wanted]
    chosen, target_turns = _turn(first, max(budget, 1), number)
    left = max(budget - len(chosen), 0)
    others, other_turns = _turn(rest, left, number)
    return DueBooks(tuple(chosen), tuple(others), target_turns * MINUTE_S, other_turns * MINUTE_S)


def _turn(names: Sequence[str], budget: int, number: int) -> tuple[list[str], int]:
    """Those of this minute, and in how many minutes all have had their turn."""
    if not names or not budget:
        return [], 1
    turns = ceil(len(names) / budget)
    return list(names[number % turns :: turns]), turns
