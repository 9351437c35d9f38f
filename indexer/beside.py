"""What is done beside the tip, in threads of its own: notes, reasons, credits; proofs, the auditor.

    tip      -- block -- block ------ behind: block -- block -- block --- at the head -- block --
    beside   ---- work -- rest -- work            (nothing is begun)           work -- rest ------

Laws
- It begins when the process leads and ends with the lead; a spare does none of it.
- While the tip is behind the chain nothing is begun.
- Of what is due the work that waits longest is next. Each is followed by a rest as long as it took.
- What fails costs one turn, and is reported to the loop.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.db.leadership import LeadershipLostError

LEAST_REST_S = 0.01
JOIN_S = 2.0
MOST_TROUBLES = 20  # that wait to be reported


@dataclass(frozen=True, slots=True)
class Work:
    """`do` answers True when there is more to do at once. It raises LeadershipLostError when the lead is
    gone; whatever else it raises is its own.
    """

    do: Callable[[], object]
    every_s: float


class Beside:
    """One thread. Its methods belong to the process's loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stopping, self._free = threading.Event(), threading.Event()
        self._troubles = deque[Exception](maxlen=MOST_TROUBLES)
        self._thread: threading.Thread | None = None

    def start(self, works: Sequence[Work]) -> None:
        """Begin, once a process."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, args=(works,), name=self._name, daemon=True
            )
            self._thread.start()

    def hold(self) -> None:
        """The tip is behind: begin nothing until `let_go`."""
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def stop(self) -> None:
        """End the thread; work under way is not waited for longer than JOIN_S."""
        self._stopping.set()
        self._free.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)

    def troubles(self) -> list[Exception]:
        """What failed since this was last asked."""
        return [self._troubles.popleft() for _ in range(len(self._troubles))]

    def _run(self, works: Sequence[Work]) -> None:
        due_at, rest_s = dict.fromkeys(works, 0.0), 0.0
        while self._goes_on_after(rest_s):
            begun, work = time.monotonic(), min(works, key=lambda one: due_at[one])
            if (rest_s := due_at[work] - begun) > 0:
                continue
            wait_s = work.every_s
            try:
                wait_s = 0.0 if work.do() is True else wait_s
            except LeadershipLostError:
                return  # the process's loop meets a lost lead by itself
            except Exception as error:
                self._troubles.append(error)
            rest_s = time.monotonic() - begun
            due_at[work] = begun + rest_s + wait_s

    def _goes_on_after(self, seconds: float) -> bool:
        self._stopping.wait(max(seconds, LEAST_REST_S))
        self._free.wait()
        return not self._stopping.is_set()
