"""h11's reader of requests, with bounds on what it reads in one go: it works on the event loop,
while every other caller waits.

Laws
- A head is looked at line by line only once it is known to have few lines and few bytes. h11 bounds
  a head that is not whole; one that comes at once it takes whole, as long as the socket gave it.
- A body comes in few chunks for its length: each costs as much as a header field, and may hold one
  byte.
"""

import re
from typing import Any, Final

import h11

MOST_LINES: Final = 101  # the request's own and 100 header fields
HEAD_BYTES: Final = 16 * 1024
FREE_CHUNKS: Final = 64  # of any length
CHUNK_BYTES: Final = 512  # of each further one, on average

_END_OF_HEAD = re.compile(rb"\n\r?\n")


class BoundedParser(h11.Connection):
    """One connection's, on the server's side."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD_BYTES)
        self._chunks = self._body_bytes = 0

    def next_event(self) -> Any:
        """Errors: RemoteProtocolError, also for what passes the bounds."""
        if self.their_state is h11.IDLE:
            self._chunks = self._body_bytes = 0
            _require_short(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._chunks += event.chunk_end
            self._body_bytes += len(event.data)
            if self._chunks > FREE_CHUNKS + self._body_bytes // CHUNK_BYTES:
                raise h11.RemoteProtocolError("the body's chunks are too small")
        return event


def _require_short(sent: bytes) -> None:
    """Errors: RemoteProtocolError."""
    found = _END_OF_HEAD.search(sent)
    end, blank = (len(sent), 0) if found is None else (found.end(), 1)
    if end > HEAD_BYTES or sent.count(b"\n", 0, end) > MOST_LINES + blank:
        raise h11.RemoteProtocolError("the head is too long")
