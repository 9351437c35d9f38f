"""Every fee of the service.

A price that is charged is read from here and nowhere else; GET /prices shows it all.

`credits` or `usdc_e6` None: the fee can't be paid that way. Source: docs/credits.md#prices,
docs/rules.md#figures-in-settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.money import UsdcE6

PAYOUT_POINT_PRICE: Final = 20  # credits an approved point

# Calls per key and UTC day as the specification publishes them; what is enforced is a setting
# (docs/rules.md#calls-per-day).
PUBLISHED_OF_PLANS: Final = {"free": 2_000, "plus": 5_000, "pro": 10_000}
PUBLISHED_OF_TIERS: Final = {"free": 100, "tier_1": 5_000, "tier_2": 50_000}


class FeeStatus(StrEnum):
    """Whether a call is charged today."""

    CHARGING = "charging"
    NOT_CHARGED_YET = "not_charged_yet"


@dataclass(frozen=True, slots=True)
class Price:
    key: str
    credits: int | None
    usdc_e6: UsdcE6 | None
    status: FeeStatus


def _price(
    key: str,
    in_credits: int | None,
    usdc_e6: int | None = None,
    status: FeeStatus = FeeStatus.NOT_CHARGED_YET,
) -> Price:
    return Price(key, in_credits, None if usdc_e6 is None else UsdcE6(usdc_e6), status)


PRICES: Final[Mapping[str, Price]] = {
    price.key: price
    for price in (
        _price("playbook_read", 1, 10_000, FeeStatus.CHARGING),
        _price("live_signal_read", 10, 100_000, FeeStatus.CHARGING),
        _price("live_signal_plan", 10, status=FeeStatus.CHARGING),
        _price("rooms_first_post", 5, status=FeeStatus.CHARGING),
        _price("subscription_tier_1_month", 10_000, status=FeeStatus.CHARGING),
        _price("subscription_tier_2_month", 25_000, status=FeeStatus.CHARGING),
    )
}
