"""Commands and answers of fund signals (docs/fund.md)."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.kernel.fields import (
    Address,
    Flag,
    Id,
    Instant,
    InstantText,
    JsonDecimal,
    PositiveUsdc,
    above_0,
    plain_number,
)
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText
from core.errors import InvalidNumberError
from core.fund.rules.creation import REASON_CHARACTERS, CreationState
from core.fund.rules.frozen import MOST_MARKETS, FundKind, leverage_e2, weight_e4
from core.fund.rules.journey import JourneyNode, NodeState
from core.fund.rules.plan import CapReason, Disposition, PlanReason
from core.fund.rules.sessions import SessionState
from core.fund.rules.signals import FillSide

HASH_PATTERN = r"^0x[0-9a-fA-F]{64}$"
MANDATE_CHARACTERS, ORDER_ID_CHARACTERS = 2_000, 100


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | JsonDecimal):
        raise PydanticCustomError("invalid_number", "write the number as text, such as 0.25", {})
    return str(plain_number(value))


def _read_by(rule: Callable[[str, str], int]) -> BeforeValidator:
    """What a rule reads of the number's text."""

    def read(value: Any) -> int:
        try:
            return rule(_text(value), "")
        except InvalidNumberError as error:
            raise PydanticCustomError("invalid_number", "{rule}", {"rule": error.rule}) from error

    return BeforeValidator(read)


Weight = Annotated[
    int,
    _read_by(weight_e4),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": r"^-?(0(\.[0-9]{1,4})?|1(\.0{1,4})?)$",
                    "examples": ["0.2500"],
                },
                {"type": "number", "minimum": -1, "maximum": 1},
            ],
            "description": "a share of the NAV before leverage, -1 to 1, with at most 4 decimals",
        }
    ),
]
Leverage = Annotated[
    int,
    _read_by(leverage_e2),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": (
                        r"^((0?[1-9]|1[0-9])(\.[0-9]{1,2})?|0?0\.(0[1-9]|[1-9][0-9]?)|20(\.0{1,2})?)$"
                    ),
                    "examples": ["1.50"],
                },
                {"type": "number", "minimum": 0.01, "maximum": 20},
            ],
            "description": "a multiple from 0.01 to 20 with at most 2 decimals",
        }
    ),
]
RulesHash = Annotated[
    str, Field(pattern=HASH_PATTERN, description="the rules_hash from reading the vault")
]
MarketName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_.:-]{0,99}$",
        description="the token_id of a listing, such as binance_btc_usdt",
    ),
]
Number = Annotated[
    str,
    BeforeValidator(_text),
    Field(max_length=40),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": f"^{above_0(15, 18)}$",
                    "examples": ["91250.5"],
                },
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 10**15},
            ],
            "description": "above 0 and below 10^15, with at most 18 decimals",
        }
    ),
]

# Vaults


class VaultsQuery(Paged):
    """The newest first."""


class FundVaultPath(Command):
    id: Id


class FundVaultQuery(FundVaultPath):
    curve: Flag = Field(
        default=False, description="with the paper follower's worth over time, for a chart"
    )


class PaperPoint(AnswerBody):
    at: str
    nav_usd: str


class PaperShown(AnswerBody):
    since: str = Field(description="start of the paper follower, with 10000.000000 USDC")
    at: str = Field(description="time of this mark, before the oldest live signal")
    nav_usd: str = Field(description="NAV in USD, net of impact, exchange fees and the fund's fees")
    return_bps: str
    drawdown_bps: str = Field(description="fall below its highest hourly mark, basis points")
    max_drawdown_bps: str
    trades: int
    impact_usd: str
    fees_usd: str
    fund_fees_usd: str
    curve: list[PaperPoint] | None = Field(
        description="with curve=1 on a vault: at most 366 marks up to this one"
    )


class FundVaultRow(AnswerBody):
    id: int
    name: str
    kind: FundKind
    mirroring_paused: bool
    rules_hash: str
    simulated: Literal[True] = Field(
        default=True, description="true: based on simulated data; omitted otherwise"
    )


