"""Which tier an account has, and what another period costs (docs/subscriptions.md).

    now ........ tier_2_until ........ until          Tier 2, then Tier 1, then Free
    now ........ until                                one tier alone

Laws
- A month is 30 days of UTC. A period ends at its `until` (exclusive): at that instant it is over.
- Preview and purchase ask one function for the price (`quote`).
- An upgrade pays the difference of the two tiers for the time that is held below the new one,
  rounded up to a credit; its end stays. Nobody gains by changing.
- Less than what is held begins when that ends; nothing is paid back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Final

from core.credits.rules.prices import PRICES

MONTH: Final = timedelta(days=30)
MOST_MONTHS: Final = 12
PREVIEW_KEPT: Final = timedelta(minutes=5)
_MICROSECOND: Final = timedelta(microseconds=1)


class Tier(IntEnum):
    """What an account is subscribed to; a higher one has all of those below."""

    FREE = 0
    TIER_1 = 1
    TIER_2 = 2

    @property
    def word(self) -> str:
        """`free`, `tier_1`, `tier_2`."""
        return self.name.lower()

    @property
    def says(self) -> str:
        """As sentences name it: `Tier 1`."""
        return "Free" if self is Tier.FREE else f"Tier {self.value}"


class PurchaseKind(StrEnum):
    NEW = "new"
    RENEWAL = "renewal"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"


@dataclass(frozen=True, slots=True)
class HeldTiers:
    """What an account holds: Tier 2 before `tier_2_until`, Tier 1 from then on before `until`.

    None: never held. `purchases`: how many there were.
    """

    tier_2_until: datetime | None = None
    until: datetime | None = None
    purchases: int = 0

    def tier_at(self, now: datetime) -> Tier:
        if self.tier_2_until is not None and now < self.tier_2_until:
            return Tier.TIER_2
        if self.until is not None and now < self.until:
            return Tier.TIER_1
        return Tier.FREE

    def ends_at(self, now: datetime) -> datetime:
        """When all that is held now has ended; `now` itself where nothing is."""
        return now if self.until is None else max(now, self.until)

    def tier_2_ends_at(self, now: datetime) -> datetime:
        """The same of Tier 2 alone."""
        return now if self.tier_2_until is None else max(now, self.tier_2_until)


NOTHING_HELD: Final = HeldTiers()


@dataclass(frozen=True, slots=True, kw_only=True)
class TierQuote:
    """What a purchase costs and gives: the tier from `starts_at` (inclusive) until `until`
    (exclusive).

    `months`: that are added at the end; 0 of an upgrade, which adds none.
    """

    kind: PurchaseKind
    tier: Tier
    months: int
    price_credits: int
    starts_at: datetime
    until: datetime
    after: HeldTiers


def month_price(tier: Tier) -> int:
    """Credits a month; 0 of Free."""
    if tier is Tier.FREE:
        return 0
    price = PRICES[f"subscription_{tier.word}_month"].credits
    assert price is not None, "a subscription is paid in credits"
    return price


def quote(held: HeldTiers, tier: Tier, months: int, now: datetime) -> TierQuote:
    """What `months` of this tier cost at this instant.

    The time that is held at a lower tier is upgraded, whatever `months` says; without such time the
    months follow what is held.
    """
    end, tier_2_end = held.ends_at(now), held.tier_2_ends_at(now)
    if tier is Tier.TIER_2 and tier_2_end < end:
        price = upgrade_price(end - tier_2_end)
        after = HeldTiers(end, end, held.purchases + 1)
        return _quote(PurchaseKind.UPGRADE, tier, 0, price, (tier_2_end, end), after)
    until = end + months * MONTH
    after = HeldTiers(
        until if tier is Tier.TIER_2 else held.tier_2_until, until, held.purchases + 1
    )
    kind = _kind(held.tier_at(now), tier)
    return _quote(kind, tier, months, months * month_price(tier), (end, until), after)


def upgrade_price(left: timedelta) -> int:
    """What turning this time of Tier 1 into Tier 2 costs, rounded up to a credit."""
    difference = month_price(Tier.TIER_2) - month_price(Tier.TIER_1)
    return -(-difference * (left // _MICROSECOND) // (MONTH // _MICROSECOND))


def _kind(current: Tier, tier: Tier) -> PurchaseKind:
    if current is Tier.FREE:
        return PurchaseKind.NEW
    return PurchaseKind.RENEWAL if current is tier else PurchaseKind.DOWNGRADE


def _quote(
    kind: PurchaseKind,
    tier: Tier,
    months: int,
    price: int,
    period: tuple[datetime, datetime],
    after: HeldTiers,
) -> TierQuote:
    return TierQuote(
        kind=kind,
        tier=tier,
        months=months,
        price_credits=price,
        starts_at=period[0],
        until=period[1],
        after=after,
    )
