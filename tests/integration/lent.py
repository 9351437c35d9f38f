"""How many connections a database has lent out while something is computed."""

from collections.abc import Callable
from typing import Any

import pytest

from core.db.engine import Database


def lent_during(
    monkeypatch: pytest.MonkeyPatch, database: Database, where: Any, name: str
) -> list[int]:
    """Connections lent out at each call of this function: none, unless a transaction is open."""
    made: Callable[..., Any] = getattr(where, name)
    lent = list[int]()

    def watched(*args: Any, **named: Any) -> Any:
        lent.append(database.connections_in_use)
        return made(*args, **named)

    monkeypatch.setattr(where, name, watched)
    return lent