class FundVaultList(AnswerBody):
    vaults: list[FundVaultRow]
    next_cursor: str | None


class FundVaultRead(FundVaultRow):
    mandate: str
    frozen_rules: dict[str, Any] = Field(
        description="rules_hash is 0x and the SHA-256 of this object's canonical JSON (RFC 8785)"
    )
    frozen_at: str
    created_at: str
    mirrors_count: int = Field(description="number of active consents to the current rules")
    signals_count: int
    latest_signal_at: str | None
    fills_count: int = Field(description="number of self-reported fills")
    index_id: int | None = Field(description="index that a pilot's universe comes from")
    paper: PaperShown | None = Field(
        description="the paper follower's latest mark (docs/fund.md); null: none yet"
    )


class MarketSessionShown(AnswerBody):
    state: SessionState
    next_open: InstantText | None = Field(description="when it opens next; null: it is not closed")
    closes_at: InstantText | None = Field(
        description="when the session closes; null: it is not open, or never closes"
    )


class MarketLiquidityRow(AnswerBody):
    market: str
    grade: str | None
    provisional: bool
    session: MarketSessionShown
    cap_usd: str | None = Field(
        description="the most that a single order that increases a position may take, USD; null: "
        "unknown"
    )
    min_order_usd: str | None = Field(description="the venue's minimum order, USD; null: unknown")
    depth_usd: str | None = Field(description="median depth of the smaller side within 2 %, USD")
    volume_24h_usd: str | None
    daily_volatility_bps: str | None


class VaultLiquidity(AnswerBody):
    vault_id: int
    rules_hash: str
    markets: list[MarketLiquidityRow]


# Signals


class SignalsQuery(Paged):
    """The newest first."""

    id: Id
    live: Annotated[
        Flag, Field(description="true: signals younger than 24 hours instead; needs an agent's key")
    ] = False


class SignalPath(Command):
    signal_id: Id


class SignalShown(AnswerBody):
    signal_id: int
    vault_id: int
    market: str
    target_weight: str = Field(description="share of the NAV before leverage; negative: short")
    target_leverage: str
    at: InstantText
    historical: bool = Field(description="true: at least 24 hours old, so free")
    superseded: bool = Field(
        description="true: the vault has a later signal for this market; for a historical signal "
        "only later historical ones count"
    )
    rules_version: int
    mid: str | None = Field(description="mid price at publication, in the quote currency")
    prev_hash: str | None = Field(description="previous row_hash; null while live (docs/fund.md)")
    row_hash: str | None
    hashed_at: str | None = Field(
        description="`at` with six decimals, as row_hash uses it; null while the signal is live"
    )


class SignalPage(AnswerBody):
    vault_id: int
    mirroring_paused: bool
    rules_hash: str
    paper: PaperShown | None = Field(description="the paper follower's latest mark; null: none yet")
    signals: list[SignalShown]
    next_cursor: str | None
    locked_count: int = Field(default=0, description="live signals that you have not paid for")
    payment_required: dict[str, Any] | None = Field(
        default=None, description="x402 requirements for one signal; omitted: none is locked"
    )


class SignalRead(SignalShown):
    pass


# Consents


class GiveConsent(Command):
    id: Id
    account_address: Address
    max_order_usd: PositiveUsdc
    max_leverage: Leverage
    rules_hash: RulesHash


class FillShown(AnswerBody):
    fill_id: int
    signal_id: int
    side: FillSide
    price: str
    qty: str
    venue_order_id: str | None
    filled_at: InstantText
    reported_at: InstantText
    source: Literal["self_report"]


class MirrorShown(AnswerBody):
    vault_id: int
    account_address: str
    max_order_usd: str
    max_leverage: str
    rules_hash: str
    is_current: bool = Field(description="true: not ended, and given for the vault's current rules")
    given_at: InstantText
    revoked_at: InstantText | None


class MirrorQuery(Paged):
    """Fills, the newest first."""

    id: Id


class OwnMirror(MirrorShown):
    fills: list[FillShown] = Field(description="fills that you reported; unverified")
    next_cursor: str | None


