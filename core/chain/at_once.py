"""Several nodes asked at once: a slow one is waited for a moment after the first has answered."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Final

MOST_THREADS: Final = 32


class AtOnce:
    """Who was left behind is not asked beside others until it is through; alone it is, whatever it is
    late with. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MOST_THREADS, "nodes")
        self._late: dict[str, Future[Any]] = {}

    def ask(self, jobs: Mapping[str, Callable[[], Any]], others_s: float) -> dict[str, Any]:
        """What each job comes to, by its name; without those that come to None, and those that take
        `others_s` longer than the first. Errors: a job's own.
        """
        asked = {
            self._threads.submit(job): name
            for name, job in jobs.items()
            if len(jobs) == 1 or name not in self._late or self._late[name].done()
        }
        left, until = set(asked), None
        while left:
            left_s = None if until is None else max(0.0, until - time.monotonic())
            done, left = wait(left, left_s, FIRST_COMPLETED)
            if not done:
                self._late |= {asked[one]: one for one in left}
                break
            if until is None and any(one.result() is not None for one in done):
                until = time.monotonic() + others_s
        told = {name: one.result() for one, name in asked.items() if one not in left}
        return {name: found for name, found in told.items() if found is not None}

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
