"""A clock that stands until a test moves it."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Seconds."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now
