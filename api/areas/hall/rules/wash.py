"""Trades of an owner with itself: they count for nothing, and what they seem to have made neither.

    one owner, one day, one target     mandate A bought 2, made 40     mandate B sold 3, made -45
    counted                            0 trades, 0 of the 40           0 trades, -45

Laws
- Two mandates of one owner that traded opposite ways at one target on one UTC day traded with each
  other. Whose agents they have does not matter.
- Their trades there do not count. Of a mandate's result of that day counts at most what all of them
  made together, and nothing when that is a loss; a loss of its own counts whole.

Source: docs/hall.md#trades-of-an-owner-with-itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Washed:
    """What of a mandate's day does not count."""

    trades: int = 0
    result_usdc_e6: int = 0


@dataclass(frozen=True, slots=True)
class TradedDay:
    """A day of one of an owner's mandates. `sides`: by target how often it bought and sold. `off`: what
    was judged of it so far.
    """

    mandate_id: int
    day: date
    result_usdc_e6: int
    sides: Mapping[str, Sequence[int]]
    off: Washed = Washed()


def judged_anew(days: Sequence[TradedDay]) -> list[tuple[TradedDay, Washed]]:
    """Those of one owner's mandates on one day of which something counts otherwise now."""
    if len(days) < 2 and all(one.off == Washed() for one in days):
        return []
    found = washed(days)
    new = ((one, found.get(one.mandate_id, Washed())) for one in days)
    return [(one, off) for one, off in new if off != one.off]


def washed(days: Iterable[TradedDay]) -> dict[int, Washed]:
    """By mandate, of one owner's mandates on one day; those without any are left out."""
    listed = list(days)
    by_target = defaultdict[str, dict[int, Sequence[int]]](dict)
    for one in listed:
        for target, sides in one.sides.items():
            by_target[target][one.mandate_id] = sides
    opposed = {target: by for target, by in by_target.items() if _is_opposed(by)}
    results = {one.mandate_id: one.result_usdc_e6 for one in listed}
    found = dict[int, Washed]()
    for one in listed:
        mine = [by for by in opposed.values() if one.mandate_id in by]
        if mine:
            together = sum(results[who] for who in set[int]().union(*mine))
            counted = min(one.result_usdc_e6, max(0, together))
            found[one.mandate_id] = Washed(
                trades=sum(sum(by[one.mandate_id]) for by in mine),
                result_usdc_e6=one.result_usdc_e6 - counted,
            )
    return found


def _is_opposed(by_mandate: Mapping[int, Sequence[int]]) -> bool:
    """Whether one bought and another sold."""
    buyers = {who for who, (bought, _) in by_mandate.items() if bought}
    sellers = {who for who, (_, sold) in by_mandate.items() if sold}
    return len(buyers | sellers) > 1 and bool(buyers) and bool(sellers)
