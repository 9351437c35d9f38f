"""So many calls a minute, whoever makes them."""

import asyncio
import time


class CallPace:
    """`pace_s`: between the beginnings of two calls."""

    def __init__(self, pace_s: float) -> None:
        self._pace_s, self._next = pace_s, time.monotonic()

    async def take(self, count: int) -> None:
        """Wait for the turn of `count` calls."""
        at = max(self._next, time.monotonic())
        self._next = at + count * self._pace_s
        await asyncio.sleep(max(0.0, at - time.monotonic()))
