"""The guides as docs/playbooks/manifest.json lists them, read once.

What is asked for is looked up by its name, never opened by it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[4] / "docs" / "playbooks"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Guide:
    title: str
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Playbook:
    title: str
    pages: Mapping[str, Guide]


@dataclass(frozen=True, slots=True)
class Shelf:
    """`atoms` by id, `playbooks` by id and path."""

    atoms: Mapping[str, Guide]
    playbooks: Mapping[str, Playbook]


@cache
def shelf(folder: Path = FOLDER) -> Shelf:
    """Errors: OSError, ValueError, KeyError when manifest and files disagree."""
    listed = json.loads((folder / MANIFEST).read_text())
    atoms = {name: _guide(folder, entry) for name, entry in listed["atoms"].items()}
    playbooks = {
        name: Playbook(
            book["title"], {path: _guide(folder, entry) for path, entry in book["pages"].items()}
        )
        for name, book in listed["playbooks"].items()
    }
    return Shelf(atoms, playbooks)


def _guide(folder: Path, entry: Mapping[str, str]) -> Guide:
    return Guide(entry["title"], entry["summary"], (folder / entry["file"]).read_text())
