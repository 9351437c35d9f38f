"""Days summed by window: those before today, which are over, and those since.

    days before today --> Past (kept until the day is over) \\
                                                             } figures of each window
    days since, today's mostly --> Sums                     /

Laws
- A window is so many UTC days, today included; "since" is all of them.
- Paths are joined in one order: the days before today, the days since, what is out. So a record that
  is made with a past that was kept is the one that is made from every day.

Source: docs/hall.md#windows.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from api.areas.hall.rules.path import ONE, STILL, Path, joined, step

WINDOWS: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "since": None}


class CountedDay(NamedTuple):
    """What of a mandate's day counts; amounts in USDC base units.

    `weight`: the capital that its return was made of (`weight_of`). `grown`: that times the growth of
    its worth, in parts of 1e12, without what an owner made of itself. `path`: growth, high, low and
    kept, with it.
    """

    day: date
    result: int
    trades: int
    weight: int
    worth: int
    grown: int
    path: tuple[int, int, int, int]
    said_trades: int = 0
    said_result: int = 0
    said_fees: int = 0


def weight_of(result: int, growth: int, least: int, capital: int) -> int:
    """The capital that a day's result was made of, so that its return times that is the result:
    what came in after a gain makes the gain no heavier.

    USDC base units; within the least and the most that the mandate had that day.
    """
    if growth == ONE or not least:
        return capital
    return min(capital, max(least, result * ONE // (growth - ONE)))


def grown(weight: int, growth: int, off: int) -> int:
    """A day's weight times its growth, in parts of 1e12, without so much that does not count."""
    return max(0, weight * growth - off * ONE) if off else weight * growth


class Sums(NamedTuple):
    """Of one mandate's days in a window. `weight`: of all days together; 0: there was no capital."""

    result: int = 0
    trades: int = 0
    weight: int = 0
    said_trades: int = 0
    said_result: int = 0
    said_fees: int = 0
    path: Path = STILL

    def then(self, after: "Sums") -> "Sums":
        if after is NOTHING:
            return self
        return Sums(
            self.result + after.result,
            self.trades + after.trades,
            self.weight + after.weight,
            self.said_trades + after.said_trades,
            self.said_result + after.said_result,
            self.said_fees + after.said_fees,
            self.path.then(after.path),
        )


NOTHING: Final = Sums()


@dataclass(frozen=True, slots=True)
class MandatePast:
    """One mandate's days before today: by window, and its worth at the end of the last one."""

    windows: Mapping[str, Sums]
    worth: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """The days before today of all mandates of a record, by mandate; `together`: by window the path
    of those that count, as one.
    """

    mandates: Mapping[int, MandatePast]
    together: Mapping[str, Path]


Days = Mapping[int, Sequence[CountedDay]]  # by mandate, rising


def past_of(days: Days, funded: Iterable[int], today: date) -> Past:
    """`funded`: the mandates that count together."""
    before = {
        mandate_id: listed[: bisect_left(listed, today, key=_day)]
        for mandate_id, listed in days.items()
    }
    mandates = {
        mandate_id: MandatePast(_by_window(listed, today), listed[-1].worth if listed else 0)
        for mandate_id, listed in before.items()
    }
    at, paths = together({mandate_id: before[mandate_id] for mandate_id in funded}, {})
    return Past(mandates, _paths_by_window(at, paths, today))


def days_since(days: Sequence[CountedDay], today: date) -> Sequence[CountedDay]:
    """Those that are not before today."""
    return days[bisect_left(days, today, key=_day) :]


def summed(days: Sequence[CountedDay], last: Sums = NOTHING) -> Sums:
    """These days, rising, and then `last`."""
    if not days:
        return last
    result, trades, weight, said_trades, said_result, said_fees, path = last
    for _, made, traded, had, _, _, _, day_trades, day_result, day_fees in days:
        result += made
        trades += traded
        weight += had
        said_trades += day_trades
        said_result += day_result
        said_fees += day_fees
    path = joined((day.path for day in reversed(days)), path)
    return Sums(result, trades, weight, said_trades, said_result, said_fees, path)


def _by_window(days: Sequence[CountedDay], today: date) -> dict[str, Sums]:
    """Each day is looked at once, since windows grow."""
    found, sums, until = dict[str, Sums](), NOTHING, len(days)
    for name, size in WINDOWS.items():
        first = 0 if size is None else bisect_right(days, _before(today, size), key=_day)
        sums = summed(days[first:until], sums)
        found[name], until = sums, first
    return found


_Paths = Sequence[tuple[int, int, int, int]]


def _paths_by_window(days: Sequence[date], paths: _Paths, today: date) -> dict[str, Path]:
    found, path, until = dict[str, Path](), STILL, len(days)
    for name, size in WINDOWS.items():
        first = 0 if size is None else bisect_right(days, _before(today, size))
        path = joined(reversed(paths[first:until]), path)
        found[name], until = path, first
    return found


def _before(today: date, size: int) -> date:
    """The last day that the window leaves out."""
    return today - timedelta(days=size)


def together(days: Days, held: Mapping[int, int]) -> tuple[list[date], list[Path]]:
    """Mandates day by day as one, each by its capital of the day. `held`: their worth before."""
    listed = sorted(
        ((day, mandate_id) for mandate_id, some in days.items() for day in some), key=_day_of_listed
    )
    now = dict(held)
    total, at, paths = sum(now.values()), list[date](), list[Path]()
    for its_day, of_day in groupby(listed, key=_day_of_listed):
        idle, capital, made, worth = total, 0, 0, 0
        for day, mandate_id in of_day:
            idle -= now.get(mandate_id, 0)
            capital += day.weight
            made += day.grown
            worth += day.worth
            now[mandate_id] = day.worth
        base = idle + capital
        at.append(its_day)
        paths.append(step((idle * ONE + made) // base) if base > 0 else STILL)
        total = idle + worth
    return at, paths


_day = itemgetter(0)  # of a counted day


def _day_of_listed(listed: tuple[CountedDay, int]) -> date:
    return listed[0][0]
