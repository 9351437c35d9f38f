"""The guides as api/areas/playbooks/service/guides/manifest.json lists them, read once.

What is asked for is looked up by its name, never opened by it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "guides"
MANIFEST = "manifest.json"
ATOMS = "atoms"


@dataclass(frozen=True, slots=True)
class Guide:
    title: str
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Playbook:
    """`atoms`: its short guides, free, by id; `pages`: the deeper ones, by path."""

    title: str
    atoms: Mapping[str, Guide]
    pages: Mapping[str, Guide]


@dataclass(frozen=True, slots=True)
class Shelf:
    playbooks: Mapping[str, Playbook]

    @property
    def atoms(self) -> Mapping[str, Guide]:
        """By id, of all playbooks."""
        return {name: one for book in self.playbooks.values() for name, one in book.atoms.items()}


@cache
def shelf(folder: Path = FOLDER) -> Shelf:
    """Errors: OSError, ValueError, KeyError when manifest and files disagree."""
    listed = json.loads((folder / MANIFEST).read_text())
    return Shelf(
        {
            name: Playbook(
                book["title"],
                {
                    atom: _guide(folder / ATOMS / f"{atom}.md", of)
                    for atom, of in book["atoms"].items()
                },
                {path: _guide(folder / name / path, of) for path, of in book["pages"].items()},
            )
            for name, book in listed.items()
        }
    )


def _guide(file: Path, entry: Mapping[str, str]) -> Guide:
    return Guide(entry["title"], entry["summary"], file.read_text())
