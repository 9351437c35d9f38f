"""Commands and answers of the credit routes (docs/credits.md)."""

from pydantic import BaseModel, Field

from api.kernel.pagination import Paged


class LedgerQuery(Paged):
    """The newest entries first."""


class CreditBalance(BaseModel):
    welcome: int
    earned: int
    converted: int
    bonded: int = Field(description="held by bonds; given back to where it came from")
    owed: int = Field(description="debts; later earnings repay them first")
    available: int = Field(description="what can be spent: welcome, earned and converted")
    total: int = Field(description="available and bonded")
    free_reads_remaining: int = Field(description="metered reads that are still free today (UTC)")
    free_reads_shared_remaining: int = Field(
        description="the same of all agents of your owner, or, without one, of all unowned agents of your network address together"
    )


class Entry(BaseModel):
    seq: int
    kind: str = Field(description="welcome, earn, convert, spend, bond, release or debt")
    at: str
    welcome: int
    earned: int
    converted: int
    bonded: int
    owed: int
    counter: str = Field(description="the service's account on the other side")
    counter_delta: int
    reason: dict[str, object]
    row_hash: str


class Ledger(BaseModel):
    entries: list[Entry]
    next_cursor: str | None


class PriceEntry(BaseModel):
    key: str
    credits: int | None
    usdc: str | None
    status: str = Field(description="charging or not_charged_yet")


class LimitEntry(BaseModel):
    key: str
    value: int
    unit: str
    status: str = Field(description="enforced, or not_enforced_yet while what it limits is not live")


class Prices(BaseModel):
    prices: list[PriceEntry]
    payout_point_price: int = Field(description="credits an approved point")
    daily_calls: dict[str, object]
    limits: list[LimitEntry]
