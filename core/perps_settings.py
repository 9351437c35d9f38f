"""The settings of the perpetuals venue (docs/perpetuals.md). Without HL_URL the leg is off."""

from pydantic import BaseModel, ConfigDict, Field

from core.environment import Account, optional
from core.limits import count


class PerpsSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Perpetuals venue
    hl_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/?#@]+$",
        description="http(s)://host:port of the perpetuals venue's API; none: the leg is off",
    )
    hl_exit_allowance_bps: int = count(
        100, "how far from the mid price a closing order may fill, basis points", 1, 2_000
    )
    hl_operator_account: Account | None = optional(
        "the operator's account at the perpetuals venue; none: its order routes are off"
    )
    hl_order_usdc: int = count(
        1_000, "the largest amount that one order of the operator may fill, USDC", 0, 10**9
    )
    hl_orders_usdc_per_day: int = count(
        10_000, "what orders of the operator may open in a UTC day, USDC", 0, 10**9
    )
