"""Calls that somebody signs and sends, and the steps of a plan that are made of them."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from api.areas.mandates.schemas.mandate import LedgerAnswer
from api.areas.mandates.schemas.standing import LimitsMoment, UsedLimits
from api.kernel.operation import AnswerBody


class CallTransaction(AnswerBody):
    """The call with the field names of JSON-RPC, as web3.py, viem and ethers expect."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    to: str
    data: str
    value: int = Field(description="wei, always 0")
    chain_id: int = Field(alias="chainId")


class BuiltCall(LedgerAnswer):
    """A call to sign and send.

    `data` null: there is nothing to send now; `reason` and `what_happens` explain why.
    """

    to: str | None
    data: str | None
    value: int = Field(description="wei, always 0")
    chain_id: int
    transaction: CallTransaction | None = Field(
        description="the same call as a transaction that a wallet or library sends unchanged, with or "
        "without `from`; null: there is nothing to send now"
    )
    reason: str | None = None
    what_happens: str | None = None
    locked_until: str | None = None


class CallCheck(AnswerBody):
    """Whether the vault would accept the call now, by `source`: chain, ledger or none (`ok` null).

    `remaining`: what is left of the limits, from the same source, at the block of `as_of`.
    """

    ok: bool | None
    reason: str | None
    source: Literal["chain", "ledger", "none"]
    remaining: UsedLimits
    as_of: LimitsMoment


class ExecuteCheck(CallCheck):
    """`agent`: address that the vault obeys; null: nobody, or unknown."""

    agent: str | None
    note: str | None


class GuardedPayment(AnswerBody):
    """What the relay guard signed. `deadline`: Unix seconds."""

    resource: str
    pay_to: str
    resource_hash: str
    nonce: str
    deadline: int
    guard: str
    guard_signature: str


class PlanStep(AnswerBody):
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
    min_proceeds_usdc: str | None = Field(
        description="USDC below which the sale reverts; null: the exit takes no minimum, or it is "
        "unknown (reason minimum_needed)"
    )
    withdrawable_now_usdc: str | None = Field(
        description="USDC that the sale returned in a simulation at the latest block; null: unknown"
    )
    note: str
    reason: str | None
    position_label: str | None
    call: BuiltCall | None = Field(
        description="to and data as a call to send; null: there is nothing to send now"
    )
    release_call: BuiltCall | None = Field(
        description="for positions held at their venue: the call that returns the venue's tokens "
        "to the vault, once the mandate is over; null: there is none"
    )
    dry_run: dict[str, Any] | None = Field(
        default=None, description="for a close by the relay: what it would do now"
    )


class Batch(AnswerBody):
    """Stop and withdrawal, for a wallet that can send several calls as one."""

    calls: list[BuiltCall]
    atomic: Literal[True]
    amount_usdc: str
    what_happens: str
