"""Reads that several calls wait for, done once.

    0 ms   calls A, B and C arrive, alike, and wait for their turns
    20 ms  A has its turn: its read begins
    29 ms  B has its turn: A's answer is of a read that began after B arrived, and B takes it; so does C
    30 ms  D arrives, alike: it waits for its own turn, and its read begins after 30 ms

Laws
- A call takes another's answer only where that read began after the call arrived: it is no older than
  its own could be, and has what the caller wrote before it asked.
- Alike is the same operation, path, query and credentials, from the same network address: nobody is
  answered with what was read for another.
- Each call is proven, counted, measured and logged by itself; its read alone is shared.
- An answer is held while a call waits that may take it, and no longer.
Source: request collapsing, RFC 9111 4 ("collapse requests").
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from api.kernel.caller import Caller
from api.kernel.credentials import Credentials
from api.kernel.operation import Operation
from api.kernel.outcome import JSON, Outcome

MOST_PLACE: Final = 1_024  # characters of path and query

Place = tuple[str, str, bytes, Credentials]


@dataclass(frozen=True, slots=True)
class SharedAnswer:
    began_at: float  # seconds of a clock that never goes back
    outcome: Outcome
    caller: Caller


@dataclass(slots=True)
class _Read:
    waiting: int = 0
    answer: SharedAnswer | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """One call that waits, and those alike. Its thread uses it."""

    at: float
    _read: _Read

    def find(self) -> SharedAnswer | None:
        """An answer as new as this call's own; None: there is none."""
        answer = self._read.answer
        return answer if answer is not None and answer.began_at >= self.at else None

    def keep(self, began_at: float, outcome: Outcome, caller: Caller) -> None:
        """For those alike: the answer of this call's read. Files and streams are one caller's."""
        if outcome.lines is None and outcome.file is None and outcome.stream is None:
            self._read.answer = SharedAnswer(began_at, outcome, caller)


class SharedReads:
    """Of one application; its event loop alone uses it."""

    def __init__(self) -> None:
        self._reads: dict[Place, _Read] = {}

    @contextmanager
    def arrives(self, place: Place | None) -> Iterator[Arrival | None]:
        """The call waits and is served within the block. None: it shares nothing."""
        if place is None:
            yield None
            return
        read = self._reads.setdefault(place, _Read())
        read.waiting += 1
        try:
            yield Arrival(time.monotonic(), read)
        finally:
            read.waiting -= 1
            if not read.waiting:
                del self._reads[place]


def place_of_read(
    operation: Operation, path: str, query: bytes, credentials: Credentials
) -> Place | None:
    """What makes calls alike; None: the operation writes, is charged for, or answers with a stream."""
    is_shared = (
        operation.method == "GET" and operation.price is None and operation.media_type == JSON
    )
    if not is_shared or len(path) + len(query) > MOST_PLACE:
        return None
    return operation.key, path, query, credentials
