"""The state of a mandate: limits, fees, progress and lock."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict  # pydantic takes that of typing from Python 3.12 on

from api.areas.mandates.schemas.commands import Status
from api.areas.mandates.schemas.mandate import LedgerAnswer
from api.kernel.operation import AnswerBody
from core.mandate.rules.lifecycle import LockReason

# Limits


@with_config(AnswerBody.model_config)
class AllowedLimits(TypedDict):
    """The limits as signed."""

    budget_usdc: str
    per_tx_cap_usdc: str
    daily_cap_usdc: str
    stop_floor_usdc: str
    approval_above_usdc: str | None
    ends_at: str


@with_config(AnswerBody.model_config)
class LimitFigure(TypedDict):
    value: Annotated[str | None, Field(description="an amount or a time as text; null: unknown")]
    source: str
    basis: str


@with_config(AnswerBody.model_config)
class LimitsMoment(TypedDict):
    """The moment that the limits are for. `block_number` null: paper, which follows the clock."""

    block_number: int | None
    at: str


@with_config(AnswerBody.model_config)
class UsedLimits(TypedDict):
    left_today: LimitFigure
    left_total: LimitFigure
    per_action_max: LimitFigure
    window_frees_at: LimitFigure


@with_config(AnswerBody.model_config)
class BreachCount(TypedDict):
    count: int | None


@with_config(AnswerBody.model_config)
class RevertCount(BreachCount):
    not_seen: Annotated[
        str | None, Field(description="what the count may miss; null: reverts are not scanned")
    ]


@with_config(AnswerBody.model_config)
class ViolationCount(BreachCount):
    codes: list[str]


@with_config(AnswerBody.model_config)
class MandateBreaches(TypedDict):
    reverts: RevertCount
    refusals: BreachCount
    violations: ViolationCount


@with_config(AnswerBody.model_config)
class MandateLimits(TypedDict):
    """What is allowed, what is used, and which limits were breached."""

    as_of: LimitsMoment
    allowed: AllowedLimits
    used: UsedLimits
    breaches: MandateBreaches


# Fees and progress


@with_config(AnswerBody.model_config)
class UnclassifiedFees(TypedDict):
    amount: str | None
    count: int | None


@with_config(AnswerBody.model_config)
class SourcedUnclassifiedFees(UnclassifiedFees):
    source: str


@with_config(AnswerBody.model_config)
class AgentFee(TypedDict):
    reserved_est: str | None
    paid: str | None
    paid_source: str


@with_config(AnswerBody.model_config)
class NetRealized(TypedDict):
    value: str | None
    est: bool
    formula: str


@with_config(AnswerBody.model_config)
class NetEstimate(NetRealized):
    source: str
    pct: str | None


@with_config(AnswerBody.model_config)
class MandateFees(TypedDict):
    """Fees by class and whom they are owed to."""

    tools: str | None
    venue: str | None
    network: str | None
    unclassified: SourcedUnclassifiedFees
    agent_fee: AgentFee
    realized_total: str | None
    net_after_fees_est: NetEstimate
    net_after_fees_realized: NetRealized


@with_config(AnswerBody.model_config)
class PublicStop(TypedDict):
    """Whether anyone may stop the mandate at its floor now.

    `on` null: there is no such stop, for the reason given.
    """

    on: bool | None
    reason: str | None
    at_cost_usdc: Annotated[
        str | None, Field(description="positions that no adapter values, at cost")
    ]


@with_config(AnswerBody.model_config)
class ReportedPlace(TypedDict):
    """A target as an agent's report names it."""

    kind: str
    chain_id: int | None
    address: str


@with_config(AnswerBody.model_config)
class OpenPosition(TypedDict):
    """A position. Source agent: a report of the agent names it. Source chain: no report does, but
    the chain saw money go to this target. For a vault, cost and worth are read from the chain;
    `agent_mark_usdc` is the agent's own figure.
    """

    id: str
    name: str | None
    status: Literal["open"]
    source: Literal["agent", "chain"]
    qty: NotRequired[str | None]
    cost_usdc: str | None
    worth_est: str | None
    worth_source: NotRequired[str | None]
    worth_at: NotRequired[str | None]
    agent_mark_usdc: NotRequired[str | None]
    agent_mark_at: NotRequired[str | None]
    target: NotRequired[ReportedPlace | None]
    opened_at: NotRequired[str | None]


@with_config(AnswerBody.model_config)
class VoidPosition(TypedDict):
    id: str
    name: str | None
    status: Literal["void"]
    cost_returned: str


@with_config(AnswerBody.model_config)
class ProgressRule(TypedDict):
    key: str
    text: str
    ok: bool | None


@with_config(AnswerBody.model_config)
class NextEvent(TypedDict):
    code: Literal["agent_next", "ends", "settle_grace_ends"]
    at: str


@with_config(AnswerBody.model_config)
class LeaveNowBasis(TypedDict):
    formula: str
    spread_bps: int | None


class MandateProgress(LedgerAnswer):
    """`positions_void`: positions voided at the end of a paper mandate."""

    status: Status
    worth_est: str | None
    worth_source: str
    worth_as_of: str | None
    realized: str | None
    floor: str
    public_stop: PublicStop
    cash: str | None
    positions_est: str | None
    at_cost: str | None = Field(description="positions that no adapter values, at cost")
    not_returned: str | None = Field(
        description="what never came back from positions no adapter values; counts as 0"
    )
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


@with_config(AnswerBody.model_config)
class MandateLock(TypedDict):
    """`withdrawable` null: unknown now."""

    withdrawable: bool | None
    reason: LockReason | None
    until: str | None
    message: str


@with_config(AnswerBody.model_config)
class MandateChainState(TypedDict):
    """`agent`: address that the vault obeys; null: nobody, or unknown."""

    stopped: bool | None
    settled: bool | None
    agent: str | None
    agent_known: bool
