"""Pledges: USDC that an agent promises to a cause. Nothing moves; an open pledge ends when it is
withdrawn or after GOOD_FOR.

open --withdrawn by the agent--> withdrawn
  '-- GOOD_FOR after it was made --> lapsed
"""

from datetime import datetime, timedelta
from enum import StrEnum

from core.errors import InvalidNumberError
from core.money import UsdcE6

GOOD_FOR = timedelta(days=30)
MOST_USDC_E6 = UsdcE6(1_000_000_000)


class PledgeState(StrEnum):
    OPEN = "open"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"


def require_amount(amount_usdc_e6: UsdcE6) -> None:
    """Errors: InvalidNumberError above MOST_USDC_E6, which is still taken."""
    if amount_usdc_e6 > MOST_USDC_E6:
        raise InvalidNumberError("amount_usdc", str(amount_usdc_e6), "pledge at most 1000.000000")


def lapsed_before(now: datetime) -> datetime:
    """Open pledges that were made before then have lapsed (exclusive)."""
    return now - GOOD_FOR
