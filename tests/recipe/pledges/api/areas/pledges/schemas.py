"""Commands and answers of pledges."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from api.kernel.fields import Int, PositiveUsdc
from api.kernel.operation import AnswerBody, Command


class MakePledge(Command):
    cause: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    amount_usdc: PositiveUsdc


class PledgePath(Command):
    id: Annotated[Int, Field(ge=1)]


class Pledged(AnswerBody):
    id: int
    cause: str
    amount_usdc: str
    state: Literal["open", "withdrawn", "lapsed"]
    made_at: str


class Pledges(AnswerBody):
    pledges: list[Pledged]
