"""Answers of the mandate wallet: the fields that a caller may rely on. They document OpenAPI and the tools; they shape nothing.

Each is open: a version may add fields. Amounts are text with six decimals, times ISO 8601 in UTC; unknown is null. Every answer of
every integration test is held to them, and has no field that they do not declare (tests/integration/api/conformance.py).
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.areas.mandates.schemas import Status


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Known(Open):
    data_issue: Literal[True] | None = Field(default=None, description="there when what is shown is not the whole truth")
    data_issue_reason: str | None = None


class MandateView(Known):
    """A mandate. `status` draft, signed, working, stopped, settled or cancelled."""

    id: str
    public_id: str
    agent_id: str | None
    open_board: bool
    purpose: str
    budget_usdc: str
    horizon_days: int
    stop_floor_bps: int
    stop_floor_usdc: str
    target_bps: int | None
    payout_rule: dict[str, Any] | None
    allowed_targets: list[Any]
    per_tx_cap_usdc: str | None
    daily_cap_usdc: str | None
    approval_above_usdc: str | None
    on_floor: Literal["keep", "close"]
    chain_id: int
    market_mode: Literal["paper", "testnet"]
    vault_address: str | None
    status: Status
    paused: bool | None
    paused_at: str | None
    last_paused_at: str | None
    last_resumed_at: str | None
    created_at: str
    signed_at: str | None
    accepted_at: str | None
    ends_at: str | None
    ended_at: str | None
    strategy: dict[str, Any] | None
    proposed_by_agent_id: str | None


class Clause(Open):
    n: int
    key: str
    text_en: str
    params: dict[str, Any]
    enforced_by: Literal["Contract", "Torii guard", "Venue"]
    source: str | None
    signed_fields: list[str]
    status: Literal["enforced", "stored_pending"]


class Carded(MandateView):
    """A mandate of a list with its clauses."""

    clauses: list[Clause]
    card_header: dict[str, Any]
    card_footer: Any


class Figure(Open):
    value: Any = Field(description="text of an amount or a time; null: not known")
    source: str
    basis: str


class Limits(Open):
    allowed: dict[str, Any]
    used: dict[str, Figure]
    breaches: dict[str, Any]


class Lock(Open):
    withdrawable: bool | None
    reason: str | None
    until: str | None
    message: str


class Step(Open):
    id: Any
    group: Any
    kind: str
    code: str
    status: str
    at: str | None
    reported_by: str
    confirmed_on_chain: bool
    est: bool
    amount_usdc: str | None
    tx_hash: str | None
    why: str | None
    note: str | None
    resource: str | None
    target: Any
    allowed_by: list[int]
    breached: list[int]
    clauses: list[int]
    params: dict[str, Any]


class WholeMandate(Open):
    """A mandate with its clauses, limits, progress, lock and newest steps."""

    mandate: MandateView
    clauses: list[Clause]
    card_header: dict[str, Any]
    card_footer: Any
    terms_status: dict[str, Any] | None
    limits: Limits
    progress: dict[str, Any]
    fees: dict[str, Any]
    steps: list[Step]
    next_cursor: str | None
    lock: Lock
    chain_state: dict[str, Any]
    how_to_act: Any
    settle_note: str | None = None


class OneMandate(Open):
    mandate: MandateView


class Drafted(OneMandate):
    notice: str | None = Field(description="what the owner should know before signing")


class Mandates(Open):
    mandates: list[MandateView]
    next_cursor: str | None


class OpenBoard(Open):
    mandates: list[Carded]
    next_cursor: str | None


class Offers(Open):
    offers: list[Carded]
    next_cursor: str | None


class OwnStatus(Open):
    agent_id: str
    name: str
    wallet_address: str | None
    is_owned: bool
    scopes: list[str] | None
    accepts_mandates: bool
    agent_status: dict[str, Any]


class PolicyChange(Open):
    at: str
    changes: dict[str, Any]


class Policy(Open):
    """What the owner allows the agent beside the terms; replaced whole."""

    agent_id: str
    assets: list[str]
    venues: list[str]
    networks: list[str]
    stop_conditions: Any
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


class Approval(Open):
    id: int
    status: str
    amount_usdc: str | None
    tx_hash: str | None
    at: str


class Approvals(Known):
    items: list[Approval]


class Event(Open):
    """A row of the ledger; `id` is its number in the mandate's ledger."""

    id: int
    kind: str
    amount_usdc: str | None
    tx_hash: str | None
    chain_id: int | None
    block_number: int | None
    log_index: int | None
    payload: dict[str, Any]
    reported_by: Literal["owner", "agent", "chain", "keeper"]
    occurred_at: str
    created_at: str
    row_hash: str


class Events(Known):
    events: list[Event]
    next_cursor: str | None


class Steps(Known):
    steps: list[Step]
    next_cursor: str | None


class EventStored(Known):
    mandate_id: str
    recorded: Literal[True]
    violation: bool
    codes: list[str]
    violation_detail: dict[str, Any] | None = None
    notice: str | None = None
    event: Event


