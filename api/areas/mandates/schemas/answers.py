"""Answers of the mandate wallet, one model for each form of body; what they are made of is
beside this file.

A handler can set no field that is not declared. Callers may meet new fields with every version.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from api.areas.mandates.schemas.calls import (
    Batch,
    BuiltCall,
    CallCheck,
    ExecuteCheck,
    GuardedPayment,
    PlanStep,
)
from api.areas.mandates.schemas.commands import Status
from api.areas.mandates.schemas.mandate import (
    AllowedTarget,
    CardFooterLine,
    CardHeader,
    Clause,
    LedgerAnswer,
    MandateView,
    Mode,
    TermsStatus,
    VaultRule,
)
from api.areas.mandates.schemas.record import (
    Approval,
    LedgerEvent,
    RecordedRefusal,
    RecordStep,
    ViolationDetail,
)
from api.areas.mandates.schemas.standing import (
    MandateChainState,
    MandateFees,
    MandateLimits,
    MandateLock,
    MandateProgress,
)
from api.areas.mandates.schemas.weeks import (
    AllowedVsUsed,
    Disclosure,
    WeekLine,
    WeekPeriod,
    WeekTotals,
)
from api.kernel.fields import InstantText
from api.kernel.operation import AnswerBody
from core.mandate.rules.rows import ReportedBy

# Mandates


class OneMandate(AnswerBody):
    mandate: MandateView


class Drafted(OneMandate):
    notice: str | None = Field(description="what the owner should know before signing; null: none")


class MandateList(AnswerBody):
    mandates: list[MandateView]
    next_cursor: str | None


class CardedMandate(MandateView):
    """A mandate in a list, with its card."""

    clauses: list[Clause]
    card_header: CardHeader
    card_footer: list[CardFooterLine]


class OpenBoard(AnswerBody):
    mandates: list[CardedMandate]
    next_cursor: str | None


class Offers(AnswerBody):
    offers: list[CardedMandate]
    next_cursor: str | None


Simulated: TypeAlias = Annotated[
    Literal[True] | None, Field(description="present only on the sample from a simulated world")
]


class WholeMandate(AnswerBody):
    """A mandate with its clauses, limits, progress, lock and newest steps."""

    mandate: MandateView
    clauses: list[Clause]
    card_header: CardHeader
    card_footer: list[CardFooterLine]
    terms_status: TermsStatus | None
    limits: MandateLimits
    progress: MandateProgress
    fees: MandateFees
    steps: list[RecordStep]
    next_cursor: str | None
    lock: MandateLock
    chain_state: MandateChainState
    how_to_act: str
    settle_note: str | None = None
    simulated: Simulated = None


class Terms(AnswerBody):
    """`terms`: by EIP-712 name, integers as digits."""

    id: str
    version: Literal[1, 2]
    digest: str
    terms: dict[str, str]
    typed_data: dict[str, Any] = Field(description="typed data for eth_signTypedData_v4")
    typed_data_parts: dict[str, Any] = Field(
        description="the typed data as {domain, types, message}, without EIP712Domain, for ethers"
    )
    rules: list[VaultRule]
    guard_targets: list[AllowedTarget]
    notice: str | None = Field(description="what the owner should know before signing; null: none")


# The record


class RecordSteps(LedgerAnswer):
    steps: list[RecordStep]
    next_cursor: str | None
    simulated: Simulated = None


class LedgerEvents(LedgerAnswer):
    events: list[LedgerEvent]
    next_cursor: str | None
    simulated: Simulated = None


class Approvals(LedgerAnswer):
    items: list[Approval]
    simulated: Simulated = None


class EventStored(LedgerAnswer):
    mandate_id: str
    recorded: Literal[True]
    violation: bool
    codes: list[str]
    violation_detail: ViolationDetail | None = None
    notice: str | None = None
    event: LedgerEvent


class RefusalStored(AnswerBody):
    mandate_id: str
    recorded: Literal[True]
    is_new: bool
    refusal: RecordedRefusal
    event: LedgerEvent


# Calls


class StopCall(BuiltCall):
    cancel_call: BuiltCall | None = Field(
        default=None,
        description="for signed terms without a recorded vault: the call to send first",
    )


class AgentCall(BuiltCall):
    action: Literal["pause", "resume"] | None = None


class DeployCall(BuiltCall):
    vault_address: str
    digest: str
    fund: Literal["none", "approve", "authorization"]
    calls: list[BuiltCall] | None = Field(
        default=None, description="with fund approve: both calls, in order"
    )
    typed_data: dict[str, Any] | None = Field(
        default=None, description="with fund authorization: typed data for eth_signTypedData_v4"
    )
    typed_data_parts: dict[str, Any] | None = Field(
        default=None, description="the same typed data as {domain, types, message}, for ethers"
    )


class DepositCall(BuiltCall):
    vault_address: str | None
    calls: list[BuiltCall]


class WithdrawCall(BuiltCall):
    amount_usdc: str | None
    source: Literal["chain", "ledger"] | None = Field(
        default=None, description="source of the vault's balance"
    )


class ExecuteBuilt(BuiltCall):
    """`check.ok`: the call would pass now; `gas` null: not estimated."""

    vault_address: str
    target: str
    amount_usdc: str
    payment: GuardedPayment | None = None
    gas: int | None
    check: ExecuteCheck


class UnwindBuilt(BuiltCall):
    """`units`: units to sell: all, or as many as the venue can pay for now."""

    adapter: str | None
    units: str | None
    min_proceeds_usdc: str | None = Field(
        description="USDC below which the sale reverts; null: this exit takes no minimum"
    )
    withdrawable_now_usdc: str | None = Field(
        description="USDC that the sale returned in a simulation at the latest block; null: unknown"
    )
    who_signs: Literal["owner"]
    gas: int | None
    check: CallCheck | None


class NextRow(LedgerAnswer):
    """What the caller's signature of its next row of a mandate covers."""

    mandate_id: str
    reported_by: ReportedBy
    sequence: int
    prev: str = Field(description="row_hash of your previous signed row; without one 32 zero bytes")
    signers: list[str] = Field(description="addresses whose signature is accepted")
    domain: dict[str, Any] = Field(description="EIP-712 domain of your signature")
    market_mode: Literal["paper", "testnet"]


