"""The answer that goes on: a stream's events over HTTP, until the stream or its caller ends.

A caller that reads nothing is cut off by the proxy (docs/operations/haproxy.cfg). A HEAD gets the
headers.
"""

from collections.abc import Mapping
from datetime import timedelta

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from api.kernel.operation import Deps, Refusal
from api.kernel.streams import LINE_END, FullError, Stream, Streams

FULL_S = 30  # streams last long


def no_room(full: FullError, deps: Deps) -> Refusal:
    if full.is_own:
        most = deps.limits.event_streams_per_caller
        return Refusal(
            "too_many_streams",
            f"You have {most} streams open, as many as you may; close one, or let several pages "
            "share one.",
            remaining={"streams": 0},
        )
    detail = "As many streams as this process takes are open; open this one again later."
    return Refusal(
        "temporarily_unavailable", detail, retry_at=deps.clock() + timedelta(seconds=FULL_S)
    )


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
