"""What an order moves the price by, in whole hundredths of a basis point (docs/fund.md#impact).

    impact = max(walk of the book, Y * sigma_day * sqrt(Q / V_day)),  Y = 1

Laws
- Integers alone; every division rounds against the follower, so that no figure is below the exact
  one by any amount, and above it by less than one hundredth of a basis point.
- A larger order never has a smaller impact.
- Unknown is None: a book that ends before the order has no walk.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, lcm, prod
from typing import Final

BPS_E2_ONE: Final = 1_000_000  # 100 % in hundredths of a basis point
Y: Final = 1  # of the square-root law, published (docs/fund.md#impact)


@dataclass(frozen=True, slots=True)
class Rung:
    """`usdc_e6` of the book can be taken at prices no further than `offset_bps_e2` from the mid."""

    offset_bps_e2: int
    usdc_e6: int


@dataclass(frozen=True, slots=True)
class BookLadder:
    """One side of a book, the nearest rung first; each rung has what the ones before it lack.

    Errors: ValueError for rungs that do not rise, or of less than nothing.
    """

    is_buy: bool  # it is bought from: prices rise away from the mid
    rungs: tuple[Rung, ...]

    def __post_init__(self) -> None:
        offsets = [rung.offset_bps_e2 for rung in self.rungs]
        if any(after <= before for before, after in pairwise(offsets)) or any(
            rung.usdc_e6 < 0 or not 0 <= rung.offset_bps_e2 < BPS_E2_ONE for rung in self.rungs
        ):
            raise ValueError("rungs rise from the mid outwards, and hold 0 or more")

    @property
    def total_usdc_e6(self) -> int:
        return sum(rung.usdc_e6 for rung in self.rungs)

    def price_of(self, rung: Rung) -> int:
        """The rung's price, 1_000_000 being the mid."""
        return BPS_E2_ONE + (rung.offset_bps_e2 if self.is_buy else -rung.offset_bps_e2)


def walk_bps_e2(ladder: BookLadder, amount_usdc_e6: int) -> int | None:
    """What taking `amount_usdc_e6` from the ladder costs against the mid, rounded up.

    The mean price is the amount over what it buys, so that each rung counts by amount / price.
    None: the ladder ends before.
    """
    if amount_usdc_e6 > ladder.total_usdc_e6:
        return None
    if amount_usdc_e6 <= 0:
        return 0
    prices = [ladder.price_of(rung) for rung in ladder.rungs]
    common, left, bought = lcm(*prices), amount_usdc_e6, 0
    for rung, price in zip(ladder.rungs, prices, strict=True):
        taken = min(left, rung.usdc_e6)
        bought += taken * (common // price)
        left -= taken
    mean, paid = (amount_usdc_e6 * common), bought
    # |mean / paid - 1_000_000|, rounded up
    off = mean - BPS_E2_ONE * paid if ladder.is_buy else BPS_E2_ONE * paid - mean
    return -(-off // paid)


def root_bps_e2(amount_usdc_e6: int, volume_usdc_e6: int, sigma_bps_e2: int) -> int:
    """Y * sigma * sqrt(Q / V), rounded up: the smallest whole n with n^2 * V >= (Y * sigma)^2 * Q.

    Errors: ValueError without a volume.
    """
    if volume_usdc_e6 <= 0:
        raise ValueError("a day without volume has no square-root law")
    square = -(-prod((Y, Y, sigma_bps_e2, sigma_bps_e2, amount_usdc_e6)) // volume_usdc_e6)
    return 0 if square <= 0 else isqrt(square - 1) + 1


def impact_bps_e2(
    ladder: BookLadder | None,
    amount_usdc_e6: int,
    volume_usdc_e6: int | None,
    sigma_bps_e2: int | None,
) -> int | None:
    """The larger of the two; None where one of them is unknown."""
    walk = None if ladder is None else walk_bps_e2(ladder, amount_usdc_e6)
    if walk is None or sigma_bps_e2 is None or not volume_usdc_e6:
        return None
    return max(walk, root_bps_e2(amount_usdc_e6, volume_usdc_e6, sigma_bps_e2))
