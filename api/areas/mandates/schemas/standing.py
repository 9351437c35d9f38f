"""Where a mandate stands: limits, fees, progress and lock."""

from typing import Literal

from pydantic import Field

from api.areas.mandates.schemas.commands import Status
from api.areas.mandates.schemas.mandate import LedgerAnswer
from api.kernel.operation import AnswerBody
from core.mandate.rules.lock import LockReason

# Limits


class AllowedLimits(AnswerBody):
    """As signed."""

    budget_usdc: str
    per_tx_cap_usdc: str
    daily_cap_usdc: str
    stop_floor_usdc: str
    approval_above_usdc: str | None
    ends_at: str


class LimitFigure(AnswerBody):
    value: str | None = Field(description="text of an amount or a time; null: not known")
    source: str
    basis: str


class UsedLimits(AnswerBody):
    left_today: LimitFigure
    left_total: LimitFigure
    per_action_max: LimitFigure
    window_frees_at: LimitFigure


class BreachCount(AnswerBody):
    count: int | None


class RevertCount(BreachCount):
    not_seen: str | None = Field(description="what the count may miss; null: nothing is scanned")


class ViolationCount(BreachCount):
    codes: list[str]


class MandateBreaches(AnswerBody):
    reverts: RevertCount
    refusals: BreachCount
    violations: ViolationCount


class MandateLimits(AnswerBody):
    """What is allowed, what is used, and what was breached."""

    allowed: AllowedLimits
    used: UsedLimits
    breaches: MandateBreaches


# Fees and progress


class UnclassifiedFees(AnswerBody):
    amount: str | None
    count: int | None


class SourcedUnclassifiedFees(UnclassifiedFees):
    source: str


class AgentFee(AnswerBody):
    reserved_est: str | None
    paid: str | None
    paid_source: str


class NetRealized(AnswerBody):
    value: str | None
    est: bool
    formula: str


class NetEstimate(NetRealized):
    source: str
    pct: str | None


class MandateFees(AnswerBody):
    """Fees by class and who is owed them."""

    tools: str | None
    venue: str | None
    network: str | None
    unclassified: SourcedUnclassifiedFees
    agent_fee: AgentFee
    realized_total: str | None
    net_after_fees_est: NetEstimate
    net_after_fees_realized: NetRealized


class PublicStop(AnswerBody):
    """Whether anyone may stop the mandate at its floor now.

    `on` null: there is no such stop, for the reason given.
    """

    on: bool | None
    reason: str | None
    at_cost_usdc: str | None = Field(description="what is out where no adapter values it")


class ReportedPlace(AnswerBody):
    """A target as an agent's report names it."""

    kind: str
    chain_id: int | None
    address: str


class OpenPosition(AnswerBody):
    """What the agent reported (source agent), or a target where the chain saw money go (source
    chain).
    """

    id: str
    name: str | None
    status: Literal["open"]
    source: Literal["agent", "chain"]
    qty: str | None = None
    cost_usdc: str | None
    worth_est: str | None
    worth_source: str | None = None
    worth_at: str | None = None
    target: ReportedPlace | None = None
    opened_at: str | None = None


class VoidPosition(AnswerBody):
    id: str
    name: str | None
    status: Literal["void"]
    cost_returned: str


class ProgressRule(AnswerBody):
    key: str
    text: str
    ok: bool | None


class NextEvent(AnswerBody):
    code: Literal["agent_next", "ends", "settle_grace_ends"]
    at: str


class LeaveNowBasis(AnswerBody):
    formula: str
    spread_bps: int | None


class MandateProgress(LedgerAnswer):
    """`positions_void`: what a paper mandate's end voided."""

    status: Status
    worth_est: str | None
    worth_source: str
    worth_as_of: str | None
    realized: str | None
    floor: str
    public_stop: PublicStop
    cash: str | None
    positions_est: str | None
    positions: list[OpenPosition]
    fees: MandateFees
    agent_fee_reserved: str | None
    leave_now_est: str | None
    leave_now_basis: LeaveNowBasis
    exit_cost_est: str | None
    rules: list[ProgressRule]
    next_event: NextEvent | None
    day: int | None
    horizon_days: int
    positions_void: list[VoidPosition] | None = None


class MandateLock(AnswerBody):
    """`withdrawable` null: not known now."""

    withdrawable: bool | None
    reason: LockReason | None
    until: str | None
    message: str


class MandateChainState(AnswerBody):
    """`agent`: whom the vault obeys; null: nobody, or not known."""

    stopped: bool | None
    settled: bool | None
    agent: str | None
    agent_known: bool
