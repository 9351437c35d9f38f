"""What ETH costs in USDC, for the price of gas.

    market  the median over exchanges and 5 % more, where it is within half and twice the operator's figure
    fixed   the operator's own figure

Laws
- One exchange alone moves nothing: the median is of three or more, each looked at within minutes.
- What the market says is held against GAS_ETH_USD; neither takes the other's place unasked.
- Rounded up: it is what is charged by.
Source: docs/sponsored-buys.md#the-price-of-eth.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

from sqlalchemy.orm import Session

from core.market.price_views import LEAST_VENUES, eth_usd_median
from core.money import USDC_E6_PER_USDC, UsdcE6, usdc_text

MARGIN_PERCENT: Final = 105  # of the market's median: ETH may rise before the gas is paid
MOST_FACTOR: Final = (
    2  # how far the median may be from the operator's figure, inclusive, either way
)


class EthSource(StrEnum):
    """`market`: the exchanges that the service scans. `fixed`: set by the operator as GAS_ETH_USD."""

    MARKET = "market"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class EthInUsdc:
    """`source` is shown with whatever is reckoned by it. `as_of`: the oldest price in it; None: it is
    the operator's figure, which has no time.
    """

    usdc_e6_per_eth: UsdcE6
    source: EthSource
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class EthUnknown:
    """`why`: a clause that says what is missing."""

    why: str


@dataclass(frozen=True, slots=True)
class EthPrices:
    """As the settings GAS_ETH_USD and GAS_ETH_SOURCE say. `usd` None: the operator's figure is not
    set, and no price is known. `is_local`: the simulator's prices count.
    """

    usd: Decimal | None = None
    source: EthSource = EthSource.FIXED
    is_local: bool = False

    def now(self, session: Session, now: datetime) -> EthInUsdc | EthUnknown:
        is_fixed = self.source is EthSource.FIXED
        if self.usd is None:
            held = "" if is_fixed else ", which exchange prices are checked against"
            return EthUnknown(f"the operator has not set GAS_ETH_USD{held}")
        figure = int((self.usd * USDC_E6_PER_USDC).to_integral_value(ROUND_CEILING))
        if is_fixed:
            return EthInUsdc(UsdcE6(figure), EthSource.FIXED)
        return self._median(session, now, figure)

    def _median(self, session: Session, now: datetime, figure: int) -> EthInUsdc | EthUnknown:
        found = eth_usd_median(session, now)
        if found is None:
            return EthUnknown(f"fewer than {LEAST_VENUES} exchanges have a fresh price of it")
        if found.is_simulated and not self.is_local:
            return EthUnknown("the exchanges watched here are simulated")
        if not figure <= found.price_e6 * MOST_FACTOR <= figure * MOST_FACTOR**2:
            return EthUnknown(
                f"the median of {found.venues} exchanges is {usdc_text(found.price_e6)} USD, more "
                f"than {MOST_FACTOR} times away from the operator's figure of {usdc_text(figure)}"
            )
        charged = -(-found.price_e6 * MARGIN_PERCENT // 100)
        return EthInUsdc(UsdcE6(charged), EthSource.MARKET, found.as_of)
