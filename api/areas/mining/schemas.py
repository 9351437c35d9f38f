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

SIMULATED = "true: the listing is simulated; left out otherwise"
SubmissionId = Annotated[Id, Field(description="the submission's id")]
EntryId = (
    Annotated[Id, Field(description="the entry's id; may be left out where it is the only one")]
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
        Field(description="reproduced: seen at the evidence; re_observed: seen elsewhere"),
    ]
    source: Annotated[
        HttpsUrl,
        Field(description="https URL of where it was seen"),
    ]
    observed_at: Annotated[Instant, Field(description="when; not later than now")]
    observed_result: Annotated[str, FreeText(TEXT_CHARACTERS_MOST)]
    match: Annotated[Literal[True], NO_NUMBER, Field(description="what was seen is the value")]


class RejectEntry(Command):
    id: SubmissionId
    entry_id: EntryId = None
    reason_code: Annotated[
        RejectWord,
        Field(description="value_wrong also tells who re-observed that a mismatch was right"),
    ]
    note: Annotated[str, FreeText(TEXT_CHARACTERS_MOST)] | None = None


class ReverseEntry(Command):
    id: SubmissionId
    entry_id: EntryId = None
    reason: Annotated[str, FreeText(TEXT_CHARACTERS_MOST)]


class ListedField(AnswerBody):
    field: str
    points: str = Field(description="what an approved value earns, with one decimal")
    credit_on_approval: int
    credit: int = Field(description="deprecated; the same as credit_on_approval")
    current_value: OthersText | None = Field(description="null: the field is empty")
    pending: bool = Field(description="somebody's value waits for its review")


class ListedGroup(AnswerBody):
    key: str
    fields: list[ListedField]


class MinableFields(AnswerBody):
    token_id: str
    total_empty: int
    total_points: str = Field(description="of the empty fields")
    total_credit_on_approval: int
    total_credit: int = Field(description="deprecated; the same as total_credit_on_approval")
    groups: list[ListedGroup]
    simulated: Literal[True] = Field(default=True, description=SIMULATED)


class AcceptedEntry(AnswerBody):
    entry_id: int
    field_name: str
    status: EntryStatus
    task_id: int = Field(description="the re-observation that was opened with it")


class AcceptedDiscovery(AnswerBody):
    submission_id: int
    room_id: int = Field(description="the token's room, which has a redacted summary")
    entries: list[AcceptedEntry]
    simulated: Literal[True] = Field(default=True, description=SIMULATED)


class MiningRewardLine(AnswerBody):
    submission_id: int
    entry_id: int
    token_id: str
    field_name: str
    points: str
    credits: int
    queued_credits: int = Field(description="what of the credits still waits to be paid")
    approved_at: InstantText


class MiningBalance(AnswerBody):
    credit_balance: int = Field(description="what can be spent")
    earned: int = Field(description="of it, what was earned")
    owed: int = Field(description="debts; later earnings repay them first")
    recent_rewards: list[MiningRewardLine] = Field(description="the newest 50 approvals")


class EntryReview(AnswerBody):
    """The latest decision; of an approval what its reviewer saw."""

    verdict: Literal["approved", "rejected", "reversed"]
    reviewed_by: str = Field(description="operator:<n>")
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
    chain: str | None = Field(description="that an address was read on")
    evidence_url: str
    status: EntryStatus
    reason_code: EndReason | None = Field(description="why it is rejected")
    points: str
    credit_on_approval: int
    task_id: int | None
    review: EntryReview | None = Field(description="null: it waits for one")


class OwnSubmission(AnswerBody):
    submission_id: int
    token_id: str
    exchange: str
    symbol: str
    room_id: int
    status: EntryStatus = Field(
        description="pending while an entry is, else approved if one is, else rejected"
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
    credits: int = Field(description="repaid, paid and queued together")
    repaid_credits: int
    paid_credits: int
    queued_credits: int
    superseded: list[int] = Field(description="entries that this approval rejected, 20 at most")


class ReversedEntry(ReviewedEntry):
    withdrawn_credits: int = Field(description="left the queue unpaid")
    owed_credits: int = Field(description="had been paid, and is a debt now")


class LandscapeGroup(AnswerBody):
    key: str
    slots: int
    filled: int
    percent_filled: str | None
    facts_24h: int


class Landscape(AnswerBody):
    percent_filled: str | None = Field(
        description="one decimal, rounded down; null: there are no listings"
    )
    slots: int = Field(description="fields that apply, over all listings")
    filled: int
    listings: int = Field(description="pairs that exchanges list, or did")
    simulated_listings: int = Field(description="of these, simulated ones")
    tokens: int = Field(description="tickers, each once however many listings it has")
    tokens_zero_facts: int = Field(description="of these, those without a value on any listing")
    facts_24h: int = Field(description="added in the last 24 hours")
    groups: list[LandscapeGroup]
    computed_at: InstantText
