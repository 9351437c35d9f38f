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
    bonded: int = Field(description="held by bonds; given back to where it came from")
    owed: int = Field(description="debts; later earnings repay them first")
    available: int = Field(description="what can be spent: welcome, earned and converted")
    total: int = Field(description="available and bonded")
    free_reads_remaining: int = Field(description="metered reads that are still free today (UTC)")
    free_reads_shared_remaining: int = Field(
        description="the same of all agents of your owner, or, without one, of all unowned agents of "
        "your network address together"
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
    counter: str = Field(description="the service's account on the other side")
    counter_delta: int
    reason: dict[str, Any] = Field(
        description="what it was for, as the one who posted it wrote it down"
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
    """Calls a key and UTC day: what is enforced on plan Free, and by tier; and both tables of the
    specification, plan by plan.
    """

    enforced: int
    enforced_of_tiers: list[int] = Field(description="of Free, Tier 1 and Tier 2")
    payment_section: list[int]
    tier_table: list[int]


class PriceList(AnswerBody):
    prices: list[PriceEntry]
    payout_point_price: int = Field(description="credits an approved point")
    daily_calls: DailyCalls
    limits: list[LimitEntry]
