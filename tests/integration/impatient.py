"""A database that ends what stays open while nothing is asked of it, and work that takes longer."""

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from core.db.engine import Bounds, Database

IDLE_S: Final = 1
WORK_S: Final = 1.3


def impatient(database: Database) -> Database:
    """The same database through connections that may be idle in a transaction for IDLE_S."""
    url = database.engine.url.render_as_string(hide_password=False)
    return Database(url, application_name="test", bounds=Bounds(idle_in_transaction_s=IDLE_S))


def slow_down(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> list[str]:
    """Let the first call of this function take WORK_S; the list has its name once it did."""
    made: Callable[..., Any] = getattr(where, name)
    called = list[str]()

    def slow(*args: Any, **named: Any) -> Any:
        if not called:
            called.append(name)
            time.sleep(WORK_S)
        return made(*args, **named)

    monkeypatch.setattr(where, name, slow)
    return called
