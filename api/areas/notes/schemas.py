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
    token: str = Field(description="a ticker in any case, at most 32 characters, listed or not")


class NotesQuery(Command):
    q: Annotated[str, Field(max_length=TICKER_CHARACTERS_MOST)] = Field(
        default="", description="prefix of the ticker; case-insensitive"
    )
    links_to: Annotated[str | None, Field(max_length=MOST_PATH)] = Field(
        default=None,
        description="only tokens whose notes link to this note, by the newest export: a ticker, "
        "or a file such as chain/eip155-1",
    )
    after: Annotated[str, Field(max_length=TICKER_CHARACTERS_MOST)] = Field(
        default="", description="the next_after of the previous page"
    )
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), WHOLE] = DEFAULT_LISTED


class NoteEntry(AnswerBody):
    token: str
    file: str = Field(description="the note's file in the export, without .md")
    grade: LetterWord | None
    identity: str | None
    exchanges: list[str]


class NoteList(AnswerBody):
    """Tokens that have a note, by ticker. Unlisted tokens have notes too, which are not shown here."""

    notes: list[NoteEntry]
    next_after: str | None
    simulated: Literal[True] | None = None
