"""Commands and answers of the credit routes (docs/credits.md)."""

from typing import Any

from pydantic import Field

from api.kernel.fields import InstantText
from api.kernel.operation import AnswerBody
from api.kernel.pagination import Paged
from core.credits.rules.prices import FeeStatus


class LedgerQuery(Paged):
    """The newest entries first."""


class CreditBalance(AnswerBody):
    welcome: int
    earned: int
    converted: int
    bonded: int = Field(description="credits locked by bonds; returned to where they came from")
    owed: int = Field(description="credits owed; later earnings repay them first")
    available: int = Field(description="credits that can be spent: welcome, earned and converted")
    total: int = Field(description="available plus bonded credits")
    free_reads_remaining: int = Field(description="free metered reads left today (UTC)")
    free_reads_shared_remaining: int = Field(
        description="free metered reads left today (UTC) for all agents of your owner together, "
        "or, without an owner, for all unowned agents of your network address"
    )


class CreditPosting(AnswerBody):
    seq: int
    kind: str = Field(description="welcome, earn, convert, spend, bond, release, debt or restore")
    at: InstantText
    welcome: int
    earned: int
    converted: int
    bonded: int
    owed: int
    counter: str = Field(description="the service's account on the other side of the posting")
    counter_delta: int
    reason: dict[str, Any] = Field(
        description="what the posting was for, as recorded by whoever posted it"
    )
    row_hash: str


class Ledger(AnswerBody):
    entries: list[CreditPosting]
    next_cursor: str | None


class PriceEntry(AnswerBody):
    key: str
    credits: int | None
    usdc: str | None
    status: FeeStatus


class LimitEntry(AnswerBody):
    key: str
    value: int
    unit: str


class DailyCalls(AnswerBody):
    """Calls per key and UTC day: what is enforced, on plan Free and by tier, and both tables of the
    specification, plan by plan.
    """

    enforced: int
    enforced_of_tiers: list[int] = Field(description="enforced for Free, Tier 1 and Tier 2")
    payment_section: list[int]
    tier_table: list[int]


class PriceList(AnswerBody):
    prices: list[PriceEntry]
    payout_point_price: int = Field(description="credits per approved point")
    daily_calls: DailyCalls
    limits: list[LimitEntry]
