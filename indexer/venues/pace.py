"""So many calls a minute, whoever makes them."""

import asyncio
import math


class CallPace:
    """`pace_s`: between the beginnings of two calls."""

    def __init__(self, pace_s: float) -> None:
        self._pace_s, self._next = pace_s, -math.inf

    async def take(self, count: int) -> None:
        """Wait for the turn of `count` calls."""
        now = asyncio.get_running_loop().time()
        at = max(self._next, now)
        self._next = at + count * self._pace_s
        await asyncio.sleep(at - now)
