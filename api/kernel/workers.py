"""Threads that serve calls, and who gets them: calls wait in lines, one line a caller, and the
lines are served in turn.

    address A  [c][c][c][c][c] ->  \\
    address B  [c]             ->   }  each line in its turn, and no line on more threads than it may hold
    address C  [c][c]          ->  /

Laws
- However many calls one line brings, another line's next call waits for no more than one call of
  each line before it.
- No line holds every thread: what one caller's calls wait for (a lock, a node) leaves threads to
  the others.
- A call that waits holds no thread. Where waiting has a bound, a call that has passed it is not
  begun.
- A line has an end: a call waits with all that was sent for it, also when its caller has left.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

CALLS: Final = 16  # calls that one process serves at a time
CALLS_OF_ONE: Final = 8  # of those, of one network address
# calls with a body above LARGE_BYTES, served beside the others; one of a network address
LARGE: Final = 2
LARGE_BYTES: Final = 8 * 1024
MOST_WAITING: Final = 256  # calls of one line
LARGE_WAITING: Final = 32  # of those with a large body: 8 MiB
SETTLING: Final = 8  # payments that are looked up or settled at a time
SETTLING_OF_ONE: Final = 6
# a payment that does not get its turn by then is refused, and was not touched
SETTLING_WAIT_S: Final = 4.0
THREADS: Final = CALLS + LARGE + SETTLING


class BusyError(Exception):
    """The call did not get its turn in time, or no place in its line, and was not begun."""


@dataclass(slots=True)
class _Line:
    at_once: int
    running: int = 0
    waiting: deque[tuple[Future[Any], Callable[[], Any]]] = field(default_factory=deque)


class Workers:
    """`threads` in all, `each` for one line. Threads may share it; it belongs to no event loop."""

    def __init__(
        self, threads: int, each: int, name: str = "call", most_waiting: int = MOST_WAITING
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._each = each
        self._most_waiting = most_waiting
        self._lines: dict[Hashable, _Line] = {}
        self._turns: deque[Hashable] = deque()  # lines with a call that may begin
        self._lock = threading.Lock()

    def require_place(self, line: Hashable) -> None:
        """Errors: BusyError, where as many calls of this line wait as may."""
        with self._lock:
            its = self._lines.get(line)
            if its is not None and len(its.waiting) >= self._most_waiting:
                raise BusyError

    async def run(
        self,
        line: Hashable,
        call: Callable[[], T],
        *,
        at_once: int | None = None,
        within_s: float | None = None,
    ) -> T:
        """The call's answer.

        `at_once`: threads that this line may hold, if fewer. Errors: the call's; BusyError after
        `within_s`.
        """
        future = self.submit(line, call, at_once)
        answer = asyncio.wrap_future(future)
        if within_s is not None:
            await asyncio.wait([answer], timeout=within_s)
            if not answer.done() and future.cancel():
                raise BusyError
        return await answer

    def submit(
        self, line: Hashable, call: Callable[[], T], at_once: int | None = None
    ) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            its = self._lines.setdefault(line, _Line(at_once or self._each))
            its.waiting.append((future, call))
            if len(its.waiting) == 1 and its.running < its.at_once:
                self._turns.append(line)
        self._begin()
        return future

    def shutdown(self) -> None:
        """Take no more calls; those under way end by themselves."""
        self._pool.shutdown(wait=False)

    def _begin(self) -> None:
        """Begin each call that has its turn and a thread."""
        while (taken := self._taken()) is not None:
            line, future, call = taken
            if future.set_running_or_notify_cancel():
                self._pool.submit(call).add_done_callback(partial(self._answer, line, future))
            else:
                self._end(line)

    def _taken(self) -> tuple[Hashable, Future[Any], Callable[[], Any]] | None:
        """The first call of the line whose turn it is, with a thread for it."""
        with self._lock:
            if not self._free or not self._turns:
                return None
            name = self._turns.popleft()
            line = self._lines[name]
            line.running += 1
            self._free -= 1
            future, call = line.waiting.popleft()
            if line.waiting and line.running < line.at_once:
                self._turns.append(name)
            return name, future, call

    def _answer(self, line: Hashable, future: Future[Any], done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)
        self._end(line)
        self._begin()

    def _end(self, name: Hashable) -> None:
        with self._lock:
            self._free += 1
            line = self._lines[name]
            line.running -= 1
            if line.waiting and line.running == line.at_once - 1:
                self._turns.append(name)  # it was full, so that it stood in no turn
            elif not line.waiting and not line.running:
                del self._lines[name]
