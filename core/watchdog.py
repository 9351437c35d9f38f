"""Ends the process when its loop gives no sign: a call that never returns must not hold it for ever.

    sign ... sign ... sign .............. limit_s .............. os._exit: connections go, and what they held; another takes over

A daemon thread, and `os._exit`, since a thread that hangs can't be ended and would hold up any
other way out. What a loop did before is in Postgres: the next process goes on from there. The
keeper's bytes are sent again, the indexer's cursor is where the data ends.
"""

import os
import threading
import time
from collections.abc import Callable

import structlog

EXIT_CODE = 70  # EX_SOFTWARE
LOOKS = 10  # in limit_s
LOG_S = 1.0  # what hangs the loop may be the log itself, a pipe that nobody reads

log = structlog.get_logger(__name__)


class Watchdog:
    """Watch a loop that calls `sign` whenever it gets on, or, as a context manager, a block that
    must end within `limit_s`. `about`: what is watched, for the log.
    """

    def __init__(
        self,
        limit_s: float,
        leave: Callable[[int], object] = os._exit,
        clock: Callable[[], float] = time.monotonic,
        **about: object,
    ) -> None:
        self._limit_s, self._leave, self._clock, self._about = limit_s, leave, clock, about
        self._sign_at = clock()
        self._called_off = threading.Event()

    def start(self) -> None:
        self.sign()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def sign(self) -> None:
        """The loop gets on."""
        self._sign_at = self._clock()

    def call_off(self) -> None:
        self._called_off.set()

    __enter__ = start

    def __exit__(self, *_: object) -> None:
        self.call_off()

    def _watch(self) -> None:
        while not self._called_off.wait(self._limit_s / LOOKS):
            silent_s = self._clock() - self._sign_at
            if silent_s >= self._limit_s:
                try:
                    logger = threading.Thread(target=self._log, args=(silent_s,), daemon=True)
                    logger.start()
                    logger.join(LOG_S)
                finally:
                    self._leave(EXIT_CODE)
                return

    def _log(self, silent_s: float) -> None:
        about = {"silent_s": round(silent_s, 1), "limit_s": self._limit_s, **self._about}
        log.critical("the loop hangs, the process ends", **about)
