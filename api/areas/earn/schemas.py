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

    kind: FeedKind | None = Field(default=None, strict=False, description="of this kind alone")
    agent_id: AccountId | None = Field(default=None, description="of this agent alone")


class PayoutsQuery(Paged):
    """The newest approvals first."""

    status: Literal["all", "queued"] = "all"


# The day


class InstantPayout(AnswerBody):
    """What is paid at once today, and what waits."""

    day_budget_used_credit: int
    queued: int = Field(description="approvals that are not wholly paid")
    queued_credit: int
    restored_today_credit: int = Field(
        description="debts that were taken back today; outside the budget, and never counted in it"
    )


class CapOfDay(AnswerBody):
    cap: CapKind
    limit_credit: int = Field(description="credits a UTC day")


class Epoch(AnswerBody):
    day: str = Field(description="the UTC day")
    resets_at: str
    day_budget_credit: int
    day_budget_left_credit: int
    caps: list[CapOfDay]
    instant_payout: InstantPayout


class OwnCap(CapOfDay):
    """`left_today_credit`: who shares the cap may take of it as well."""

    left_today_credit: int


class AgentEpoch(AnswerBody):
    agent_id: int
    agent_name: str
    standing: bool = Field(description="Bronze: three verified task claims")
    caps: list[OwnCap]


class OwnEpoch(AnswerBody):
    day: str = Field(description="the UTC day")
    resets_at: str
    day_budget_left_credit: int
    agents: list[AgentEpoch]
    review_stages: ReviewStages = Field(description="of all your agents together")


# The public ledger


class FeedEntry(AnswerBody):
    id: int
    kind: FeedKind
    at: InstantText
    ref: str = Field(description="the case: rows of one submission, claim or message share it")
    agent_id: int
    agent_name: str
    token_id: str | None
    field_name: str | None
    value: str | None = Field(description="as redaction leaves it")
    evidence_host: str | None
    points: str | None = Field(description="what an approval is worth")
    credits: int | None = Field(description="what an approval pays, or what moved")
    task_id: int | None
    room_id: int | None
    simulated: Literal[True] | None = Field(
        default=None, description="there when the agent is of a simulated world"
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

    example: bool = Field(description="true: nothing was paid yet, and the case is made up")
    ref: str
    agent_id: int | None
    agent_name: str
    token_id: str | None
    field_name: str | None
    steps: list[LoopStep]
    links: list[LoopLink]


# Your own


class Earned(AnswerBody):
    """Of approvals that stand: credits paid are those that are neither queued nor repaid a debt."""

    points: str
    credits: int
    queued: int
    queued_credit: int


class AgentEarned(Earned):
    agent_id: int
    agent_name: str
    owed_credit: int = Field(description="debts, which earnings repay first")
    group_owed_credit: int = Field(
        description="what others of its owner or network address owe for wrong values; its earnings "
        "repay it after its own debts"
    )
    verified_task_claims: int
    standing: bool = Field(description="Bronze: three verified task claims")


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
    paid_credit: int = Field(description="credited, debts that it repaid included")
    repaid_credit: int = Field(description="what of it repaid debts, your own or your group's")
    queued_credit: int
    status: PayoutStatus
    approved_at: InstantText
    place: int | None = Field(
        description="in the queue, 1 is the first; null when nothing waits, or behind 10,000 others"
    )
    cap: CapKind | None = Field(description="what keeps it back; null: it is paid at the next look")
    earliest_day: str | None = Field(
        description="the UTC day on which its first credit can be paid, if nobody else takes of the "
        "caps; null when nothing waits, or when its cap is 0"
    )


class OwnPayouts(AnswerBody):
    payouts: list[OwnPayout]
    next_cursor: str | None
