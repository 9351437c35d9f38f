"""The settings of the perpetuals venue (docs/perpetuals.md). Without HL_URL the leg is off."""

from pydantic import BaseModel, ConfigDict, Field

from core.limits import count


class PerpsSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    hl_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/?#@]+$",
        description="http(s)://host:port of the perpetuals venue's API; none: the leg is off",
    )
    hl_exit_allowance_bps: int = count(
        100, "how far from the mid price a closing order may fill, basis points", 1, 2_000
    )
