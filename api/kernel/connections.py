"""How long a connection may say nothing, and how many may: uvicorn's protocol with the bounds that
it lacks.

    opened --head_s--> head whole --body_s--> body whole --> answered --keep-alive--> next head begins --head_s--> ...
                                                                |
                                                             stall_s while the caller reads nothing of it,
                                                             and once more until what is closed has been read

Laws
- A connection whose request is not whole is half-open. Its time runs from the first byte (of a new
  connection: from the start), and no further byte prolongs it.
- There are at most `half_open` of them: one more, and the oldest is closed. Callers that send their
  request at once stay so for milliseconds and are not reached.
- A connection's requests are read and answered one after the other: what comes before the answer to
  one is whole waits unread, and no more of it is taken from the socket.
- Above `open` connections a new one takes the place of the one that has been idle longest, answered
  and asking nothing; where none is idle, it is refused and closed.
"""

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from urllib.parse import unquote

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from api.kernel.parser import BoundedParser, InvalidRequestError, Lacks, RequestHead, WireEvent

MOST_OF_WHY: Final = 100  # characters of a reason, which may quote what was sent
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


class BoundedCycle(RequestResponseCycle):
    """A request and its answer. `ended` is told also when the application failed in the middle of the answer,
    where uvicorn closes the connection and says nothing.
    """

    def __init__(self, *args: Any, ended: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ended = ended

    async def run_asgi(self, app: Any) -> None:
        await super().run_asgi(app)
        self._ended()


class UnframedCycle(BoundedCycle):
    """A request of HTTP/1.0 and its answer: chunks are not known there, so that an answer without a
    length ends with its connection.
    """

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", ())}
            self._has_length = b"content-length" in names
            if not self._has_length:
                self.chunked_encoding = False
        elif not self._has_length:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)


class BoundedProtocol(HttpToolsProtocol):
    """One connection: uvicorn's, but for how it is read. uvicorn's own parser is never fed.

    `bounds`, `_half_open` and `_idle` (both oldest first) are the server's: see
    `protocol.protocol_of`.
    """

    bounds: ClassVar[ConnectionBounds]
    _half_open: ClassVar[dict["BoundedProtocol", None]]
    _idle: ClassVar[dict["BoundedProtocol", None]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.requests = BoundedParser()
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._waits_for: Lacks | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > self.bounds.open:
            if not self._idle:
                self.send_503_response()
                return
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.transport.abort()
        self._wait(Lacks.HEAD)

    def send_503_response(self) -> None:
        """Refuse a connection that is one too many, and close it."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        self.requests.receive_data(data)
        self._read()
        self._arrange()

    def close(self) -> None:
        """Close once the caller has read what was written, within stall_s."""
        self.transport.close()
        self._bound_closing()

    def shutdown(self) -> None:
        super().shutdown()
        self._bound_closing()

    def timeout_keep_alive_handler(self) -> None:
        self.close()

    def on_response_complete(self) -> None:
        """Instead of uvicorn's, which knows requests that wait in a row."""
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.requests.lacks is None:
                self.requests.start_next()
                self._read()
        self._arrange()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self._idle.pop(self, None)
        self._unset_keepalive_if_required()
        if self._closing is not None:
            self._closing.cancel()
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

    def _bound_closing(self) -> None:
        """A transport that closes waits for its reader, who may never read."""
        if self.transport.is_closing():
            self._idle.pop(self, None)
            if self._closing is None:
                self._closing = self.loop.call_later(self.bounds.stall_s, self.transport.abort)

    def _arrange(self) -> None:
        """See which time runs now: for what is not whole, or for what may come."""
        self._unset_keepalive_if_required()
        self._idle.pop(self, None)
        if self.transport.is_closing():
            self._wait(None)
            self._bound_closing()
        elif self.requests.lacks is Lacks.HEAD and not self.requests.unread:
            self._wait(None)
            self._idle[self] = None
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self._wait(self.requests.lacks)

    def _read(self) -> None:
        """Read on, to the end of one request."""
        while True:
            try:
                event = self.requests.next_event()
            except InvalidRequestError as error:
                self.send_400_response(str(error)[:MOST_OF_WHY])
                return
            if event is WireEvent.NEED_DATA:
                return
            if event is WireEvent.PAUSED:
                self.flow.pause_reading()
                return
            if isinstance(event, RequestHead):
                self._begin(event)
            elif event is WireEvent.WHOLE:
                self._end()
            else:
                self.on_body(event)

    def _begin(self, head: RequestHead) -> None:
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": head.version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": head.method,
            "root_path": self.root_path,
            "path": self.root_path + unquote(head.path.decode("ascii")),
            "raw_path": self.root_path.encode("ascii") + head.path,
            "query_string": head.query,
            "headers": head.headers,
            "state": self.app_state.copy(),
        }
        cycle = BoundedCycle if head.version == "1.1" else UnframedCycle
        self.cycle = cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=head.expects_continue,
            keep_alive=head.keeps_alive,
            on_response=self.on_response_complete,
            ended=self._bound_closing,
        )
        self._start_asgi_task(self.cycle, self.app)

    def on_body(self, body: bytes | bytearray) -> None:
        """What comes after the answer is left out."""
        if self.cycle.response_complete:
            return
        self.cycle.body += body
        if len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()

    def _end(self) -> None:
        if self.cycle.response_complete:
            self.flow.resume_reading()
            self.requests.start_next()
            return
        self.cycle.more_body = False
        self.cycle.message_event.set()

    def _wait(self, state: Lacks | None) -> None:
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
            self.bounds.head_s if state is Lacks.HEAD else self.bounds.body_s, self.transport.abort
        )
