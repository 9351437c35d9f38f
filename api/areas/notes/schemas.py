"""Commands and answers of notes (docs/notes.md). A note itself is text/markdown."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.claims.rules.tickers import TICKER_CHARACTERS_MOST
from api.kernel.fields import WHOLE
from api.kernel.operation import AnswerBody, Command
from api.shared.board_row import LetterWord

DEFAULT_LISTED, MOST_LISTED = 100, 500
MOST_PATH = 120


class NotePath(Command):
    token: str = Field(description="a ticker, any case, at most 32 characters; listed or not")


class NotesQuery(Command):
    q: Annotated[str, Field(max_length=TICKER_CHARACTERS_MOST)] = Field(
        default="", description="how tickers begin; any case"
    )
    links_to: Annotated[str | None, Field(max_length=MOST_PATH)] = Field(
        default=None,
        description="those alone whose notes link to this one, a ticker or a file such as "
        "chain/eip155-1, as the newest export has them",
    )
    after: Annotated[str, Field(max_length=TICKER_CHARACTERS_MOST)] = Field(
        default="", description="next_after of the previous page"
    )
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), WHOLE] = DEFAULT_LISTED


class NoteEntry(AnswerBody):
    token: str
    file: str = Field(description="its file in the export, without .md")
    grade: LetterWord | None
    identity: str | None
    exchanges: list[str]


class NoteList(AnswerBody):
    """Tokens that have a note, by ticker. One that nobody lists has one too, and is not here."""

    notes: list[NoteEntry]
    next_after: str | None
    simulated: Literal[True] | None = None
