"""The answer that goes on: a stream's frames over HTTP, until the stream or its caller ends.

A caller that reads nothing is cut off by its connection's bound (api/kernel/connections.py). A HEAD
gets the headers.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.kernel.operation import Deps, Refusal
from api.kernel.streams import EVENT_STREAM, FullError, Stream, Streams

# proxies that collect an answer before they pass it on would hold events back
UNBUFFERED = {"X-Accel-Buffering": "no"}


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


class EventStreamResponse(Response):
    media_type = EVENT_STREAM

    def __init__(self, streams: Streams, stream: Stream, headers: Mapping[str, str]) -> None:
        super().__init__(headers={**UNBUFFERED, **headers})
        del self.headers["content-length"]
        self._streams = streams
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = asyncio.ensure_future(_until_gone(receive, self._stream))
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            if scope["method"] != "HEAD":
                async for frame in self._stream.frames():
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            watch.cancel()
            self._streams.close(self._stream)


async def _until_gone(receive: Receive, stream: Stream) -> None:
    """End the stream when its caller has left: nothing is sent that nobody reads."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()
