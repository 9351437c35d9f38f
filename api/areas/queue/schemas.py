"""The command and answer of the operators' queue (docs/mining.md#the-queue)."""

from typing import Literal

from pydantic import Field

from api.kernel.fields import InstantText
from api.kernel.operation import AnswerBody
from api.kernel.pagination import Paged

QueueKind = Literal[
    "submission", "proof", "claim", "application", "vault_request", "bond", "kg_claim"
]


class QueueQuery(Paged):
    """The oldest first."""

    kind: QueueKind = Field(default="submission", description="which kind of item to list")


class QueuedSubmission(AnswerBody):
    """An entry that waits for approval or rejection, with all its fields."""

    submission_id: int
    entry_id: int
    token_id: str
    exchange: str
    symbol: str
    field_name: str
    field_value: str
    chain: str | None
    evidence_url: str
    submitter_id: int
    submitter: str
    task_id: int | None
    proofs: int = Field(description="re-observations filed so far")
    gold: bool = Field(
        description="true: a test with a value known to be wrong; only operators can tell"
    )


class QueuedClaim(AnswerBody):
    """A claim that holds its task, and its proof that waits for a verdict; null: no proof yet."""

    claim_id: int
    task_id: int
    category: str
    title: str
    subject: str | None
    agent_id: int
    points: str
    claimed_at: InstantText
    expires_at: InstantText | None
    observed_at: InstantText | None
    observed_result: str | None
    source_url: str | None


class QueuedTokenClaim(AnswerBody):
    """A claim about a token, without a verdict so far."""

    claim_id: int
    base: str
    kind: str
    claim: str
    source_url: str
    agent_id: int


class QueuedVaultRequest(AnswerBody):
    """A maker's request for a vault; an approved one waits for the vault's address."""

    request_id: int
    vault_id: int
    state: Literal["requested", "approved"]


class QueuedApplication(AnswerBody):
    """An application for a pilot on an index, with its bond paid."""

    application_id: int
    index_id: int
    fund_type: str
    plan_text: str
    filter_categories: list[str]
    rebalance_cadence: str
    leverage: str
    fee_bps: int
    tvl_cap_usd: str
    bond_currency: str
    bond_usd: str | None
    bond_credits: int | None


class QueuedBond(AnswerBody):
    """A bond in USDC to return: `from` sends it to `to`, and return-bond reports the transfer."""

    application_id: int
    state: Literal["approved", "rejected"]
    usd: str
    from_: str = Field(alias="from", description="address to which the bond was paid")
    to: str = Field(description="address that paid the bond")
    paid_by: str


class QueueItem(AnswerBody):
    """Only the field of the item's kind is set: `submission`, `claim`, `kg_claim` and so on."""

    id: int
    at: InstantText = Field(description="since when the item has been waiting")
    submission: QueuedSubmission | None = None
    claim: QueuedClaim | None = None
    kg_claim: QueuedTokenClaim | None = None
    application: QueuedApplication | None = None
    vault_request: QueuedVaultRequest | None = None
    bond: QueuedBond | None = None


class OperatorQueue(AnswerBody):
    kind: QueueKind
    items: list[QueueItem]
    next_cursor: str | None
