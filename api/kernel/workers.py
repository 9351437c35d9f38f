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
- Few calls compute at a time, so that the event loop gets its turns; what has run for long waits for
  something, and is not one of them.
- A call that waits holds no thread, and waits no longer than its bound: then it leaves its line, is
  not begun, and its caller gets that answer while it listens. What no caller waits for (the reads
  of streams) has no bound.
- A line has an end: a call waits with all that was sent for it, also when its caller has left. One
  that is cancelled leaves its line at once.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Final, TypeVar

T = TypeVar("T")

CALLS: Final = 16  # calls that one process serves at a time
# of those, computing at a time: Python computes on one thread, and each further one that could only
# takes the event loop's turns (sixteen served 148 calls a second where three served 200)
AT_WORK: Final = 3
SLOW_S: Final = 0.2  # a call that has run for so long waits for something: a lock, a node
CALLS_OF_ONE: Final = 8  # of those, of one network address
# calls with a body above LARGE_BYTES, served beside the others; one of a network address
LARGE: Final = 2
LARGE_BYTES: Final = 8 * 1024
MOST_WAITING: Final = 256  # calls of one line
LARGE_WAITING: Final = 32  # of those with a large body: 8 MiB
# a call that does not get its turn by then is refused: clients give up after 10 to 30 s, and what is
# served for one that has left is lost, with the time of those behind it
TURN_WAIT_S: Final = 5.0
SETTLING: Final = 8  # payments that are looked up or settled at a time
SETTLING_OF_ONE: Final = 6
# a payment that does not get its turn by then is refused, and was not touched
SETTLING_WAIT_S: Final = 4.0
THREADS: Final = CALLS + LARGE + SETTLING


class BusyError(Exception):
    """The call got no place in its line, or not its turn in time, and was not begun."""


class NoTurnError(BusyError):
    """It had a place, and its turn did not come in time."""


@dataclass(slots=True)
class _Line:
    at_once: int
    running: int = 0
    waiting: OrderedDict[Future[Any], Callable[[], Any]] = field(default_factory=OrderedDict)


