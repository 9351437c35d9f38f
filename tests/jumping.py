"""An event loop for tests whose clock jumps to what is due next: an hour of waiting takes no time, and
the same happens in the same order however busy the machine is.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

Answer = TypeVar("Answer")
Given = TypeVarTuple("Given")


class _JumpingSelector(selectors.SelectSelector):
    """Tells the loop how long it would have waited, and waits for nothing."""

    jump: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found:
            if timeout is None:
                raise AssertionError("all wait for one another: nothing is ever due")
            self.jump(timeout)
        return found


class JumpingLoop(asyncio.SelectorEventLoop):
    """What goes to a thread runs in this one, at its turn."""

    def __init__(self) -> None:
        self._now_s = 0.0
        selector = _JumpingSelector()
        selector.jump = self._jump
        super().__init__(selector)

    def _jump(self, seconds: float) -> None:
        self._now_s += seconds

    def time(self) -> float:
        return self._now_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Given], Answer], *args: *Given
    ) -> asyncio.Future[Answer]:
        async def call() -> Answer:
            return func(*args)

        return self.create_task(call())


def run(main: Coroutine[Any, Any, Answer]) -> Answer:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(main)
