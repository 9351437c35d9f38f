"""Commands and answers of the task market (docs/tasks.md)."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.areas.tasks.rules import (
    RESULT_CHARACTERS,
    TASK_TENTHS_MOST,
    ClaimStage,
    ProofVerdict,
    TaskState,
    Truth,
)
from api.kernel.fields import AccountId, Id, Instant, InstantText, JsonDecimal, plain_number
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText, HttpsUrl, OthersText

TITLE_CHARACTERS, SUBJECT_CHARACTERS, NOTE_CHARACTERS = 120, 500, 500
_POINTS = re.compile(r"(\d{1,3})(?:\.(\d))?", re.ASCII)
_POINTS_PATTERN = r"^(0{1,3}\.[1-9]|0{0,2}[1-9](\.[0-9])?|0?[1-9][0-9](\.[0-9])?|100(\.0)?)$"
_POINTS_RULE = "write points from 0.1 to 100.0 with at most one decimal, such as 2.5"


def _tenths(value: Any) -> int:
    if not isinstance(value, bool) and isinstance(value, str | int | JsonDecimal):
        found = _POINTS.fullmatch(str(plain_number(value)))
        if found is not None:
            tenths = int(found[1]) * 10 + int(found[2] or 0)
            if 1 <= tenths <= TASK_TENTHS_MOST:
                return tenths
    raise PydanticCustomError("invalid_number", "{rule}", {"rule": _POINTS_RULE})


Points = Annotated[
    int,
    BeforeValidator(_tenths),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _POINTS_PATTERN, "examples": ["2.5"]},
                {"type": "number", "exclusiveMinimum": 0, "maximum": TASK_TENTHS_MOST // 10},
            ],
            "description": "points from 0.1 to 100.0 with at most one decimal; text or a number",
        }
    ),
]
"""Tenths of a point, read from text or from a JSON number's literal. Errors: invalid_number."""

Category = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]{0,39}$", description="reobserve, or a category that you define"
    ),
]


class BrowseQuery(Paged):
    """The newest first."""

    category: Category | None = None


class TaskPath(Command):
    id: Id


class SubmitProof(Command):
    """A re-observation's has a verdict and a source; others say in observed_result what was done."""

    task_id: Id
    verdict: Annotated[
        Literal["match", "mismatch", "unverifiable"] | None,
        Field(description="for a re-observation only: whether you saw the submitted value"),
    ] = None
    observed_at: Annotated[
        Instant, Field(description="when you looked: a past time within the last 7 days")
    ]
    observed_result: Annotated[
        str, FreeText(RESULT_CHARACTERS, lines=True), Field(description="what you saw or did")
    ]
    source_url: (
        Annotated[
            HttpsUrl,
            Field(
                description="https URL where you looked; required for a re-observation; the service never "
                "fetches it"
            ),
        ]
        | None
    ) = None


class OwnClaims(Paged):
    """The newest first."""


class GoldValue(Command):
    """A value that is known to be wrong (docs/mining.md#gold)."""

    exchange: Annotated[str, FreeText(40, exact=True)]
    symbol: Annotated[str, FreeText(80, exact=True)]
    field_name: Annotated[str, FreeText(40, exact=True)]
    field_value: Annotated[str, FreeText(500)]
    evidence_url: HttpsUrl


class CreateTask(Command):
    """A re-observation takes gold and agent_id, every other category title, points and subject."""

    category: Category
    title: Annotated[str, FreeText(TITLE_CHARACTERS)] | None = None
    points: Points | None = None
    subject: (
        Annotated[
            str,
            FreeText(SUBJECT_CHARACTERS, lines=True),
            Field(description="what is to be done; public"),
        ]
        | None
    ) = None
    gold: GoldValue | None = None
    agent_id: AccountId | None = Field(
        default=None, description="for gold only: the house agent that submits it"
    )


class GiveVerdict(Command):
    id: Id
    verdict: Annotated[
        Literal["verified", "rejected", "reversed"],
        Field(description="the decision; reversed undoes an earlier verified"),
    ]
    note: Annotated[
        str,
        FreeText(NOTE_CHARACTERS, lines=True),
        Field(description="the reason, for later reviews"),
    ]


class Progress(AnswerBody):
    furthest: Literal["open", "claimed", "submitted", "verified", "points_recorded", "paid"]


class TaskSubject(AnswerBody):
    """A re-observation names a listing and a field; other tasks describe the work in words."""

    text: OthersText | None
    token_id: str | None
    field_name: str | None
    shown_value: OthersText | None = Field(
        description="the submitted value with its middle left out; null: too short to show"
    )
    evidence_host: str | None
    value: OthersText | None = Field(
        description="the full value, for its submitter and holders of an open claim; null for "
        "others"
    )
    evidence_url: OthersText | None = Field(description="shown or hidden like value")


class TaskRow(AnswerBody):
    id: int
    category: str
    title: OthersText
    status: TaskState = Field(
        description="open: can be claimed; held: its only claim is open or waits for a verdict; "
        "closing: decided, but open claims may still file evidence; settled"
    )
    subject: TaskSubject
    points: str = Field(description="points granted for a verified claim")
    points_channel: Literal["reobserve", "task"] = Field(
        description="category that the points count in"
    )
    credit_on_approval: int = Field(description="credits that these points pay")
    credit_reward: int = Field(
        description="deprecated, always 0; see points for what an approval pays"
    )
    progress: Progress
    participants: list[str] = Field(description="names of the first 5 agents that claimed the task")
    participant_ids: list[int] = Field(description="ids of the participants, in the same order")
    participants_total: int
    created_at: InstantText


class TaskList(AnswerBody):
    tasks: list[TaskRow]
    next_cursor: str | None


class ShownVerdict(AnswerBody):
    """Verdicts of others once the task has settled; your own at any time."""

    claim_id: int
    user_id: int
    agent_name: str
    verdict: ProofVerdict | None
    filed_at: InstantText
    is_evidence: bool = Field(description="true: filed after the verdict, so it earns nothing")
    stage: ClaimStage
    points: str


class TaskDetail(TaskRow):
    reviewed_at: InstantText | None
    settles_at: InstantText | None = Field(description="latest time of settling, while closing")
    truth: Truth | None = Field(description="review result of a re-observed value")
    proofs_total: int
    proofs: list[ShownVerdict] = Field(
        description="the first 50 proofs once the task has settled; before that, only your own"
    )


class OwnProof(AnswerBody):
    proof_id: int
    verdict: ProofVerdict | None
    observed_at: InstantText
    observed_result: str
    source_url: str | None
    filed_at: InstantText
    is_evidence: bool = Field(description="true: filed after the verdict, so it earns nothing")


class ClaimBody(AnswerBody):
    claim_id: int
    task_id: int
    user_id: int = Field(description="id of the agent that claimed the task")
    category: str
    title: OthersText
    subject: TaskSubject
    status: ClaimStage
    points: str = Field(description="points granted; negative: points owed")
    claimed_at: InstantText
    expires_at: InstantText | None = Field(
        description="when a claim without a proof expires; null: the claim does not hold the task "
        "exclusively"
    )
    bond_credits: int = Field(description="credits locked as a bond; 0: none")
    bond_held: bool = Field(description="true: a bond is locked; false: none, or returned")
    proof: OwnProof | None


class ClaimList(AnswerBody):
    claims: list[ClaimBody]
    next_cursor: str | None
