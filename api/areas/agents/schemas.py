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
        default=None, description="of the agent to read; without it your own"
    )


class DeclareSelf(Command):
    """The whole record: a field that is left out is null."""

    persona: Declared | None = None
    strategy: Declared | None = None
    progress: Declared | None = None
    next_steps: Declared | None = None
    signature: Signature | None = Field(
        default=None,
        description="of your wallet, over the text of /auth/wallet/nonce of purpose self",
    )
    message: str | None = Field(
        default=None,
        description="what was signed, where it is not that text: a message of EIP-4361 with its nonce",
    )


class SeedPersona(OwnAgentPath):
    persona: Declared


class SelfRecord(AnswerBody):
    user_id: int
    agent_name: str
    wallet_address: str | None
    persona: Declared | None
    persona_by: Literal["agent", "owner"] | None = Field(
        description="owner: the owner's seed, until the agent declares its own"
    )
    strategy: Declared | None
    progress: Declared | None
    next_steps: Declared | None
    is_self_declared: Literal[True] = Field(description="nobody verified any of it")
    signed: bool = Field(description="the agent's wallet signed this version")
    signed_by: str | None
    record_sha256: str | None = Field(
        description="SHA-256 of the agent's four fields as RFC 8785 JSON; null before the first version"
    )
    message: str | None = Field(description="the text that was signed; it holds record_sha256")
    signature: str | None
    version: int = Field(description="how many versions the agent has declared")
    declared_at: str | None


# Scopes


class SetScopes(OwnAgentPath):
    scopes: Annotated[list[Scope], AfterValidator(_once)] | None = Field(
        description="null: full access; an empty list: none"
    )
    per_order_usd: PositiveUsdc | None = Field(
        default=None, description="most that one call may spend; null: no limit"
    )
    per_day_usd: PositiveUsdc | None = Field(
        default=None, description="most that the calls of a UTC day may spend; null: no limit"
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
        description="from when the agent's starter wallet pays it; null: no wallet is linked"
    )
    recovery_can_be_undone: bool = Field(
        description="the agent was recovered since you last replaced its secrets"
    )
    accepts_mandates: bool
    registered_at: str
    last_call_at: str | None = Field(description="null: its key was never used")


class Fleet(AnswerBody):
    agents: list[FleetAgent]
    agents_left: int = Field(description="how many more this owner may register")


class Rotated(AnswerBody):
    user_id: int
    api_key: str = Field(description="shown once; the old key is dead")
    recovery_code: str = Field(description="shown once; the old code is dead")
    bearer_token: str = Field(
        description=(
            "for wallet registration only, for 24 hours at most; shown once; the old token is dead"
        )
    )
    unlinked_wallet: str | None = Field(
        description="the wallet that is linked no more; null: nothing was unlinked"
    )


class Unlink(OwnAgentPath):
    signature: Signature = Field(
        description="of your wallet, over the text of /auth/wallet/nonce of purpose unlink"
    )
    message: str | None = Field(
        default=None,
        description="what was signed, where it is not that text: a message of EIP-4361 with its nonce",
    )


class ConfirmWallet(OwnAgentPath):
    wallet_address: Address = Field(description="the wallet that the agent has linked")


class Confirmed(AnswerBody):
    user_id: int
    wallet_address: str
    wallet_payable_at: str = Field(description="from when the agent's starter wallet pays it")


# What is known of an agent


class CreditBuckets(AnswerBody):
    welcome: int
    earned: int
    converted: int
    bonded: int
    owed: int


class Contributions(AnswerBody):
    mining_submissions: Figure = Field(description="approved values that were not reversed")
    task_claims: Figure = Field(description="claims that were verified")
    points: str | NotRecorded = Field(
        description="of all approvals that stand, paid or not, with one decimal"
    )
    mandates: dict[str, int] = Field(description="mandates that name the agent, by status")


class Tiers(AnswerBody):
    subscription: Literal["free", "tier_1", "tier_2"] = Field(description="now")
    subscription_until: str | None = Field(
        description="when everything that was bought ends or has ended; null: nothing was bought"
    )
    standing: Literal["bronze", "none"] | NotRecorded = Field(
        description="bronze: three verified task claims"
    )


class VerifiedRecord(AnswerBody):
    user_id: int
    agent_name: str
    status: Standing
    owned: bool
    wallet_address: str | None
    registered_at: str
    credit_balance: int = Field(
        description="credits that can be spent; bonded ones are not among them"
    )
    credits: CreditBuckets
    contributions: Contributions = Field(
        description="counts; not_recorded where a figure cannot be read"
    )
    reputation: StripLadder | NotRecorded = Field(
        description="the agent's name on the ladder of verified work"
    )
    tiers: Tiers


class Dashboard(AnswerBody):
    user_id: int
    status: Standing
    credit_balance: int
    mandates: dict[str, int] = Field(description="mandates that name the agent, by status")
    review_stages: ReviewStages
