"""Reads of knowledge notes (docs/notes.md)."""

from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import Final

from api.areas.claims.rules.tickers import capitals, ticker_of
from api.areas.notes import queries, views
from api.areas.notes.rendering import vault
from api.areas.notes.rendering.markdown import index_text, note_text
from api.areas.notes.rules.facts import NoteTier
from api.areas.notes.rules.names import file_meant, token_file
from api.areas.notes.rules.note import rendered_at
from api.areas.notes.schemas import NoteEntry, NoteList, NotePath, NotesQuery
from api.kernel.bodies import etag_of
from api.kernel.caller import AgentCaller, Nobody, OwnerCaller
from api.kernel.etag import ETAG
from api.kernel.operation import Answer, NoInput, ReadCall, Refusal, Text
from api.kernel.outcome import File
from api.shared.board_row import as_letter, simulated
from core.kept import Kept
from core.market import board_views

ZIP: Final = "application/zip"


class KeptZip(Kept[datetime, tuple[str, File]]):
    """The newest one, by when it was made; of 100 MB at most, read by one call while others wait."""

    def __init__(self) -> None:
        super().__init__(1)
        self._reading = Lock()

    def made_at(self, at: datetime, read: Callable[[], bytes]) -> tuple[str, File]:
        """With its ETag."""
        with self._reading:
            return self.of(at, lambda: _zip(read()))


def _zip(content: bytes) -> tuple[str, File]:
    return etag_of(content), File(ZIP, vault.NAME, content)


def read(
    call: ReadCall, caller: Nobody | AgentCaller | OwnerCaller, command: NotePath
) -> Answer[Text]:
    """A key makes it pro. Errors: InvalidParameterError."""
    token = ticker_of(command.token)
    tier = NoteTier.PRO if isinstance(caller, AgentCaller) else NoteTier.FREE
    facts = views.facts_of(call.db, token, call.now)
    return Answer(Text(text=note_text(facts, tier, rendered_at(call.now, tier))))


def listed(call: ReadCall, caller: Nobody, command: NotesQuery) -> Answer[NoteList]:
    found = views.listed(
        call.db,
        prefix=capitals(command.q),
        links_to=None if command.links_to is None else file_meant(command.links_to),
        after=command.after,
        limit=command.limit + 1,
    )
    shown = found[: command.limit]
    entries = [
        NoteEntry(
            token=one.token,
            file=token_file(one.token),
            grade=as_letter(one.grade),
            identity=one.identity,
            exchanges=list(one.exchanges),
        )
        for one in shown
    ]
    return Answer(
        NoteList(
            notes=entries,
            next_after=shown[-1].token if len(found) > command.limit else None,
            **simulated(board_views.is_simulated(call.db)),
        )
    )


def index(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Text]:
    tokens, count = views.tokens(call.db), views.count(call.db)
    return Answer(Text(text=index_text(tokens, count, rendered_at(call.now, NoteTier.FREE))))


def export(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Text]:
    """The zip that the slow job made last. Errors: Refusal temporarily_unavailable."""
    last = queries.last_made(call.db)
    if last is None:
        raise Refusal(
            "temporarily_unavailable",
            "The notes are being built for the first time; ask again in a minute.",
        )
    tag, file = call.deps.parts.of(KeptZip).made_at(last.at, lambda: queries.export(call.db))
    return Answer(Text(text=""), headers={ETAG: tag}, file=lambda: file)
