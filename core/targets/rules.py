"""Priority targets: pairs that a subscriber has scanned each minute (docs/subscriptions.md#targets).

    the account's targets by the time they were added    1 ... limit of its tier | the others
                                                         active                  | paused

Laws
- A target is paused, never deleted, when the tier ends or has room for fewer; the oldest stay.
- High-frequency captures are Tier 2's; each target has as many a UTC day as it asks for.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.subscriptions.rules import Tier

MOST_CAPTURES: Final = 100


class TargetState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class TargetLimits:
    """Active targets by tier."""

    tier_1: int
    tier_2: int

    def most(self, tier: Tier) -> int:
        return {Tier.FREE: 0, Tier.TIER_1: self.tier_1, Tier.TIER_2: self.tier_2}[tier]
