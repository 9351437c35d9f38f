"""Points of approved work, and what they pay (docs/payouts.md#points).

Law: points are whole tenths inside, so that 0.5, 0.8 and 0.3 are exact; a tenth pays two credits.
"""

from typing import Final, NewType

from core.credits.rules.prices import PAYOUT_POINT_PRICE

Tenths = NewType("Tenths", int)

TENTHS_A_POINT: Final = 10
CREDITS_A_TENTH: Final = PAYOUT_POINT_PRICE // TENTHS_A_POINT
STANDING_CLAIMS: Final = 3  # verified task claims that make standing, Bronze


def credits_of(tenths: int) -> int:
    """Credits that these points pay: 5 tenths are 10."""
    return tenths * CREDITS_A_TENTH


def points_text(tenths: int) -> str:
    """Points as answers write them, with one decimal: 5 is "0.5", -30 is "-3.0"."""
    whole, rest = divmod(abs(tenths), TENTHS_A_POINT)
    return f"{'-' if tenths < 0 else ''}{whole}.{rest}"
