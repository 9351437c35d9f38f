"""Commands and answers of mining (docs/mining.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.mining.rules.registry import FIELDS, VALUE_CHARACTERS_MOST
from api.areas.mining.rules.review import (
    OF_REVIEWERS,
    TEXT_CHARACTERS_MOST,
    EndReason,
    EntryStatus,
    ReviewMethod,
)
from api.kernel.fields import NO_NUMBER, Id, Instant, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText, HttpsUrl, OthersText
from api.shared.pairs import ExchangeId, SymbolInBody, SymbolInPath

RejectWord = Literal["value_wrong", "evidence_insufficient", "out_of_date", "not_allowed"]
MethodWord = Literal["reproduced", "re_observed"]
assert set(RejectWord.__args__) == OF_REVIEWERS  # type: ignore[attr-defined]  # of a Literal
assert set(MethodWord.__args__) == set(ReviewMethod)  # type: ignore[attr-defined]  # of a Literal

SIMULATED = "true: the listing is simulated; omitted otherwise"
SubmissionId = Annotated[Id, Field(description="the submission's id")]
EntryId = (
    Annotated[
        Id, Field(description="the entry's id; optional if the submission has only one entry")
    ]
    | None
)


class FieldsOfListing(Command):
    exchange: ExchangeId
    symbol: SymbolInPath


class MinedEntry(Command):
    field_name: Annotated[
        str, FreeText(100, exact=True), Field(description=f"one of {', '.join(FIELDS)}; each once")
    ]
    field_value: Annotated[str, FreeText(VALUE_CHARACTERS_MOST)]
    evidence_url: Annotated[
        HttpsUrl,
        Field(
            description="an https link that a reviewer can open to see the value",
        ),
    ]


class SubmitDiscovery(Command):
    exchange: ExchangeId
    symbol: SymbolInBody
    entries: Annotated[list[MinedEntry], Field(min_length=1, max_length=len(FIELDS))]


class SubmissionsQuery(Paged):
    """The newest submissions first."""


class ApproveEntry(Command):
    id: SubmissionId
    entry_id: EntryId = None
    method: Annotated[
        MethodWord,
        Field(description="reproduced: seen at the evidence link; re_observed: elsewhere"),
    ]
    source: Annotated[
        HttpsUrl,
        Field(description="https URL of the page where you saw it"),
    ]
    observed_at: Annotated[Instant, Field(description="when you saw it; not in the future")]
    observed_result: Annotated[str, FreeText(TEXT_CHARACTERS_MOST)]
    match: Annotated[
        Literal[True], NO_NUMBER, Field(description="true: you saw the submitted value")
    ]


class RejectEntry(Command):
    id: SubmissionId
    entry_id: EntryId = None
    reason_code: Annotated[
        RejectWord,
        Field(description="value_wrong also confirms re-observers who saw a mismatch"),
    ]
    note: Annotated[str, FreeText(TEXT_CHARACTERS_MOST)] | None = None


class ReverseEntry(Command):
    id: SubmissionId
    entry_id: EntryId = None
    reason: Annotated[str, FreeText(TEXT_CHARACTERS_MOST)]


class ListedField(AnswerBody):
    field: str
    points: str = Field(description="points that an approved value earns, with one decimal")
    credit_on_approval: int
    credit: int = Field(description="deprecated; the same as credit_on_approval")
    current_value: OthersText | None = Field(description="approved value; null: the field is empty")
    pending: bool = Field(description="true: a submitted value is waiting for review")


class ListedGroup(AnswerBody):
    key: str
    fields: list[ListedField]


class MinableFields(AnswerBody):
    token_id: str
    total_empty: int
    total_points: str = Field(description="points that all empty fields together would earn")
    total_credit_on_approval: int
    total_credit: int = Field(description="deprecated; the same as total_credit_on_approval")
    groups: list[ListedGroup]
    simulated: Literal[True] = Field(default=True, description=SIMULATED)


class AcceptedEntry(AnswerBody):
    entry_id: int
    field_name: str
    status: EntryStatus
    task_id: int = Field(description="id of the re-observation task opened with it")


class AcceptedDiscovery(AnswerBody):
    submission_id: int
    room_id: int = Field(description="id of the token's room, where a redacted summary is posted")
    entries: list[AcceptedEntry]
    simulated: Literal[True] = Field(default=True, description=SIMULATED)


class MiningRewardLine(AnswerBody):
    submission_id: int
    entry_id: int
    token_id: str
    field_name: str
    points: str
    credits: int
    queued_credits: int = Field(description="the part of credits that is not paid yet")
    approved_at: InstantText


class MiningBalance(AnswerBody):
    credit_balance: int = Field(description="credits that can be spent")
    earned: int = Field(description="the part of credit_balance that was earned")
    owed: int = Field(description="credits owed; later earnings repay them first")
    recent_rewards: list[MiningRewardLine] = Field(description="rewards of the newest 50 approvals")


class EntryReview(AnswerBody):
    """The latest decision; for an approval also what its reviewer saw."""

    verdict: Literal["approved", "rejected", "reversed"]
    reviewed_by: str = Field(description="the reviewer, as operator:<n>")
    method: ReviewMethod | None
    source: str | None
    observed_at: InstantText | None
    observed_result: str | None
    note: str | None
    at: InstantText


class OwnEntry(AnswerBody):
    entry_id: int
    field_name: str
    field_value: str
    chain: str | None = Field(description="for an address: the chain on which it was found")
    evidence_url: str
    status: EntryStatus
    reason_code: EndReason | None = Field(description="why the entry was rejected; null: it is not")
    points: str
    credit_on_approval: int
    task_id: int | None
    review: EntryReview | None = Field(description="the latest decision; null: waiting for review")


class OwnSubmission(AnswerBody):
    submission_id: int
    token_id: str
    exchange: str
    symbol: str
    room_id: int
    status: EntryStatus = Field(
        description="pending while any entry is pending, else approved if any is approved, else "
        "rejected"
    )
    submitted_at: str
    entries: list[OwnEntry]
    simulated: Literal[True] = Field(default=True, description=SIMULATED)


class OwnSubmissions(AnswerBody):
    submissions: list[OwnSubmission]
    next_cursor: str | None


class ReviewedEntry(AnswerBody):
    submission_id: int
    entry_id: int
    field_name: str
    status: EntryStatus
    reason_code: EndReason | None
    reviewed_by: str


class ApprovedEntry(ReviewedEntry):
    points: str
    credits: int = Field(description="total credits: repaid, paid and queued")
    repaid_credits: int
    paid_credits: int
    queued_credits: int
    superseded: list[int] = Field(description="entries that this approval rejected, at most 20")


class ReversedEntry(ReviewedEntry):
    withdrawn_credits: int = Field(description="credits removed from the queue, never paid")
    owed_credits: int = Field(description="credits already paid, which are now a debt")


class LandscapeGroup(AnswerBody):
    key: str
    slots: int
    filled: int
    percent_filled: str | None
    facts_24h: int


class Landscape(AnswerBody):
    percent_filled: str | None = Field(
        description="percent of slots with a value, one decimal, rounded down; null: no listings"
    )
    slots: int = Field(description="number of applicable fields over all listings")
    filled: int
    listings: int = Field(description="pairs that exchanges list or have listed")
    simulated_listings: int = Field(description="how many of the listings are simulated")
    tokens: int = Field(description="tickers, each counted once")
    tokens_zero_facts: int = Field(description="tickers without a value on any listing")
    facts_24h: int = Field(description="facts added in the last 24 hours")
    groups: list[LandscapeGroup]
    computed_at: InstantText