class RefusalStored(Open):
    mandate_id: str
    recorded: Literal[True]
    is_new: bool
    refusal: dict[str, Any]
    event: Event


class BuiltCall(Known):
    """A call to sign and send. `data` null: there is none to send now, and `reason` and `what_happens` say why."""

    to: str | None
    data: str | None
    value: int = Field(description="wei, always 0")
    chain_id: int
    reason: str | None = None
    what_happens: str | None = None
    locked_until: str | None = None


class StopCall(BuiltCall):
    cancel_call: BuiltCall | None = Field(default=None, description="of signed terms without a vault in the record: the call to send first")


class AgentCall(BuiltCall):
    action: Literal["pause", "resume"] | None = None


class DeployCall(BuiltCall):
    vault_address: str
    digest: str
    fund: Literal["none", "approve", "authorization"]
    calls: list[BuiltCall] | None = Field(default=None, description="with fund approve: both, in order")
    typed_data: dict[str, Any] | None = Field(default=None, description="with fund authorization: for eth_signTypedData_v4")
    typed_data_parts: dict[str, Any] | None = Field(default=None, description="{domain, types, message} of it for ethers")


class DepositCall(BuiltCall):
    vault_address: str | None
    calls: list[BuiltCall]


class WithdrawCall(BuiltCall):
    amount_usdc: str | None
    source: str | None = Field(default=None, description="who says what the vault holds: chain or ledger")


class ExecuteBuilt(BuiltCall):
    """`check` ok: the call would pass now, by `source`; `gas` null: not estimated."""

    vault_address: str
    target: str
    amount_usdc: str
    gas: int | None
    check: dict[str, Any]
    payment: dict[str, Any] | None = None


class UnwindBuilt(BuiltCall):
    adapter: str | None
    units: str | None
    who_signs: Literal["owner"]
    gas: int | None
    check: dict[str, Any] | None


class Ended(OneMandate):
    """Of a stop or a cancellation. `status`: of the record; what is signed for the chain ends there, by these calls."""

    status: Status
    call: BuiltCall | None = Field(description="the vault's stop")
    cancel_call: BuiltCall | None = Field(description="cancelTerms; null where a vault was made, or none can be")


class Terms(Open):
    id: str
    version: Literal[1, 2]
    digest: str
    terms: dict[str, Any]
    typed_data: dict[str, Any] = Field(description="for eth_signTypedData_v4")
    typed_data_parts: dict[str, Any] = Field(description="{domain, types, message} of it, without EIP712Domain, for ethers")
    rules: list[Any]
    guard_targets: list[Any]
    notice: str | None = Field(description="what the owner should know before signing")


class PlanStep(Open):
    n: int
    type: Literal["stop", "unwind", "close", "withdraw"]
    venue: str | None
    adapter: str | None
    adapter_address: str | None = None
    action: Literal["unwind", "close_at_market", "keep"] | None
    who_signs: Literal["owner", "relay"] | None
    who_signs_text: str | None
    to: str | None
    data: str | None
    est_proceeds_usdc: str | None
    note: str
    reason: str | None
    position_label: str | None
    call: BuiltCall | None = Field(description="to and data as a call to send; null: there is none to send now")
    dry_run: Any = Field(default=None, description="of a close by relay: what it would do now")


class Batch(Open):
    """Stop and withdrawal for a wallet that sends several calls as one."""

    calls: list[BuiltCall]
    atomic: Literal[True]
    amount_usdc: str
    what_happens: str


class CloseAllPlan(Known):
    """The steps by which the owner leaves, in order."""

    mandate_id: str
    steps: list[PlanStep]
    reason: str | None
    locked_until: str | None
    relay_positions_read: bool
    closes: int
    kept_at_venue: int
    exit_cost_est: str | None
    exit_cost_reason: str | None
    gets_back_est: str | None
    batch: Batch | None


class Alerts(Open):
    alerts: list[dict[str, Any]]
    next_cursor: str | None


class Statement(Known):
    """A week of a mandate in figures that balance."""

    mandate_id: str
    agent_id: str | None
    vault_address: str | None
    strategy: dict[str, Any] | None
    status: Status | None
    market_mode: Literal["paper", "testnet"]
    period: dict[str, Any]
    cash: dict[str, Any]
    worth: dict[str, Any]
    flows: dict[str, Any]
    result: dict[str, Any]
    fees: dict[str, Any]
    allowed_vs_used: dict[str, Any]
    breaches: dict[str, Any]
    steps: list[Any]
    disclosures: list[Any]


class AllStatements(Open):
    period: dict[str, Any]
    totals: dict[str, Any]
    mandates: list[Any]
    disclosures: list[Any]


class Door(Open):
    """What a mandate is. It is a 402 where nothing can be paid."""

    detail: str
    charged: Literal[False]
    payable: Literal[False]
    schema_: dict[str, Any] = Field(alias="schema", description="JSON Schema of a draft")
    next: list[Any]
    service: dict[str, Any]
