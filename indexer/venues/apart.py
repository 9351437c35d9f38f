"""Whole lists of a venue (its markets, its tickers), read beside the loop that all venues share.

    fetch_markets --a thread of the venue, with a loop of its own--> ccxt's parsing
         '--each request--> the shared loop --> transport

An answer may have 32 MB, and ccxt reads its rows one by one: on the shared loop no other venue's book
would be written meanwhile. A thread gives the others their turn each few milliseconds, but for the text of
an answer, which is read at once: a tenth of a second for the most that there may be.

Law: the thread has nothing but a client; what it answers is taken in on the shared loop.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, cast

from indexer.venues.transport import VenueAnswer, VenueRequest, VenueTransport

T = TypeVar("T")


class _OverShared:
    """Requests of another loop, sent on the shared one, in its pace."""

    def __init__(self, behind: VenueTransport, pace: Callable[[], Awaitable[None]]) -> None:
        self._behind, self._pace = behind, pace
        self.shared: asyncio.AbstractEventLoop | None = None

    async def send(self, request: VenueRequest) -> VenueAnswer:
        assert self.shared is not None, "a call has a loop"
        sent = asyncio.run_coroutine_threadsafe(self._sent(request), self.shared)
        return await asyncio.wrap_future(sent)

    async def _sent(self, request: VenueRequest) -> VenueAnswer:
        await self._pace()
        return await self._behind.send(request)

    async def close(self) -> None:
        """The transport behind is another's."""


class ListReader:
    """`made`: a client over a transport, which paces nothing; `pace`: awaited before each request."""

    def __init__(
        self,
        made: Callable[[VenueTransport], Any],
        behind: VenueTransport,
        pace: Callable[[], Awaitable[None]],
    ) -> None:
        self._over = _OverShared(behind, pace)
        self.client = made(self._over)
        self._thread = ThreadPoolExecutor(1, "venue-lists")

    async def call(self, method: str, *values: Any) -> Any:
        """Errors: those of the client."""
        loop = self._over.shared = asyncio.get_running_loop()
        context = contextvars.copy_context()
        run = partial(context.run, asyncio.run, self._called(method, values))
        return cast("Any", await loop.run_in_executor(self._thread, run))

    async def read(self, work: Callable[[], T]) -> T:
        """What is done with rows that are at hand, on the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _called(self, method: str, values: tuple[Any, ...]) -> Any:
        return await getattr(self.client, method)(*values)

    def close(self) -> None:
        """What is under way ends by itself, and is asked for by nobody."""
        self._thread.shutdown(wait=False, cancel_futures=True)
