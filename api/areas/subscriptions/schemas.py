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
    tier: Bought = Field(description="the tier to subscribe to: 1 or 2")
    months: Months = Field(description="months of 30 days each; an upgrade adds no time")


class SubscribeTier(PreviewTier):
    max_credits: Count | None = Field(default=None, description="the most that it may cost")
    preview_id: Annotated[str, FreeText(64, exact=True)] | None = Field(
        default=None, description="id of a preview whose price you accept; usable once"
    )


class TierPeriod(AnswerBody):
    kind: PurchaseKind
    tier: TierNumber
    months: int = Field(
        description="months added; 0 for an upgrade, which converts the remaining time to the new "
        "tier"
    )
    price_credits: int
    starts_at: InstantText
    until: InstantText = Field(description="end of the period (exclusive)")


class TierPreview(TierPeriod):
    preview_id: str = Field(description="pass it to subscribe to pay this price")
    expires_at: str
    available_credits: int
    shortfall_credits: int = Field(description="credits that you lack to pay it now")


class TierBought(TierPeriod):
    ok: Literal[True]
    made_at: str
    current_tier: TierNumber = Field(description="tier now in force; a downgrade begins later")
    calls_per_day: int = Field(description="calls per day allowed from the next call on")


class NextTier(AnswerBody):
    tier: TierNumber
    starts_at: str


class TargetUsage(AnswerBody):
    active: int
    paused: int = Field(
        description="targets that are stored but not scanned: the tier has ended, or allows fewer"
    )
    limit: int


class ReportUsage(AnswerBody):
    today: int = Field(description="distinct PDF reports ordered this UTC day")
    limit: int


class SubscriptionAccount(AnswerBody):
    status: Literal["none", "active", "expired"]
    tier: TierNumber
    tier_until: str | None = Field(description="when the current tier ends (exclusive); null: Free")
    until: str | None = Field(description="when everything bought ends or has ended")
    next: NextTier | None = Field(description="the tier that follows, if one was bought")
    calls_per_day: int
    targets: TargetUsage
    reports: ReportUsage
    purchases: list[TierPeriod] = Field(description="at most 20 purchases, newest first")