class MandateEnd(OneMandate):
    """The result of a stop or a cancellation.

    `status`: the status in the record; these calls end what is signed for the chain.
    """

    status: Status
    call: BuiltCall | None = Field(description="the vault's stop call")
    cancel_call: BuiltCall | None = Field(
        description="cancelTerms call; null where a vault was created, or none can be"
    )


class CloseAllPlan(LedgerAnswer):
    """The steps to wind the mandate down and withdraw, in order."""

    mandate_id: str
    steps: list[PlanStep]
    reason: str | None
    locked_until: str | None
    relay_positions_read: bool
    exit_allowance_bps: int = Field(
        description="largest accepted shortfall of a sale against the position's worth, basis "
        "points"
    )
    closes: int
    kept_at_venue: int
    exit_cost_est: str | None
    exit_cost_reason: str | None
    gets_back_est: str | None
    batch: Batch | None


# Statements


class Statement(WeekLine):
    """A mandate's week in figures that balance.

    `steps`: its newest 50, in whole groups; `has_more_steps`: it has older ones, which its CSV and
    mandates.steps have.
    """

    period: WeekPeriod
    allowed_vs_used: AllowedVsUsed
    steps: list[RecordStep]
    has_more_steps: bool
    disclosures: list[Disclosure]


class AllStatements(AnswerBody):
    """`totals`: per market mode, since paper and test-network money is never added to real money."""

    period: WeekPeriod
    totals: dict[Mode, WeekTotals]
    mandates: list[WeekLine]
    disclosures: list[Disclosure]


# Agents


class HeldActive(LedgerAnswer):
    """A signed or working mandate of the agent."""

    id: str
    status: Status
    vault: str | None
    market_mode: Mode
    paused: bool | None


class HeldEnded(LedgerAnswer):
    """A stopped or settled mandate of the agent."""

    id: str
    status: Status
    ended_at: str | None
    vault: str | None
    market_mode: Mode
    net_usdc: str | None
    net_basis: Literal["realized"]


class AgentStatus(AnswerBody):
    """`ended_mandates`: only the newest."""

    active_mandates: list[HeldActive]
    ended_mandates: list[HeldEnded]


class OwnStatus(AnswerBody):
    agent_id: str
    name: str
    wallet_address: str | None
    is_owned: bool
    scopes: list[str] | None
    accepts_mandates: bool
    agent_status: AgentStatus


class FieldChange(AnswerBody):
    """A policy field before and after the change, as JSON."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    from_: Any = Field(alias="from")
    to: Any


class PolicyChange(AnswerBody):
    """`changes`: by field name."""

    at: str
    changes: dict[str, FieldChange]


class Policy(AnswerBody):
    """What the owner allows the agent beyond the terms; always replaced as a whole."""

    agent_id: str
    assets: list[str]
    venues: list[str]
    networks: list[str]
    stop_conditions: Any = Field(description="stop conditions as the owner wrote them, JSON")
    per_tx_cap_usdc: str | None
    total_cap_usdc: str | None
    hold_ratio: str | None
    min_net_bps: int | None
    max_cost_bps: int | None
    slippage_bps: int | None
    credit_budget_daily: int | None
    auto_vs_approval: dict[str, Any] | None
    accepts_mandates: bool
    policy_changelog: list[PolicyChange]


# Alerts and the door


class AlertView(AnswerBody):
    """`args`: the facts of `event`. `withdrawn_at`: since when it no longer holds."""

    id: int
    kind: str
    message: str | None
    next_step: str | None
    mandate_id: str | None
    event: str | None
    args: dict[str, Any] | None
    chain_id: int | None
    tx_hash: str | None
    log_index: int | None
    block_number: int | None
    at: InstantText
    withdrawn_at: InstantText | None


class Alerts(AnswerBody):
    alerts: list[AlertView]
    next_cursor: str | None


class DoorCall(AnswerBody):
    """A call that leads to a mandate. `cost`: in credits."""

    method: str
    path: str
    auth: str
    cost: int
    body: dict[str, Any] | None = None


class DoorBlock(AnswerBody):
    """The same for programs, in the format of a refusal."""

    reason: Literal["mandate_required"]
    error: Literal["mandate_required"]
    retry_safe: Literal[False]
    who_fixes: Literal["owner"]
    next: list[DoorCall]


class Door(AnswerBody):
    """What a mandate is. Sent with status 402, although nothing can be paid here."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    detail: str
    charged: Literal[False]
    payable: Literal[False]
    schema_: dict[str, Any] = Field(alias="schema", description="JSON Schema of a draft mandate")
    next: list[DoorCall]
    service: DoorBlock
