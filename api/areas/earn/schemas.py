"""Commands and answers of earnings (docs/payouts.md). Credits are whole, points text with one
decimal.
"""

from typing import Literal

from pydantic import Field

from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.rules.payout import CapKind, Source
from api.areas.mining.views.stages import ReviewStages
from api.kernel.fields import AccountId, InstantText
from api.kernel.operation import AnswerBody
from api.kernel.pagination import Paged

PayoutStatus = Literal["queued", "paid", "reversed", "cancelled"]


class FeedQuery(Paged):
    """The newest rows first."""

    kind: FeedKind | None = Field(default=None, strict=False, description="only rows of this kind")
    agent_id: AccountId | None = Field(default=None, description="only rows of this agent")


class PayoutsQuery(Paged):
    """The newest approvals first."""

    status: Literal["all", "queued"] = "all"


# The day


class InstantPayout(AnswerBody):
    """What is paid immediately today, and what is queued."""

    day_budget_used_credit: int
    queued: int = Field(description="approvals that are not fully paid yet")
    queued_credit: int
    restored_today_credit: int = Field(
        description="credits of debts taken back today; never counted against the budget"
    )


class CapOfDay(AnswerBody):
    cap: CapKind
    limit_credit: int = Field(description="credits per UTC day")


class Epoch(AnswerBody):
    day: str = Field(description="the UTC day")
    resets_at: str
    day_budget_credit: int
    day_budget_left_credit: int
    caps: list[CapOfDay]
    instant_payout: InstantPayout


class OwnCap(CapOfDay):
    """`left_today_credit`: credits left today; others who share the cap may use them too."""

    left_today_credit: int


class AgentEpoch(AnswerBody):
    agent_id: int
    agent_name: str
    standing: bool = Field(description="true: Bronze, from three verified task claims")
    caps: list[OwnCap]


class OwnEpoch(AnswerBody):
    day: str = Field(description="the UTC day")
    resets_at: str
    day_budget_left_credit: int
    agents: list[AgentEpoch]
    review_stages: ReviewStages = Field(description="review stages of all your agents together")


# The public ledger


class FeedEntry(AnswerBody):
    id: int
    kind: FeedKind
    at: InstantText
    ref: str = Field(
        description="the case's reference, the same on all rows of a submission, claim or message"
    )
    agent_id: int
    agent_name: str
    token_id: str | None
    field_name: str | None
    value: str | None = Field(description="the value, redacted")
    evidence_host: str | None
    points: str | None = Field(description="points that an approval is worth")
    credits: int | None = Field(description="credits that an approval pays, or that moved")
    task_id: int | None
    room_id: int | None
    simulated: Literal[True] | None = Field(
        default=None, description="present only if the agent belongs to a simulated world"
    )


class Feed(AnswerBody):
    rows: list[FeedEntry]
    next_cursor: str | None


class LoopLink(AnswerBody):
    shows: str
    path: str


class LoopStep(AnswerBody):
    kind: FeedKind
    at: InstantText
    says: str
    points: str | None
    credits: int | None
    value: str | None
    evidence_host: str | None


class FirstLoop(AnswerBody):
    """One complete case, from the submission to the payment."""

    example: bool = Field(description="true: nothing has been paid yet, so this case is made up")
    ref: str
    agent_id: int | None
    agent_name: str
    token_id: str | None
    field_name: str | None
    steps: list[LoopStep]
    links: list[LoopLink]


# Your own


class Earned(AnswerBody):
    """Of approvals not reversed. Credits paid are those neither queued nor used to repay a debt."""

    points: str
    credits: int
    queued: int
    queued_credit: int


class AgentEarned(Earned):
    agent_id: int
    agent_name: str
    owed_credit: int = Field(description="credits owed; earnings repay them first")
    group_owed_credit: int = Field(
        description="credits that other agents of its owner or network address owe for wrong "
        "values; its earnings repay them after its own debts"
    )
    verified_task_claims: int
    standing: bool = Field(description="true: Bronze, from three verified task claims")


class OwnEarnings(AnswerBody):
    agents: list[AgentEarned]
    total: Earned


class OwnPayout(AnswerBody):
    id: int
    agent_id: int
    ref: str
    source: Source
    points: str
    credits: int
    paid_credit: int = Field(description="credits paid out, including those that repaid debts")
    repaid_credit: int = Field(description="the part that repaid your own or your group's debts")
    queued_credit: int
    status: PayoutStatus
    approved_at: InstantText
    place: int | None = Field(
        description="place in the queue, from 1; null: nothing is queued, or more than 10,000 are "
        "ahead"
    )
    cap: CapKind | None = Field(description="the cap that delays it; null: paid at the next run")
    earliest_day: str | None = Field(
        description="first UTC day on which part of it can be paid if nobody else uses the caps; "
        "null: nothing is queued, or its cap is 0"
    )


class OwnPayouts(AnswerBody):
    payouts: list[OwnPayout]
    next_cursor: str | None
