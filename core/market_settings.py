"""Settings of the scanner (docs/operations.md)."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import NoDecode

from core.limits import count


class MarketSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    venues: Annotated[list[str], NoDecode] = Field(
        default=["sim"],
        description="exchanges that the scanner reads, by their ids with commas; sim: simulated ones",
    )
    sim_listings: int = count(500, "pairs that the simulated exchanges list", 50, 20_000)
    scanner_watchdog_s: int = count(
        120, "seconds without a sign of the scanner's loop until its process ends", 30, 3_600
    )

    @field_validator("venues", mode="before")
    @classmethod
    def _venues_are_written_with_commas(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value
