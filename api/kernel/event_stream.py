"""The answer that goes on: a stream's events over HTTP, until the stream or its caller ends.

A caller that reads nothing is cut off by the proxy (docs/operations/haproxy.cfg). A HEAD gets the
headers.
"""

from collections.abc import Mapping

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from api.kernel.streams import LINE_END, Stream, Streams


class EventStreamResponse(EventSourceResponse):
    """Closes its stream, however it ends."""

    def __init__(self, streams: Streams, stream: Stream, headers: Mapping[str, str]) -> None:
        super().__init__(
            stream.events(),
            headers=headers,
            ping=streams.times.heartbeat_s,
            ping_message_factory=lambda: ServerSentEvent(comment="heartbeat", sep=LINE_END),
            sep=LINE_END,
        )
        self._streams = streams
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.close(self._stream)
