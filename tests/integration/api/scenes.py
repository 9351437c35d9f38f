"""What many tests begin with is played once a worker: its database is cloned for each of them, with
all that the people in it hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from tests.integration.databases import clone, url_of


@dataclass(frozen=True)
class Scene:
    """`database` is the name of one that nobody writes any more; `held` is what `play` answered."""

    database: str
    held: Any


@dataclass
class Scenes:
    postgres: EmbeddedPostgres
    played: dict[str, Scene] = field(default_factory=dict)

    def play(self, name: str, origin: str, play: Callable[[Database], Any]) -> Scene:
        """`play` begins with a clone of `origin`; a name is played once."""
        if name not in self.played:
            made = clone(self.postgres, origin)
            database = Database(url_of(self.postgres, made), application_name="scene")
            try:
                self.played[name] = Scene(made, play(database))
            finally:
                database.close()
        return self.played[name]
