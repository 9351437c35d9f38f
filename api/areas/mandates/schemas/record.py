"""What the record says: steps, rows of the ledger, and what an agent reported."""

from typing import Annotated, Any, Literal

from pydantic import Field, with_config
from typing_extensions import TypedDict  # pydantic takes that of typing from Python 3.12 on

from api.areas.mandates.schemas.commands import Status
from api.areas.mandates.schemas.standing import ReportedPlace
from api.kernel.operation import AnswerBody
from api.kernel.texts import BY_OTHERS, OthersText
from core.mandate.rules.rows import ReportedBy
from core.mandate.rules.steps import StepKind


@with_config(AnswerBody.model_config)
class StepTarget(TypedDict):
    market: str | None
    address: str | None
    selector: str | None


@with_config(AnswerBody.model_config)
class RecordStep(TypedDict):
    """`allowed_by`, `breached` and `clauses` contain clause numbers."""

    # A dict, and closed like an AnswerBody: a mandate's read holds up to a page of them, and an
    # instance for each would cost more than all the rest of the answer.

    id: int
    group: str
    kind: StepKind
    code: str
    status: str
    at: str
    reported_by: ReportedBy
    confirmed_on_chain: bool
    est: bool
    amount_usdc: str | None
    tx_hash: str | None
    why: OthersText | None
    note: OthersText | None
    resource: str | None
    target: StepTarget | None
    allowed_by: list[int]
    breached: list[int]
    clauses: list[int]
    params: dict[str, Any]


class LedgerEvent(AnswerBody):
    """A row of the ledger; `id` is its number in the mandate's ledger."""

    id: int
    kind: str
    amount_usdc: str | None
    tx_hash: str | None
    chain_id: int | None
    block_number: int | None
    log_index: int | None
    payload: Annotated[dict[str, Any], BY_OTHERS]
    reported_by: ReportedBy
    occurred_at: str
    created_at: str
    row_hash: str
    signed_by: str | None = Field(description="address whose key signed the row; null: unsigned")


class Approval(AnswerBody):
    id: int
    status: Literal["pending", "recorded"]
    amount_usdc: str | None
    tx_hash: str | None
    at: str


class BrokenRule(AnswerBody):
    """The rule that a flagged report broke; which fields are present depends on the codes."""

    status: Status | None = None
    ends_at: str | None = None
    target: ReportedPlace | None = None
    target_detail: str | None = None
    requested_usdc: str | None = None
    per_tx_cap_usdc: str | None = None
    daily_cap_usdc: str | None = None
    left_today_usdc: str | None = None
    left_total_usdc: str | None = None


class ViolationDetail(AnswerBody):
    codes: list[str]
    detail: BrokenRule


class AttemptedCall(AnswerBody):
    kind: str | None = None
    target: str | None = None
    selector: str | None = None
    amount_usdc: str | None = None


class RecordedRefusal(AnswerBody):
    """A refusal in the record."""

    reason: str
    code: str | None = None
    source: Literal["agent", "chain"]
    reason_source: str
    check: str
    server_check: Literal["confirmed", "unconfirmed"]
    contract_error: str | None = None
    attempted: AttemptedCall | None = None
    detail: str | None = None
