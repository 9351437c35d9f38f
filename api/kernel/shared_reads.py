"""Reads that several calls wait for, done once.

    0 ms   calls A, B and C arrive, alike, and wait for their turns
    20 ms  A has its turn, and is served
    29 ms  B has its turn: A was begun after B arrived, and B takes A's answer; so does C
    30 ms  D arrives, alike: it waits for its own turn, and is served after 30 ms

Laws
- A call takes another's answer only where that one was begun, from the proof of its key on, after the
  call arrived: it is no older than its own could be, and has what the caller wrote before it asked.
- Alike is the same operation, path, query and credentials, from the same network address: nobody is
  answered with what was read for another.
- Each call is counted, measured and logged by itself, and so is its key proven. What the read asks is
  shared: whether a session lives, and whether a scope suffices, is known as of the shared one.
- An answer is held while a call waits that may take it, and no longer.
Source: request collapsing, RFC 9111 4 ("collapse requests").
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from api.kernel.credentials import Credentials
from api.kernel.operation import Operation
from api.kernel.outcome import JSON, Outcome

MOST_PLACE: Final = 1_024  # characters of path and query

Place = tuple[str, str, bytes, Credentials]


@dataclass(frozen=True, slots=True)
class SharedAnswer:
    began_at: float  # seconds of a clock that never goes back
    outcome: Outcome


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

    def keep(self, began_at: float, outcome: Outcome) -> None:
        """For those alike: the answer of this call, unless a later one's is there. Files and streams are
        one caller's.
        """
        if outcome.lines is not None or outcome.file is not None or outcome.stream is not None:
            return
        known = self._read.answer
        if known is None or known.began_at < began_at:
            self._read.answer = SharedAnswer(began_at, outcome)


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
    is_shared = operation.method == "GET" and operation.sold is None and operation.media[0] == JSON
    if not is_shared or len(path) + len(query) > MOST_PLACE:
        return None
    return operation.key, path, query, credentials
