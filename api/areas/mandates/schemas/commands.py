"""Commands of the mandate wallet: path, query and body of each route, merged.

Rules: docs/rules.md#mandates.

Amounts are read into USDC base units (fields.Usdc); shapes that depend on one another are judged by
the domain.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from api.areas.gallery.rules import PARAMS_MOST
from api.kernel.fields import (
    MAX_EXACT_JSON_INT,
    WHOLE,
    AccountIdText,
    Address,
    Count,
    Flag,
    Int,
    Json,
    JsonObject,
    Millionths,
    PositiveUsdc,
    PublicId,
    Share,
    Signature,
    TxHash,
    UnsignedUsdc,
    Usdc,
    Verbatim,
    published_bounds,
)
from api.kernel.operation import Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText
from core.mandate.rules.close_plan import DEFAULT_ALLOWANCE_BPS
from core.mandate.rules.new_rows import AGENT_KINDS
from core.mandate.rules.terms import (
    DEFAULT_AGENT_FEE_BPS,
    MAX_HORIZON_DAYS,
    MAX_RULES,
    MAX_TARGET_BPS,
    SHARE_OF_VERIFIED_GAIN,
)
from core.money import BPS_ONE

EMPTY_IS_NONE = BeforeValidator(lambda value: None if value == "" else value)
Bps = Annotated[int, Field(ge=0, le=10_000), WHOLE]
HorizonDays = Annotated[int, published_bounds(1, MAX_HORIZON_DAYS), WHOLE]
NetBps = Annotated[int, Field(ge=-MAX_EXACT_JSON_INT, le=MAX_EXACT_JSON_INT), WHOLE]
StopFloorBps = Annotated[int, published_bounds(1, BPS_ONE), WHOLE]
TargetBps = Annotated[int, published_bounds(1, MAX_TARGET_BPS), WHOLE]
Selector = Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{8}$")]
HexData = Annotated[str, Field(pattern=r"^0x([0-9a-fA-F]{2})*$", max_length=65_536)]
Word = Annotated[str, FreeText(200)]
Words = Annotated[list[Word], Field(max_length=200)]

RefusalReason = Literal[
    "TargetNotAllowed",
    "OverPerTxCap",
    "OverDailyCap",
    "MandateStopped",
    "MandateEnded",
    "server_guard",
]
Status = Literal["draft", "signed", "working", "stopped", "settled", "cancelled"]


# Agents and their policy


class AgentPath(Command):
    id: AccountIdText


class OffersQuery(AgentPath, Paged):
    """Of one agent, the caller."""


class ReplacePolicy(AgentPath):
    """The whole policy: what is left out is set to its default (docs/rules.md#policy)."""

    assets: Words = Field(default_factory=list)
    venues: Words = Field(default_factory=list)
    networks: Words = Field(default_factory=list)
    stop_conditions: Verbatim = None
    per_tx_cap_usdc: PositiveUsdc | None = None
    total_cap_usdc: PositiveUsdc | None = None
    hold_ratio: Share | None = None
    min_net_bps: NetBps | None = None
    max_cost_bps: Bps | None = None
    slippage_bps: Bps | None = None
    credit_budget_daily: Count | None = None
    auto_vs_approval: JsonObject | None = None
    accepts_mandates: Flag = False


# Drafts


class AgentShare(Command):
    """The agent's share of the gain; omitted fields get their defaults."""

    kind: Literal["share_of_verified_gain"] = SHARE_OF_VERIFIED_GAIN
    bps: Annotated[int, published_bounds(0, BPS_ONE), WHOLE] = DEFAULT_AGENT_FEE_BPS


class DraftTerms(Command):
    purpose: Annotated[str, FreeText(2_000, lines=True)]
    budget_usdc: PositiveUsdc
    horizon_days: HorizonDays
    stop_floor_bps: StopFloorBps
    target_bps: TargetBps | None = None
    payout_rule: AgentShare = Field(default_factory=AgentShare)
    allowed_targets: (
        Annotated[
            list[Json],
            # the domain refuses 0 and more than MAX_RULES, in its own words
            Field(max_length=64, json_schema_extra={"minItems": 1, "maxItems": MAX_RULES}),
        ]
        | None
    ) = None
    per_tx_cap_usdc: PositiveUsdc | None = None
    daily_cap_usdc: PositiveUsdc | None = None
    approval_above_usdc: PositiveUsdc | None = None
    on_floor: Literal["keep", "close"] = "keep"
    chain_id: Int | None = None
    market_mode: Literal["paper", "testnet"] | None = None
    open_board: Flag = False
    listing_id: (
        Annotated[
            str, FreeText(64, exact=True), Field(description="a gallery listing to base it on")
        ]
        | None
    ) = None
    listing_params: Annotated[dict[Word, Millionths], Field(max_length=PARAMS_MOST)] | None = Field(
        default=None,
        description="the listing's parameters by name, each within its range; those left out get "
        "their defaults",
    )


class CreateDraft(DraftTerms):
    agent_id: AccountIdText | None = None


class Goal(Command):
    """What an agent asks for; the draft's other fields have defaults until the owner edits them."""

    budget_usdc: PositiveUsdc
    horizon_days: HorizonDays
    stop_floor_bps: StopFloorBps
    per_tx_cap_usdc: PositiveUsdc | None = None
    daily_cap_usdc: PositiveUsdc | None = None


class Propose(Command):
    """`title` is the purpose (docs/rules.md#policy)."""

    agent_id: AccountIdText
    title: Annotated[str, FreeText(2_000, lines=True)]
    goal: Goal


class UpdateDraft(DraftTerms):
    """A draft is replaced whole but for its agent, whom assign designates."""

    id: PublicId


class AssignAgent(Command):
    id: PublicId
    agent_id: AccountIdText


class MandatePath(Command):
    id: PublicId


# Signing


class AuthorFields(Command):
    """The author's signature of the row that a call writes: EIP-712 RecordRow
    (docs/record.md#signed-rows), placed as GET .../author says.
    """

    signer: Address
    sequence: Annotated[int, Field(ge=1, le=2**53 - 1), WHOLE]
    prev: TxHash
    signature: Signature


# A signature proves the row and does not change it: the same call signed again is the same call.
Authored = Annotated[
    AuthorFields | None,
    Field(
        default=None,
        exclude=True,
        description="your signature of the row; once you have signed one row of a mandate, you "
        "must sign all later ones",
    ),
]


class EndMandate(MandatePath):
    """Of a stop or a cancellation; `author` signs the row that it writes, where it writes one."""

    author: Authored = None


class SignTerms(MandatePath):
    signature: Signature


# Calls of the owner


class DeployQuery(MandatePath):
    fund: Literal["none", "approve", "authorization"] = "none"
    authorization_signature: Signature | None = None


class DepositQuery(MandatePath):
    amount_usdc: PositiveUsdc


class WithdrawQuery(MandatePath):
    amount_usdc: PositiveUsdc | None = None
    to: Address | None = None


class ClosePlanQuery(MandatePath):
    exit_allowance_bps: Annotated[
        Bps,
        Field(
            description="how much less than its worth the sale of a position may bring, else it "
            "reverts; 10000 accepts any price"
        ),
    ] = DEFAULT_ALLOWANCE_BPS


class SetAgentQuery(MandatePath):
    agent_wallet: Annotated[Address | None, EMPTY_IS_NONE] = Field(
        default=None,
        description="address of the new agent; left out or empty: the vault obeys no agent",
    )


# The agent acts


class ExecuteCall(MandatePath):
    """One call: function and args, or selector and data (arguments without the selector), or data
    alone (with it).

    Or one payment: the URL of a web resource, and whom it is paid by.
    """

    target: Address | None = None
    resource: (
        Annotated[
            str,
            FreeText(2048, exact=True),
            Field(description="URL to pay for, instead of target"),
        ]
        | None
    ) = None
    pay_to: Address | None = Field(
        default=None,
        description="payTo from the resource's x402 offer; optional for this service's own "
        "resources",
    )
    function: (
        Annotated[
            str, FreeText(400, exact=True), Field(description="signature, such as buy(uint256)")
        ]
        | None
    ) = None
    selector: Selector | None = None
    args: Annotated[list[Json], Field(max_length=32)] | None = None
    data: HexData | None = None
    amount_usdc: Annotated[
        UnsignedUsdc,
        Field(description="USDC that the target may take at most; 0 for an exit, such as a sale"),
    ]
    dry_run: Flag = True


class UnwindCall(MandatePath):
    position_id: Annotated[str, FreeText(128, exact=True)] | None = None
    adapter: (
        Annotated[
            str,
            FreeText(64, exact=True),
            Field(description="the adapter's address, or its name in close-all-plan"),
        ]
        | None
    ) = None
    min_usdc: (
        Annotated[
            UnsignedUsdc,
            Field(
                description="the least that the sale may bring, else it reverts; 0 accepts any price; "
                "left out: the position's worth less 1 %"
            ),
        ]
        | None
    ) = None


class ReportEvent(MandatePath):
    """See docs/rules.md#reports-of-agents.

    Kinds and payload are judged by the domain, so that a break is stored and flagged.
    """

    kind: Annotated[
        str, FreeText(32, exact=True, least=0), Field(json_schema_extra={"enum": [*AGENT_KINDS]})
    ]
    amount_usdc: Usdc | None = None
    tx_hash: TxHash | None = Field(default=None, description="hash of the transaction that did it")
    why: (
        Annotated[
            str,
            FreeText(4_000, lines=True),
            Field(
                description="your reason, with the number of the clause that allows it",
            ),
        ]
        | None
    ) = None
    payload: JsonObject | None = Field(
        default=None,
        description="target {kind, chain_id, address}, position, mark, marks, next_at, text",
    )
    detail: JsonObject | None = Field(default=None, description="{target}, if payload has none")
    author: Authored = None


class ReportRefusal(MandatePath):
    reason: RefusalReason
    tx_hash: TxHash | None = None
    amount_usdc: Usdc | None = None
    author: Authored = None


# Reading


class ListQuery(Paged):
    status: Status | None = None


class BoardQuery(Paged):
    """Anyone's."""


class AlertsQuery(Paged):
    """The caller's own."""


class PageQuery(MandatePath, Paged):
    """A page of one mandate's record."""


LastEventId = Annotated[
    str,
    Field(
        max_length=4_096,
        description="the id of the last event you received; the header Last-Event-ID does the same",
    ),
]


class FollowMandate(MandatePath):
    last_event_id: LastEventId | None = None


class FollowAll(Command):
    last_event_id: LastEventId | None = None


Week = Annotated[
    str,
    Field(
        max_length=16,
        description="<year>-W<week>, ISO week in UTC",
        json_schema_extra={"pattern": "^[2-9][0-9]{3}-W(0?[1-9]|[1-4][0-9]|5[0-3])$"},
    ),
]
Format = Literal["json", "csv", "pdf"]


class StatementQuery(Command):
    week: Week | None = None
    format: Format = "json"
    bom: Annotated[
        Flag,
        Field(
            description="with format=csv, 1: start with a byte-order mark, so that Excel reads the "
            "file as UTF-8"
        ),
    ] = False


class WeekQuery(MandatePath, StatementQuery):
    """Of one mandate."""


class AllWeeksQuery(StatementQuery):
    """Of all mandates of the caller."""
