"""The vault for note apps: every free note, the hubs that their links lead to, and the index, as one
zip (docs/notes.md#the-vault).

Laws
- A link of a note leads to a file of the same vault.
- A path is one file, also where two names of hubs have one hash.
"""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.areas.notes.rendering.markdown import hub_text, index_text, note_text
from api.areas.notes.rules.facts import NoteFacts, NoteTier
from api.areas.notes.rules.names import INDEX, HubKind, token_file
from api.areas.notes.rules.note import edges

NAME: Final = "notes.zip"
_ROOT_ATTRIBUTES: Final = 0o644 << 16
_LEVEL: Final = 4  # of 9: half the time of the usual 6 for a twentieth more bytes


@dataclass(frozen=True, slots=True)
class NoteVault:
    """`content`: the zip. `notes`: files in it; `links`: (file that is led to, token whose note
    does).
    """

    content: bytes
    notes: int
    links: frozenset[tuple[str, str]]


def vault_of(facts: Iterable[NoteFacts], at: datetime) -> NoteVault:
    """Equal facts and time give equal bytes."""
    tokens: list[str] = []
    hubs: dict[str, tuple[HubKind, str]] = {}
    led_to: dict[str, list[str]] = {}
    buffer = io.BytesIO()
    stamp = at.timetuple()[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as file:

        def add(path: str, text: str) -> None:
            entry = zipfile.ZipInfo(f"{path}.md", stamp)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _ROOT_ATTRIBUTES
            file.writestr(entry, text, compresslevel=_LEVEL)

        for one in facts:
            tokens.append(one.token)
            add(token_file(one.token), note_text(one, NoteTier.FREE, at))
            for edge in edges(one):
                if edge.kind is not None:
                    hubs.setdefault(edge.path, (edge.kind, edge.name))
                led_to.setdefault(edge.path, []).append(one.token)
        for path, (kind, name) in hubs.items():
            add(path, hub_text(kind, name, sorted(set(led_to[path])), at))
        add(INDEX, index_text(tokens, len(tokens), at))
        count = len(file.filelist)
    links = {(path, token) for path, sources in led_to.items() for token in sources}
    return NoteVault(buffer.getvalue(), count, frozenset(links))
