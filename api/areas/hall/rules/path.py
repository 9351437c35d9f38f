"""How a unit of value moved: growth, its high and low, and how much of a high was left at worst.

    1.00 -> 1.10 -> 0.99 -> 1.05        growth 1.05, high 1.10, low 0.99, kept 0.99 / 1.10 = 0.90

Laws
- Numbers are whole, in parts of 1e12, and rounded down; none is above a million (MOST).
- Paths that follow one another make one path, whatever they are cut into (`then`).

Source: docs/hall.md#returns.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

ONE: Final = 10**12
MOST: Final = 10**18  # no one grows a million-fold, and a bigint holds it
BPS: Final = 10_000


class Path(NamedTuple):
    """From 1 on, which counts as its first high and low. `kept`: the smallest share of a high that
    was left after it; 1 less the deepest fall.
    """

    growth: int = ONE
    high: int = ONE
    low: int = ONE
    kept: int = ONE

    def then(self, after: "Path") -> "Path":
        """This path, and from its end on the other."""
        if after is STILL:
            return self
        growth, high, low, kept = self
        later = growth * after[2] // ONE
        highest = min(MOST, growth * after[1] // ONE)
        return Path(
            min(MOST, growth * after[0] // ONE),
            highest if highest > high else high,
            later if later < low else low,
            min(kept, after[3], later * ONE // high),
        )

    @property
    def gain_bps(self) -> int:
        """Of the growth, to the nearest."""
        return _bps(self.growth - ONE)

    @property
    def fall_bps(self) -> int:
        """The deepest fall from a high, to the nearest: 0 to 10000."""
        return _bps(ONE - self.kept)


def _bps(share: int) -> int:
    return (2 * share * BPS + ONE) // (2 * ONE)


STILL: Final = Path()


def step(share: int) -> Path:
    """One move to so much of the value before, in parts of 1e12."""
    share = min(share, MOST)
    return Path(share, max(ONE, share), min(ONE, share), min(ONE, share))


def joined(paths: Iterable[tuple[int, int, int, int]], last: Path) -> Path:
    """These paths, the last one first, and then `last`: `then` for thousands of days."""
    growth, high, low, kept = last
    for before, highest, lowest, left in paths:
        later, above = before * low // ONE, before * high // ONE
        kept = min(kept, left, later * ONE // highest)
        high = above if above > highest else highest
        low = later if later < lowest else lowest
        growth = before * growth // ONE
        if high > MOST:
            growth, high = min(growth, MOST), MOST
    return Path(growth, high, low, kept)
