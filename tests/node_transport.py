"""Nodes that a test plays in this process, as `Nodes(urls, transport=...)` takes them."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx

OF_A_STREAM = ("content-encoding", "content-length", "transfer-encoding")


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await asyncio.to_thread(next, self._pieces, None)) is not None:
            yield piece


class InThreads(httpx.AsyncBaseTransport):
    """A transport that blocks, each request in a thread: it holds up no other node."""

    def __init__(self, blocking: httpx.BaseTransport) -> None:
        self._blocking = blocking

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await asyncio.to_thread(self._blocking.handle_request, request)
        if isinstance(answer.stream, httpx.ByteStream):
            return answer
        if answer.is_closed:  # it was read
            kept = [(k, v) for k, v in answer.headers.items() if k not in OF_A_STREAM]
            return httpx.Response(answer.status_code, headers=kept, content=answer.content)
        pieces = _Pieces(answer.iter_raw())
        return httpx.Response(answer.status_code, headers=answer.headers, stream=pieces)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._blocking.close)


def in_threads(blocking: httpx.BaseTransport | None) -> InThreads | None:
    return None if blocking is None else InThreads(blocking)
