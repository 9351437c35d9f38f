"""Whose free reads are used up, as this process saw it: until the UTC day ends they stay so, and the database need not be asked again.

Forgotten at the turn of the day and with the process; what a database lost in a crash is given back only when the day ends.
"""

from dataclasses import dataclass, field
from datetime import date


@dataclass(slots=True)
class UsedUp:
    """(account, limit) of one day. Threads may share it: a race asks the database once more, no more than that."""

    _day: date = date.min
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def has(self, account_id: int, day: date, limit: int) -> bool:
        return day == self._day and (account_id, limit) in self._seen

    def add(self, account_id: int, day: date, limit: int) -> None:
        if day > self._day:
            self._seen, self._day = set(), day
        if day == self._day:
            self._seen.add((account_id, limit))
