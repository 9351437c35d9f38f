"""A mandate as it is shown: its fields, its clauses and the card around them.

Amounts are text with six decimals, times ISO 8601 in UTC; unknown is null. What an agent or an
owner wrote freely is JSON without a form.
"""

from typing import Any, Literal

from pydantic import Field

from api.areas.mandates.schemas.commands import Status
from api.kernel.operation import AnswerBody
from core.mandate.rules.clauses import EnforcedBy

Mode = Literal["paper", "testnet"]


class LedgerAnswer(AnswerBody):
    """What is made of a mandate's ledger, which may lack facts of the chain."""

    data_issue: Literal[True] | None = Field(
        default=None, description="there when what is shown is not the whole truth"
    )
    data_issue_reason: str | None = None


# The mandate


class PayoutRule(AnswerBody):
    """The agent's share of the gain, as the owner wrote it; what is left out has its default."""

    kind: str | None = None
    bps: int | None = None


class AllowedFunction(AnswerBody):
    selector: str
    signature: str | None
    recipient_word: int | None = Field(
        description="which word of the arguments must be the vault; null: none"
    )
    exit: bool


class AllowedTarget(AnswerBody):
    """An entry of allowed_targets.

    A contract and the vault have chain_id and address, a contract functions, x402 hosts and payees.
    """

    kind: Literal["mandate_vault", "contract", "x402"]
    chain_id: int | None = None
    address: str | None = Field(
        default=None, description="of mandate_vault: null until there is a vault"
    )
    functions: list[AllowedFunction] | None = Field(
        default=None, description="null: all that a listed adapter publishes"
    )
    unpinned: bool | None = Field(
        default=None, description="the owner left receivers open on purpose"
    )
    hosts: list[str] | None = None
    payees: list[str] | None = None


class VaultRule(AnswerBody):
    """A rule as the vault enforces it."""

    target: str
    selector: str
    recipient_word: int
    kind: int


class MandateView(LedgerAnswer):
    """A mandate."""

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
    payout_rule: PayoutRule | None
    allowed_targets: list[AllowedTarget]
    per_tx_cap_usdc: str | None
    daily_cap_usdc: str | None
    approval_above_usdc: str | None
    on_floor: Literal["keep", "close"]
    chain_id: int
    market_mode: Mode
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


class TermsStatus(AnswerBody):
    """Whether the stored terms still give the signed digest.

    `signer_matches` null: no key explains the signature.
    """

    signed: bool
    version: int
    digest: str
    digest_matches: bool
    signer_matches: Literal[True] | None


# Clauses and card


class TiedArgument(AnswerBody):
    function: str
    argument: int = Field(description="the only argument that is tied to the vault, from 1")


class MarketItem(AllowedTarget):
    """A target as clause 5 tells of it."""

    partly_tied: list[TiedArgument] | None = None
    text_en: str
    enforced_by: EnforcedBy


class ClauseParams(AnswerBody):
    """The numbers in a clause's sentence; which there are follows from its key."""

    amount: str | None = None
    hours: int | None = None
    loss: str | None = None
    pct: str | None = None
    unvalued_targets: list[str] | None = None
    items: list[MarketItem | str] | None = Field(
        default=None, description="of markets its targets, of your_floors codes"
    )
    unverified_names: list[str] | None = None
    on_floor: Literal["keep", "close"] | None = None
    targets_without_exit: list[str] | None = None
    days: int | None = None
    ends_at: str | None = None
    owner: str | None = None


class Clause(AnswerBody):
    """`source`: the first signed term behind it."""

    n: int
    key: str
    text_en: str
    params: ClauseParams
    enforced_by: EnforcedBy
    source: str | None
    signed_fields: list[str]
    status: Literal["enforced", "stored_pending"]


class CardLine(AnswerBody):
    text_en: str
    params: dict[str, str | int | None]


class CardFooterLine(CardLine):
    key: str


class StrategyLine(AnswerBody):
    text_en: str
    params: dict[str, Any]


class CardHeader(AnswerBody):
    identity: CardLine
    who: CardLine
    strategy: StrategyLine | None
