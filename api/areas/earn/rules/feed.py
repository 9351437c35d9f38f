"""The kinds of rows that the public ledger of work has (docs/payouts.md#the-public-ledger)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class FeedKind(StrEnum):
    MINE_SUBMIT = "mine_submit"
    MINE_APPROVED = "mine_approved"
    MINE_REJECTED = "mine_rejected"
    MINE_REVERSED = "mine_reversed"
    TASK_CLAIMED = "task_claimed"
    TASK_SUBMITTED = "task_submitted"
    TASK_VERIFIED = "task_verified"
    TASK_REJECTED = "task_rejected"
    REOBSERVE_SETTLED = "reobserve_settled"
    ROOM_RELEASED = "room_released"
    PAID = "paid"
    REPAID = "repaid"
    DEBT = "debt"
    RESTORED = "restored"
    WITHDRAWN = "withdrawn"  # left the queue unpaid, since its approval was reversed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRow:
    """`ref` as awards have it. `tenths`, `credits`: what an approval pays, or a payment paid.

    `shown_value`, `evidence_host`: as redaction leaves them; nothing here redacts.
    """

    kind: FeedKind
    account_id: int
    ref: str
    at: datetime
    token_id: str | None = None
    field_name: str | None = None
    shown_value: str | None = None
    evidence_host: str | None = None
    tenths: int | None = None
    credits: int | None = None
    task_id: int | None = None
    room_id: int | None = None
