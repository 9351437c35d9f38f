"""A mandate as it is shown: its fields, its clauses and the card around them.

Amounts are text with six decimals, times ISO 8601 in UTC; unknown is null. What an agent or an
owner wrote freely is JSON without a form.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict  # pydantic takes that of typing from Python 3.12 on

from api.areas.mandates.schemas.commands import Status
from api.kernel.operation import AnswerBody
from api.kernel.texts import BY_OTHERS, OthersText
from core.mandate.rules.clauses import EnforcedBy

Mode = Literal["paper", "testnet"]


class LedgerAnswer(AnswerBody):
    """What is made of a mandate's ledger, which may lack facts of the chain."""

    data_issue: Literal[True] | None = Field(
        default=None, description="present only when the data shown is incomplete or disputed"
    )
    data_issue_reason: str | None = None


# The mandate


@with_config(AnswerBody.model_config)
class PayoutRule(TypedDict):
    """The agent's share of the gain, as the owner wrote it; omitted fields have their defaults."""

    kind: NotRequired[str | None]
    bps: NotRequired[int | None]


@with_config(AnswerBody.model_config)
class FeePayee(TypedDict):
    """Who gets the agent's fee: the agent of the terms; on the open board the agent at the first
    call that spends; or the address that this payee has named since. `address` null: nobody yet, or
    unknown now.
    """

    address: str | None
    is_agent: Annotated[
        bool | None, Field(description="true: it is the agent that the vault obeys, or last obeyed")
    ]
    text_en: str


@with_config(AnswerBody.model_config)
class AllowedFunction(TypedDict):
    selector: str
    signature: str | None
    recipient_word: Annotated[
        int | None, Field(description="which word of the arguments must be the vault")
    ]
    exit: bool


@with_config(AnswerBody.model_config)
class AllowedTarget(TypedDict):
    """An entry of allowed_targets.

    A contract and the vault have chain_id and address, a contract functions, x402 hosts and payees.
    """

    kind: Literal["mandate_vault", "contract", "x402"]
    chain_id: NotRequired[int | None]
    address: NotRequired[
        Annotated[str | None, Field(description="null until a mandate_vault exists")]
    ]
    functions: NotRequired[
        Annotated[
            list[AllowedFunction] | None,
            Field(
                description="functions that may be called; null: all that a listed adapter publishes"
            ),
        ]
    ]
    unpinned: NotRequired[
        Annotated[bool | None, Field(description="true: the owner left receivers open")]
    ]
    hosts: NotRequired[list[str] | None]
    payees: NotRequired[list[str] | None]


@with_config(AnswerBody.model_config)
class VaultRule(TypedDict):
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
    purpose: OthersText
    budget_usdc: str
    horizon_days: int
    stop_floor_bps: int
    stop_floor_usdc: str
    target_bps: int | None
    payout_rule: PayoutRule | None
    fee_payee: FeePayee | None = Field(description="who gets the agent's fee; null on paper")
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
    strategy: Annotated[dict[str, Any] | None, BY_OTHERS]
    proposed_by_agent_id: str | None


@with_config(AnswerBody.model_config)
class TermsStatus(TypedDict):
    """Whether the stored terms still produce the signed digest.

    `signer_matches` null: no key explains the signature.
    """

    signed: bool
    version: int
    digest: str
    digest_matches: bool
    signer_matches: Literal[True] | None


# Clauses and card


@with_config(AnswerBody.model_config)
class TiedArgument(TypedDict):
    function: str
    argument: Annotated[
        int, Field(description="position of the only argument tied to the vault, from 1")
    ]


@with_config(AnswerBody.model_config)
class MarketItem(AllowedTarget):
    """A target as clause 5 names it."""

    partly_tied: NotRequired[list[TiedArgument] | None]
    text_en: str
    enforced_by: EnforcedBy


@with_config(AnswerBody.model_config)
class ClauseParams(TypedDict):
    """The numbers in the clause's sentence; which are present depends on its key."""

    amount: NotRequired[str | None]
    hours: NotRequired[int | None]
    loss: NotRequired[str | None]
    pct: NotRequired[str | None]
    unvalued_targets: NotRequired[list[str] | None]
    items: NotRequired[
        Annotated[
            list[MarketItem | str] | None,
            Field(description="for the clause markets: its targets; for your_floors: codes"),
        ]
    ]
    unverified_names: NotRequired[list[str] | None]
    on_floor: NotRequired[Literal["keep", "close"] | None]
    targets_without_exit: NotRequired[list[str] | None]
    days: NotRequired[int | None]
    ends_at: NotRequired[str | None]
    owner: NotRequired[str | None]
    payee: NotRequired[str | None]
    payee_is_agent: NotRequired[bool | None]


@with_config(AnswerBody.model_config)
class Clause(TypedDict):
    """`source`: the first signed term that the clause is based on."""

    n: int
    key: str
    text_en: str
    params: ClauseParams
    enforced_by: EnforcedBy
    source: str | None
    signed_fields: list[str]
    status: Literal["enforced", "stored_pending"]


@with_config(AnswerBody.model_config)
class CardLine(TypedDict):
    text_en: OthersText
    params: dict[str, str | int | None]


@with_config(AnswerBody.model_config)
class CardFooterLine(CardLine):
    key: str


@with_config(AnswerBody.model_config)
class StrategyLine(TypedDict):
    text_en: OthersText
    params: dict[str, Any]


@with_config(AnswerBody.model_config)
class CardHeader(TypedDict):
    identity: CardLine
    who: CardLine
    strategy: StrategyLine | None