class ConsentRevoked(AnswerBody):
    vault_id: int
    revoked_at: str


# Plans and fills


class PlanSignal(Command):
    id: Id
    account_address: Address


class OrderShown(AnswerBody):
    side: FillSide
    reduce_only: bool
    target_notional_usd: str
    position_notional_usd: str
    wanted_notional_usd: str
    capped_notional_usd: str
    capped_by: CapReason | None
    reference_price: str | None = Field(description="mid price of the book, in the quote currency")


class PlanShown(AnswerBody):
    signal_id: int
    vault_id: int
    disposition: Disposition
    reason: PlanReason | None = Field(
        description="why there is no order, or only one that closes; null: neither applies"
    )
    retry_at: str | None
    grade: str | None
    provisional: bool
    session: MarketSessionShown
    capped_notional_usd: str | None
    impact_bps: str | None = Field(description="expected price impact; null: unknown, or no order")
    charged: bool
    charged_credits: int
    historical: bool
    order: OrderShown | None
    nav_usd: str | None
    rules_hash: str
    service: dict[str, Any] = Field(
        default_factory=dict,
        description="details of the reason, if there is one: field, rule, next calls",
    )


class ReportFill(Command):
    id: Id
    account_address: Address
    filled_at: Instant
    price: Number
    qty: Number
    side: Literal["buy", "sell"]
    venue_order_id: Annotated[str, FreeText(ORDER_ID_CHARACTERS, exact=True)] | None = None


# Creation requests


class CreationRequestPath(Command):
    id: Id


class MarkCreated(Command):
    id: Id
    address: Address


class RejectCreation(Command):
    id: Id
    reason: Annotated[str, FreeText(REASON_CHARACTERS, lines=True)]


class CreationRequestShown(AnswerBody):
    request_id: int
    vault_id: int
    state: CreationState
    requested_at: str
    approved_at: str | None
    created_at: str | None
    address: str | None = Field(description="the vault's address as recorded by the operator")
    rejected_at: str | None
    reason: str | None = Field(description="why it was rejected; null if it was not")


# The journey


class JourneyQuery(Command):
    pass


class JourneyApi(AnswerBody):
    endpoint: str = Field(description="{id}: of an index, or of a vault you do not have yet")
    method: str
    mcp_tool: str | None


class JourneyNodeShown(AnswerBody):
    node: JourneyNode
    state: NodeState = Field(description="state of the step; next: not started")
    manual_href: str = Field(description="link to the page for people")
    api: JourneyApi
    next: list[dict[str, Any]] = Field(
        description="calls that complete the step, in order, with example bodies; empty: it is done"
    )
    cost: Literal["free", "bond"] = Field(description="bond: the amount is computed by the service")


class JourneyShown(AnswerBody):
    nodes: list[JourneyNodeShown]
    vault_id: int | None = Field(description="id of your pilot's vault; null: you have none")
    spot_pilot_days: int
    perp_record_days: int
    example: Literal[True] = Field(
        default=True,
        description="true: an example, since no credential was sent; omitted otherwise",
    )


# Operators


class RuledMarket(Command):
    market: MarketName
    session: Annotated[
        str, FreeText(20, exact=True), Field(description="always, or a calendar such as XNYS")
    ] = "always"
    min_order_usd: PositiveUsdc


class FundRulesBody(Command):
    mandate: Annotated[str, FreeText(MANDATE_CHARACTERS, lines=True)]
    max_leverage: Leverage
    universe: Annotated[list[RuledMarket], Field(min_length=1, max_length=MOST_MARKETS)]


class FreezeRules(Command):
    id: Id
    rules: FundRulesBody


class RulesFrozen(AnswerBody):
    vault_id: int
    version: int
    rules_hash: str
    frozen_at: str


class PublishSignal(Command):
    id: Id
    market: MarketName
    target_weight: Weight
    target_leverage: Leverage


class VaultPaused(AnswerBody):
    vault_id: int
    mirroring_paused: bool
    at: str
