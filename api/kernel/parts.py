"""What an application holds beside what every call needs, by its type: what the settings of an area
decide, and what an area keeps. The kernel knows none of them by name.
"""

from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Parts:
    """Threads may share it. What it was not given is made at the first `of`, by its defaults."""

    def __init__(self, *given: object) -> None:
        self._held: dict[type, Any] = {type(part): part for part in given if part is not None}
        self._lock = Lock()

    def find(self, kind: type[T]) -> T | None:
        """None: it is not set up."""
        return self._held.get(kind)

    def of(self, kind: type[T]) -> T:
        with self._lock:
            if kind not in self._held:
                self._held[kind] = kind()
            return self._held[kind]  # type: ignore[no-any-return]  # held by its type

    def having(self, kind: type[T], part: T | None) -> "Parts":
        """The same with another one of this kind, or without any."""
        found = Parts()
        found._held = {**self._held, kind: part}
        if part is None:
            del found._held[kind]
        return found
