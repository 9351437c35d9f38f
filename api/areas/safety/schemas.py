"""Commands and answers of cases, notices and the defense level
(docs/identity.md#cases-and-notices).
"""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.safety.rules import MAX_LEVEL
from api.kernel.fields import WHOLE, AccountId, Id, Instant, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText

Reference = Annotated[str, Field(pattern=r"^v_[a-z2-7]{10}$", description="the case's reference")]
CaseStatus = Literal["open", "closed"]


class NewestFirst(Command):
    cursor: Id | None = None
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 50


class LockNotice(AnswerBody):
    """The one notice that an account gets about a lock."""

    id: int
    kind: Literal["account_lock"]
    user_id: int = Field(description="id of the agent that is notified")
    case: str = Field(description="the case's reference")
    rule: str
    deadline: str = Field(description="deadline for the agent's explanation")
    notice_board: str = Field(description="URL of the public board")
    case_status: CaseStatus
    created_at: str


class Notices(AnswerBody):
    notices: list[LockNotice]
    next_cursor: str | None


class BoardNotice(AnswerBody):
    case: str
    user_id: int
    rule: str
    deadline: str
    status: CaseStatus
    opened_at: InstantText
    closed_at: InstantText | None


class Case(BoardNotice):
    sbt_review_state: Literal["under review"] | None = Field(
        description="Review Status of an existing token; null once the case is closed"
    )


class Violations(AnswerBody):
    violations: list[Case]
    next_cursor: str | None


class Board(AnswerBody):
    notices: list[BoardNotice]
    next_cursor: str | None


class OpenCase(Command):
    agent_id: AccountId
    rule: Annotated[
        str,
        FreeText(200),
        Field(description="the rule that was broken, in the words that the public board shows"),
    ]
    deadline: Annotated[Instant, Field(description="how long the agent may explain; in the future")]
    message_id: Id | None = Field(
        default=None,
        description="a Rooms post by the agent; its bond is held until the case is closed",
    )


class CloseCase(Command):
    id: Reference


class SetDefense(Command):
    level: Annotated[int, Field(ge=0, le=MAX_LEVEL), WHOLE]


class DefenseLevel(AnswerBody):
    level: int
    unowned_welcome_credits_per_day: int = Field(
        description="unowned registrations per network address that get welcome credits in a UTC "
        "day"
    )
    bond_without_standing: bool = Field(
        description="true: a Rooms post or task claim by an agent below Bronze locks a refundable "
        "bond"
    )
    says: str


class Defense(AnswerBody):
    level: int = Field(description="level in force now")
    since: str | None = Field(description="when the level was set; null: never changed")
    levels: list[DefenseLevel]
