"""What ETH costs in USDC, for the price of gas. A port: whoever knows a price implements it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from typing import Protocol

from sqlalchemy.orm import Session

from core.money import USDC_E6_PER_USDC, UsdcE6

FIXED = "fixed"  # the operator's own figure, GAS_ETH_USD


@dataclass(frozen=True, slots=True)
class EthPrice:
    """`source`: a name that is shown with whatever is reckoned by it."""

    usdc_e6_per_eth: UsdcE6
    source: str


class EthPrices(Protocol):
    def now(self, session: Session, now: datetime) -> EthPrice | None:
        """None: it is not known, or too old."""
        ...


@dataclass(frozen=True, slots=True)
class FixedEthPrice:
    """The figure of a setting, which is as good as whoever sets it; None: it is not set."""

    usd: Decimal | None

    def now(self, session: Session, now: datetime) -> EthPrice | None:
        if self.usd is None:
            return None
        base_units = (self.usd * USDC_E6_PER_USDC).to_integral_value(ROUND_CEILING)
        return EthPrice(UsdcE6(int(base_units)), FIXED)
