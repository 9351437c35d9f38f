"""Which books of a venue are due in a minute (docs/market-store.md#turns), and the pace of its calls.

budget 600 a minute, 40 targets, 2,000 others:  each minute 40 targets + 500 others in turn
                                                every_s: 60 of targets, 240 of others
budget 600 a minute, 900 targets, 2,000 others: 450 targets + 150 others: a quarter is the others'
                                                every_s: 120 of targets, 840 of others
"""

import asyncio
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Final

MINUTE_S: Final = 60
OTHERS_SHARE: Final = (
    0.25  # of a minute's books: targets leave it to the others, however many there are
)


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
    that takes over goes on where the other one was. A budget below one is one; of one book a minute
    all have their turn alike.
    """
    number, budget = int(minute.timestamp()) // MINUTE_S, max(budget, 1)
    wanted = set(targets)
    first = [one for one in listed if one in wanted]
    rest = [one for one in listed if one not in wanted]
    kept = min(ceil(budget * OTHERS_SHARE), len(rest))
    if first and kept == budget:
        one, turns = _turn(first + rest, budget, number)
        targets_now, others_now = (
            tuple(n for n in one if (n in wanted) is is_so) for is_so in (True, False)
        )
        return DueBooks(targets_now, others_now, turns * MINUTE_S, turns * MINUTE_S)
    chosen, target_turns = _turn(first, budget - kept, number)
    others, other_turns = _turn(rest, budget - len(chosen), number)
    return DueBooks(tuple(chosen), tuple(others), target_turns * MINUTE_S, other_turns * MINUTE_S)


def _turn(names: Sequence[str], budget: int, number: int) -> tuple[list[str], int]:
    """Those of this minute, and in how many minutes all have had their turn."""
    if not names:
        return [], 1
    turns = ceil(len(names) / budget)
    return list(names[number % turns :: turns]), turns


class CallPace:
    """So many calls a minute, whoever makes them. `pace_s`: between the beginnings of two."""

    def __init__(self, pace_s: float) -> None:
        self._pace_s, self._next = pace_s, -math.inf

    async def take(self, count: int) -> None:
        """Wait for the turn of `count` calls."""
        now = asyncio.get_running_loop().time()
        at = max(self._next, now)
        self._next = at + count * self._pace_s
        await asyncio.sleep(at - now)
