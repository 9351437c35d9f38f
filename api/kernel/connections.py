"""How long a connection may say nothing, and how many may: uvicorn's protocol with the bounds that
it lacks.

    opened --head_s--> head whole --body_s--> body whole --> answered --keep-alive--> next head begins --head_s--> ...
                                                                |
                                                             stall_s while the caller reads nothing of it

Laws
- A connection whose request is not whole is half-open. Its time runs from the first byte (of a new
  connection: from the start), and no further byte prolongs it.
- There are at most `half_open` of them: one more, and the oldest is closed. Callers that send their
  request at once stay so for milliseconds and are not reached.
- Above `open` connections a new one takes the place of the one that has been idle longest, answered
  and asking nothing; where none is idle, it is refused and closed.
"""

import asyncio
import resource
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.kernel.parser import BoundedParser

RESERVED_FILES: Final = 224  # for the database, nodes, logs, and what the process has open anyway


def most_open() -> int:
    """Connections that this process may have files for, 4,000 at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4_000 if soft == resource.RLIM_INFINITY else max(64, min(4_000, soft - RESERVED_FILES))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionBounds:
    """Times in seconds."""

    head_s: float = 10
    body_s: float = 30  # 256 KiB at 9 KiB/s
    stall_s: float = 60
    half_open: int = 256
    open: int = field(default_factory=most_open)


class BoundedProtocol(H11Protocol):
    """One connection.

    `bounds`, `_half_open` and `_idle` (both oldest first) are the server's: see
    `protocol.protocol_of`.
    """

    bounds: ClassVar[ConnectionBounds]
    _half_open: ClassVar[dict["BoundedProtocol", None]]
    _idle: ClassVar[dict["BoundedProtocol", None]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = BoundedParser()
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._waits_for: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > self.bounds.open:
            if not self._idle:
                self.send_503_response()
                return
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.transport.close()
        self._wait(h11.IDLE)

    def send_503_response(self) -> None:
        """Refuse a connection that is one too many, and close it."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        self._idle.pop(self, None)
        super().data_received(data)
        self._wait(self._lacking())

    def on_response_complete(self) -> None:
        super().on_response_complete()
        begun = self.conn.trailing_data[0] or self.conn.their_state is not h11.IDLE
        self._wait(self._lacking() if begun else None)  # between requests uvicorn's keep-alive runs
        if not begun and not self.transport.is_closing():
            self._idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self._idle.pop(self, None)
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.bounds.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _lacking(self) -> Any:
        """What is not whole: the head (IDLE) or the body (SEND_BODY) of a request, or nothing
        (None).
        """
        state = self.conn.their_state
        return (
            state
            if state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()
            else None
        )

    def _wait(self, state: Any) -> None:
        """Let the time of this state run, unless it does; None: the request is whole."""
        if state is self._waits_for:
            return
        self._waits_for = state
        self._half_open.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if state is None:
            return
        if len(self._half_open) >= self.bounds.half_open:
            oldest = next(iter(self._half_open))
            oldest._wait(None)
            oldest.transport.abort()
        self._half_open[self] = None
        self._deadline = self.loop.call_later(
            self.bounds.head_s if state is h11.IDLE else self.bounds.body_s, self.transport.abort
        )