class Workers:
    """`threads` in all, `each` for one line. Threads may share it; it belongs to no event loop."""

    def __init__(
        self,
        threads: int,
        each: int,
        name: str = "call",
        most_waiting: int = MOST_WAITING,
        *,
        at_work: int | None = None,
    ) -> None:
        """`at_work`: calls that compute at a time, if fewer than there are threads."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._most_at_work = at_work or threads
        # calls that count as computing, by when they began
        self._at_work = OrderedDict[Future[Any], float]()
        self._each = each
        self._most_waiting = most_waiting
        self._lines: dict[Hashable, _Line] = {}
        # lines with a call that may begin, the next one first
        self._turns = OrderedDict[Hashable, None]()
        self._lock = threading.Lock()
        self._looks_until = 0.0

    async def run(
        self,
        line: Hashable,
        call: Callable[[], T],
        *,
        at_once: int | None = None,
        within_s: float = inf,
    ) -> T:
        """The call's answer.

        `at_once`: threads that this line may hold, if fewer. `within_s`: seconds for which the call
        may wait for its turn; one that has begun takes as long as it takes. Errors: the call's;
        BusyError.
        """
        future = self.submit(line, call, at_once)
        answer, timeout = asyncio.wrap_future(future), None if within_s == inf else within_s
        if not future.running() and time.monotonic() > self._looks_until:
            self._look(asyncio.get_running_loop())
        try:
            if not (await asyncio.wait([answer], timeout=timeout))[0]:
                self._leave(line, future)
            return await answer
        except asyncio.CancelledError:
            answer.cancel()
            self._leave(line, future)
            raise

    def submit(
        self, line: Hashable, call: Callable[[], T], at_once: int | None = None
    ) -> Future[T]:
        """Errors: BusyError, where as many calls of this line wait as may."""
        future: Future[T] = Future()
        with self._lock:
            its = self._lines.setdefault(line, _Line(at_once or self._each))
            if len(its.waiting) >= self._most_waiting:
                raise BusyError
            its.waiting[future] = call
            self._arrange(line)
        self._begin()
        return future

    def shutdown(self) -> None:
        """Take no more calls; those under way end by themselves."""
        self._pool.shutdown(wait=False)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Some of those that computed may wait by now, so that others may begin: while calls wait, one
        timer for all of them. One whose loop has ended is late, and the next call makes another.
        """
        self._begin()
        with self._lock:
            is_needed = any(line.waiting for line in self._lines.values())
        self._looks_until = time.monotonic() + 5 * SLOW_S if is_needed else 0.0
        if is_needed:
            loop.call_later(SLOW_S, self._look, loop)

    def _begin(self) -> None:
        """Begin each call that has its turn and a thread."""
        while (taken := self._taken()) is not None:
            line, future, call = taken
            if not future.set_running_or_notify_cancel():
                self._end(line, future)
                continue
            try:
                done = self._pool.submit(call)
            except RuntimeError as error:  # no thread to be had, or the process ends
                self._end(line, future)
                future.set_exception(error)
            else:
                done.add_done_callback(partial(self._answer, line, future))

    def _taken(self) -> tuple[Hashable, Future[Any], Callable[[], Any]] | None:
        """The first call of the line whose turn it is, with a thread for it."""
        with self._lock:
            if not self._free or not self._turns or not self._may_compute():
                return None
            name, _ = self._turns.popitem(last=False)
            line = self._lines[name]
            line.running += 1
            self._free -= 1
            future, call = line.waiting.popitem(last=False)
            self._at_work[future] = time.monotonic()
            self._arrange(name)
            return name, future, call

    def _may_compute(self) -> bool:
        """Whether one more call may; what has run for SLOW_S counts no more."""
        while len(self._at_work) >= self._most_at_work:
            oldest = next(iter(self._at_work))
            if time.monotonic() - self._at_work[oldest] < SLOW_S:
                return False
            del self._at_work[oldest]
        return True

    def _leave(self, name: Hashable, future: Future[Any]) -> None:
        """Take a call that waits out of its line, and refuse it; one that has begun goes on."""
        with self._lock:
            line = self._lines.get(name)
            if line is None or line.waiting.pop(future, None) is None:
                return
            self._arrange(name)
        if future.set_running_or_notify_cancel():
            future.set_exception(NoTurnError())

    def _answer(self, line: Hashable, future: Future[Any], done: Future[Any]) -> None:
        """Its place is free before anyone learns the answer."""
        self._end(line, future)
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)
        self._begin()

    def _end(self, name: Hashable, future: Future[Any]) -> None:
        with self._lock:
            self._free += 1
            self._at_work.pop(future, None)
            self._lines[name].running -= 1
            self._arrange(name)

    def _arrange(self, name: Hashable) -> None:
        """After a change of a line: it keeps its turn, or gets the last one, while a call of it may
        begin, and is forgotten when it is empty.
        """
        line = self._lines[name]
        if line.waiting and line.running < line.at_once:
            self._turns.setdefault(name)
        else:
            self._turns.pop(name, None)
        if not line.waiting and not line.running:
            del self._lines[name]


@dataclass(frozen=True, slots=True)
class Pools:
    """The threads of one application: those that serve calls, those with a body above LARGE_BYTES, and
    those that look up and settle payments.
    """

    calls: Workers = field(default_factory=lambda: Workers(CALLS, CALLS_OF_ONE, at_work=AT_WORK))
    large: Workers = field(default_factory=lambda: Workers(LARGE, 1, "large", LARGE_WAITING))
    settling: Workers = field(
        default_factory=lambda: Workers(SETTLING, SETTLING_OF_ONE, "settling")
    )

    def shutdown(self) -> None:
        for workers in (self.calls, self.large, self.settling):
            workers.shutdown()
