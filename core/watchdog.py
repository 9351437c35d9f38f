"""Ends the process when its loop gives no sign: a call that never returns must not keep the lead
for ever.

    sign ... sign ... sign .............. limit_s .............. os._exit: connections go, the lead with them, a spare takes over

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
TELL_S = 1.0  # what hangs the loop may be the log itself, a pipe that nobody reads

log = structlog.get_logger(__name__)


class Watchdog:
    """Watch a loop that calls `sign` whenever it gets on."""

    def __init__(
        self,
        limit_s: float,
        leave: Callable[[int], object] = os._exit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s = limit_s
        self._leave = leave
        self._clock = clock
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

    def _watch(self) -> None:
        while not self._called_off.wait(self._limit_s / LOOKS):
            silent_s = self._clock() - self._sign_at
            if silent_s >= self._limit_s:
                try:
                    teller = threading.Thread(target=self._tell, args=(silent_s,), daemon=True)
                    teller.start()
                    teller.join(TELL_S)
                finally:
                    self._leave(EXIT_CODE)
                return

    def _tell(self, silent_s: float) -> None:
        log.critical(
            "the loop hangs, the process ends",
            silent_s=round(silent_s, 1),
            limit_s=self._limit_s,
        )
