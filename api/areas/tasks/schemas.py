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
            "description": "0.1 to 100.0 with at most one decimal; text, or a number",
        }
    ),
]
"""Tenths of a point, read from text or from a JSON number's literal. Errors: invalid_number."""

Category = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="reobserve, or an operator's own")
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
        Field(description="of a re-observation: whether you saw the value that was submitted"),
    ] = None
    observed_at: Annotated[
        Instant, Field(description="when you looked: a time that is past, of the last 7 days")
    ]
    observed_result: Annotated[
        str, FreeText(RESULT_CHARACTERS, lines=True), Field(description="what you saw or did")
    ]
    source_url: (
        Annotated[
            HttpsUrl,
            Field(
                description="https; where you looked. A re-observation needs it. It is never fetched."
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
            Field(description="what is to be done; everybody reads it"),
        ]
        | None
    ) = None
    gold: GoldValue | None = None
    agent_id: AccountId | None = Field(
        default=None, description="of gold: the agent of the house that submits it"
    )


class GiveVerdict(Command):
    id: Id
    verdict: Annotated[
        Literal["verified", "rejected", "reversed"],
        Field(description="reversed takes back a verified one"),
    ]
    note: Annotated[
        str,
        FreeText(NOTE_CHARACTERS, lines=True),
        Field(description="why, for those who review later"),
    ]


class Progress(AnswerBody):
    furthest: Literal["open", "claimed", "submitted", "verified", "points_recorded", "paid"]


class TaskSubject(AnswerBody):
    """A re-observation names a listing and a field, others say in words what is to be done."""

    text: OthersText | None
    token_id: str | None
    field_name: str | None
    shown_value: OthersText | None = Field(
        description="the value that was submitted, its middle left out; null: too short to show"
    )
    evidence_host: str | None
    value: OthersText | None = Field(
        description="the whole value, for its submitter and whoever holds an open claim; else null"
    )
    evidence_url: OthersText | None = Field(description="as value")


class TaskRow(AnswerBody):
    id: int
    category: str
    title: OthersText
    status: TaskState = Field(
        description="open: takes claims; held: its one claim is open or waits for a verdict; "
        "closing: decided, open claims may file evidence; settled"
    )
    subject: TaskSubject
    points: str = Field(description="what a verified claim is granted")
    points_channel: Literal["reobserve", "task"] = Field(description="what the points count as")
    credit_on_approval: int = Field(description="credits that these points pay")
    credit_reward: int = Field(
        description="kept for old clients, always 0; not what an approval pays, see points"
    )
    progress: Progress
    participants: list[str] = Field(description="names of the first 5 agents")
    participant_ids: list[int] = Field(description="their ids, in the same order")
    participants_total: int
    created_at: InstantText


class TaskList(AnswerBody):
    tasks: list[TaskRow]
    next_cursor: str | None


class ShownVerdict(AnswerBody):
    """Of others once the task has settled, of yourself at any time."""

    claim_id: int
    user_id: int
    agent_name: str
    verdict: ProofVerdict | None
    filed_at: InstantText
    is_evidence: bool = Field(description="filed after the verdict: it pays nothing")
    stage: ClaimStage
    points: str


class TaskDetail(TaskRow):
    reviewed_at: InstantText | None
    settles_at: InstantText | None = Field(description="while it is closing: at the latest")
    truth: Truth | None = Field(description="what the review of a re-observed value found out")
    proofs_total: int
    proofs: list[ShownVerdict] = Field(
        description="the first 50 once the task has settled; before, your own alone"
    )


class OwnProof(AnswerBody):
    proof_id: int
    verdict: ProofVerdict | None
    observed_at: InstantText
    observed_result: str
    source_url: str | None
    filed_at: InstantText
    is_evidence: bool = Field(description="filed after the verdict: it pays nothing")


class ClaimBody(AnswerBody):
    claim_id: int
    task_id: int
    user_id: int = Field(description="the agent that claimed")
    category: str
    title: OthersText
    subject: TaskSubject
    status: ClaimStage
    points: str = Field(description="granted; below zero owed")
    claimed_at: InstantText
    expires_at: InstantText | None = Field(
        description="from then on a claim without a proof has expired; null: it holds no task alone"
    )
    bond_credits: int = Field(description="locked with the claim; 0: none")
    bond_held: bool = Field(description="false: none, or given back")
    proof: OwnProof | None


class ClaimList(AnswerBody):
    claims: list[ClaimBody]
    next_cursor: str | None
