"""Settings of the scanner (docs/operations.md)."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import NoDecode

from core.limits import count

_NAME = re.compile("[a-z]{2,32}")


class MarketSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Scanner
    venues: Annotated[list[str], NoDecode] = Field(
        default=["sim"],
        description="exchanges that the scanner reads, by their ids with commas; sim: simulated ones",
    )
    sim_listings: int = count(500, "pairs that the simulated exchanges list", 50, 20_000)
    bursts_at_once: int = count(
        4, "microburst captures of one exchange at the same time; 0: none", 0, 50
    )
    scanner_watchdog_s: int = count(
        120, "seconds without a sign of the scanner's loop until its process ends", 30, 3_600
    )

    @field_validator("venues", mode="before")
    @classmethod
    def _venues_are_written_with_commas(cls, value: Any) -> Any:
        names = value.split(",") if isinstance(value, str) else value
        found = [name.strip() for name in names if name.strip()]
        if not all(_NAME.fullmatch(name) for name in found):
            raise ValueError("write ids of exchanges with commas, such as kraken,upbit, or sim")
        return found
