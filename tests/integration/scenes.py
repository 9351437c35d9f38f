"""What many tests begin with is played once a worker: its database is cloned for each of them, with
all that the people in it hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.market import parts
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


def partitioned(database: Database, now: datetime) -> None:
    """Partitions of the market's series around `now`: a database in which a test makes one is not put back."""
    with database.write() as session:
        for table in (parts.SAMPLES, parts.ROLLUPS, parts.GRADES):
            parts.ensure(session, table, now - timedelta(days=2), now + timedelta(days=2))
        parts.ensure(session, parts.ROLLUPS, now, now + timedelta(days=40))
