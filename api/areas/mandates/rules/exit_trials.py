"""How much of a position its venue pays out now: the exit itself is tried, with nothing sent.

A venue's own word does not do: some answer `maxWithdraw` with 0 although they pay. Where the exit of
everything fails, parts are tried, down to 1/256 of the position:

    units   0 ---|---|---|---|---|---|---|---|--- all      sixteenths: one pays, the next does not
                         |-|-|-|-|                         then sixteenths of that sixteenth
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

PARTS = 16
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Payable:
    """The most units whose exit succeeds now, and the USDC base units that it brings."""

    units: int
    usdc_e6: int


Try = Callable[[Sequence[int]], Sequence[int | None]]


def payable(units: int, tried: Try) -> Payable:
    """`tried`: what the exit of so many units brings, None where it fails; asked at most 3 times.

    Errors: those of `tried`.
    """
    (paid,) = tried([units])
    if paid is not None:
        return Payable(units, paid)
    found, fails_at = Payable(0, 0), units
    for _ in range(ROUNDS):
        between = range(found.units, fails_at, max(1, (fails_at - found.units) // PARTS))[1:]
        for part, brings in zip(between, tried(between) if between else (), strict=True):
            if brings is None:
                fails_at = part
                break
            found = Payable(part, brings)
    return found
