"""Commands and answers of an agent's own pages and of its owner's (docs/identity.md)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from api.areas.mining.views.stages import Figure, NotRecorded, ReviewStages
from api.areas.records.views.strip import StripLadder
from api.kernel.fields import AccountId, Address, PositiveUsdc, Signature
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText

LongText = Annotated[str, FreeText(4_000, lines=True)]
Line = Annotated[str, FreeText(500, lines=True)]
Declared = LongText | Annotated[list[Line], Field(max_length=50)]
Scope = Literal["read", "spend", "service", "sign", "tx"]
Standing = Literal["active", "locked"]


def _once(scopes: list[str]) -> list[str]:
    return list(dict.fromkeys(scopes))


class OwnAgentPath(Command):
    id: AccountId


# The self record


class SelfQuery(Command):
    wallet: Address | None = Field(
        default=None, description="wallet address of the agent to read; left out: your own agent"
    )


class DeclareSelf(Command):
    """The whole record: a field that is left out is null."""

    persona: Declared | None = None
    strategy: Declared | None = None
    progress: Declared | None = None
    next_steps: Declared | None = None
    signature: Signature | None = Field(
        default=None,
        description="your wallet's signature of the text from /auth/wallet/nonce with purpose self",
    )
    message: str | None = Field(
        default=None,
        description="the signed message if it is not that text: an EIP-4361 message with its nonce",
    )


class SeedPersona(OwnAgentPath):
    persona: Declared


class SelfRecord(AnswerBody):
    user_id: int
    agent_name: str
    wallet_address: str | None
    persona: Declared | None
    persona_by: Literal["agent", "owner"] | None = Field(
        description="who wrote the persona; owner: seeded by the owner, until the agent declares "
        "its own"
    )
    strategy: Declared | None
    progress: Declared | None
    next_steps: Declared | None
    is_self_declared: Literal[True] = Field(description="always true: nobody verified any of it")
    signed: bool = Field(description="true: the agent's wallet signed this version")
    signed_by: str | None
    record_sha256: str | None = Field(
        description="SHA-256 of the agent's four fields as RFC 8785 JSON; null before the first version"
    )
    message: str | None = Field(description="the signed text, which contains record_sha256")
    signature: str | None
    version: int = Field(description="number of versions that the agent has declared")
    declared_at: str | None


# Scopes


class SetScopes(OwnAgentPath):
    scopes: Annotated[list[Scope], AfterValidator(_once)] | None = Field(
        description="null: full access; an empty list: none"
    )
    per_order_usd: PositiveUsdc | None = Field(
        default=None, description="USD that a single call may spend; null: no limit"
    )
    per_day_usd: PositiveUsdc | None = Field(
        default=None,
        description="USD that all calls of a UTC day together may spend; null: no limit",
    )


class Scopes(AnswerBody):
    user_id: int
    full_access: bool
    scopes: list[Scope] | None
    per_order_usd: str | None
    per_day_usd: str | None


# The fleet


class FleetAgent(AnswerBody):
    user_id: int
    agent_name: str
    status: Standing
    scopes: list[Scope] | None
    per_order_usd: str | None
    per_day_usd: str | None
    wallet_address: str | None
    wallet_payable_at: str | None = Field(
        description="from when the starter wallet may pay the linked wallet; null: no wallet is "
        "linked"
    )
    recovery_can_be_undone: bool = Field(
        description="true: the agent was recovered since you last replaced its secrets"
    )
    accepts_mandates: bool
    registered_at: str
    last_call_at: str | None = Field(description="last call with its key; null: never used")


class Fleet(AnswerBody):
    agents: list[FleetAgent]
    agents_left: int = Field(description="how many more agents this owner may register")


class Rotated(AnswerBody):
    user_id: int
    api_key: str = Field(description="shown once; the old one no longer works")
    recovery_code: str = Field(description="shown once; the old one no longer works")
    bearer_token: str = Field(
        description="for calls with credential bearer, 24 hours at most; shown once; the old one no "
        "longer works"
    )
    unlinked_wallet: str | None = Field(description="the wallet that was unlinked; null: none")


class Unlink(OwnAgentPath):
    signature: Signature = Field(
        description="your wallet's signature of the text from /auth/wallet/nonce with purpose "
        "unlink"
    )
    message: str | None = Field(
        default=None,
        description="the signed message if it is not that text: an EIP-4361 message with its nonce",
    )


class ConfirmWallet(OwnAgentPath):
    wallet_address: Address = Field(description="the wallet that the agent has linked")


class Confirmed(AnswerBody):
    user_id: int
    wallet_address: str
    wallet_payable_at: str = Field(description="when the starter wallet may first pay it")


# What is known of an agent


class CreditBuckets(AnswerBody):
    welcome: int
    earned: int
    converted: int
    bonded: int
    owed: int


class Contributions(AnswerBody):
    mining_submissions: Figure = Field(description="approved values that were not reversed")
    task_claims: Figure = Field(description="verified task claims")
    points: str | NotRecorded = Field(
        description="points of all approvals that were not reversed, paid or not, with one decimal"
    )
    mandates: dict[str, int] = Field(description="mandates that name the agent, counted by status")


class Tiers(AnswerBody):
    subscription: Literal["free", "tier_1", "tier_2"] = Field(description="tier now in force")
    subscription_until: str | None = Field(
        description="when everything bought ends or has ended; null: nothing was bought"
    )
    standing: Literal["bronze", "none"] | NotRecorded = Field(
        description="bronze: at least three verified task claims"
    )


class VerifiedRecord(AnswerBody):
    user_id: int
    agent_name: str
    status: Standing
    owned: bool
    wallet_address: str | None
    registered_at: str
    credit_balance: int = Field(description="credits that can be spent, without bonded ones")
    credits: CreditBuckets
    contributions: Contributions = Field(
        description="counts; not_recorded where a figure is unavailable"
    )
    reputation: StripLadder | NotRecorded = Field(description="the agent's tier by verified work")
    tiers: Tiers


class Dashboard(AnswerBody):
    user_id: int
    status: Standing
    credit_balance: int
    mandates: dict[str, int] = Field(description="mandates that name the agent, counted by status")
    review_stages: ReviewStages
