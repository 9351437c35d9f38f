"""Which agents and pools have no free read left, as this process saw it: until the UTC day ends
that stays so, and nobody asks again.

Forgotten at the turn of the day and with the process; what a database lost in a crash is given back
only when the day ends.
"""

from dataclasses import dataclass, field
from datetime import date


@dataclass(slots=True)
class UsedUp:
    """(name of a count, its limit) of one day.

    Threads may share it: a race asks the database once more, no more than that.
    """

    _day: date = date.min
    _seen: set[tuple[str, int]] = field(default_factory=set)

    def has(self, name: str, day: date, limit: int) -> bool:
        return day == self._day and (name, limit) in self._seen

    def add(self, name: str, day: date, limit: int) -> None:
        if day > self._day:
            self._seen, self._day = set(), day
        if day == self._day:
            self._seen.add((name, limit))
