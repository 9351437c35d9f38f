"""The settings of sponsored buys (docs/sponsored-buys.md): what ETH costs."""

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SponsorSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Sponsored buys
    gas_eth_usd: Decimal | None = Field(
        default=None,
        gt=0,
        le=1_000_000,
        decimal_places=6,
        description="what 1 ETH costs in USD: what exchanges are held against, or the price itself; "
        "none: it is not known, and no sponsored buy is quoted",
    )
    gas_eth_source: Literal["market", "fixed"] = Field(
        default="market",
        description="what gas is reckoned in USDC by: market, the median over exchanges, within half "
        "and twice GAS_ETH_USD; fixed, GAS_ETH_USD itself",
    )
