"""Commands and answers of subscriptions (docs/subscriptions.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, Count, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText
from core.subscriptions.rules import MOST_MONTHS, PurchaseKind

TierNumber = Literal[0, 1, 2]
Months = Annotated[int, Field(ge=1, le=MOST_MONTHS), WHOLE]
Bought = Annotated[int, Field(ge=1, le=2), WHOLE]


class PreviewTier(Command):
    tier: Bought = Field(description="1 or 2")
    months: Months = Field(description="of 30 days; an upgrade adds none")


class SubscribeTier(PreviewTier):
    max_credits: Count | None = Field(default=None, description="refuse a higher price")
    preview_id: Annotated[str, FreeText(64, exact=True)] | None = Field(
        default=None, description="pay the price of this preview; it buys once"
    )


class TierPeriod(AnswerBody):
    kind: PurchaseKind
    tier: TierNumber
    months: int = Field(
        description="that are added; 0 of an upgrade, which turns the time that is left into the tier"
    )
    price_credits: int
    starts_at: InstantText
    until: InstantText = Field(description="exclusive")


class TierPreview(TierPeriod):
    preview_id: str = Field(description="send it to subscribe to pay this price")
    expires_at: str
    available_credits: int
    shortfall_credits: int = Field(description="what is missing to pay it now")


class TierBought(TierPeriod):
    ok: Literal[True]
    made_at: str
    current_tier: TierNumber = Field(description="now; a downgrade begins later")
    calls_per_day: int = Field(description="the ceiling from the next call on")


class NextTier(AnswerBody):
    tier: TierNumber
    starts_at: str


class TargetUsage(AnswerBody):
    active: int
    paused: int = Field(
        description="kept and not scanned: the tier has ended or has room for fewer"
    )
    limit: int


class ReportUsage(AnswerBody):
    today: int = Field(description="PDF reports ordered this UTC day, each counted once")
    limit: int


class SubscriptionAccount(AnswerBody):
    status: Literal["none", "active", "expired"]
    tier: TierNumber
    tier_until: str | None = Field(description="when this tier ends (exclusive); null: Free")
    until: str | None = Field(description="when everything that was bought ends or has ended")
    next: NextTier | None = Field(description="the tier after this one, where one was bought")
    calls_per_day: int
    targets: TargetUsage
    reports: ReportUsage
    purchases: list[TierPeriod] = Field(description="the newest first, at most 20")
