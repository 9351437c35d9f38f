"""`python -m core.prefork keeper.main run`: a process that has everything imported, and forks the one
that works. When that one dies, the next is forked at once.

    parent: imports, then waits ----fork----> child: settings, connections, work
                 ^                              |
                 |-- died, or lost leadership --|   the next is forked, with nothing of the last
                 |-- exit 0, or 2 (settings) ---|   the parent ends with the same code

Imports are nine tenths of a start, seconds of a core that those who still serve lack just then. What
is forked shares nothing with its predecessor but the code: no connection, no key, no thread.

Laws
- What a start needs and no setting changes is made before the fork: the module's `preload`, if it has one.
- The parent opens nothing, reads no setting but the logs' format and the heaps' number, and has no thread of Python's.
- No child outlives its parent, however that ends; a signal to the parent reaches the child once.
- A child that keeps dying within BRIEF_S is forked more and more slowly, at least each MOST_PAUSE_S.
- The threads of a child share one heap, unless `MALLOC_ARENA_MAX` says otherwise: none keeps for itself
  the most that it ever needed.

Gives up nothing of the supervisor's work: systemd or the like starts the parent again.
"""

import argparse
import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

import structlog
from sqlalchemy.orm import configure_mappers

from core.db.metadata import import_tables
from core.libc import end_with_parent, share_one_heap
from core.logs import configure_logs
from core.settings import asked_log_format, is_heap_count_asked
from core.startup import EXIT_CODE

BRIEF_S: Final = 10.0
FIRST_PAUSE_S: Final = 0.2
MOST_PAUSE_S: Final = 5.0
PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

log = structlog.get_logger("prefork")


class Parent:
    """Forks one child after the other. A signal that is ignored when it starts stays so, for it and for them."""

    def __init__(self) -> None:
        self._child: int | None = None
        self._is_told = False
        self._passed_on = [
            one for one in PASSED_ON if signal.getsignal(one) not in (signal.SIG_IGN, None)
        ]

    def fork_until_ended(self) -> None:
        """Returns in each child, with the signals as they were; the parent exits from here.

        Errors: RuntimeError when a thread runs: a fork has none of it, and what it held stays locked.
        """
        if threading.active_count() > 1:
            raise RuntimeError("a module starts a thread when it is imported")
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would leave no exit code
        before = {one: signal.signal(one, self._pass_on) for one in self._passed_on}
        pause = 0.0
        while True:
            begun = time.monotonic()
            if self._fork(before):
                return
            code = self._ended()
            if self._is_told or code in (0, EXIT_CODE):
                self._end_as(code)
            is_brief = time.monotonic() - begun < BRIEF_S
            pause = min(MOST_PAUSE_S, max(FIRST_PAUSE_S, 2 * pause)) if is_brief else 0.0
            log.error("the process ended; starting it again", code=code, pause_s=pause)
            if self._is_told_within(pause):
                sys.exit(0)

    def _fork(self, before: dict[signal.Signals, Callable[..., object] | int | None]) -> bool:
        """Whether this is the child."""
        parent = os.getpid()
        self._block()
        if self._is_told:  # since the last look; from here on a signal waits for the child
            sys.exit(0)
        self._child = os.fork() or None
        if self._child is None:
            end_with_parent(signal.SIGKILL)
            if os.getppid() != parent:  # it ended before the kernel was told
                os._exit(1)
            os.setpgid(0, 0)  # Ctrl-C reaches the parent alone, which passes it on
            for one, handler in before.items():
                signal.signal(one, handler)
        self._unblock()
        return self._child is None

    def _ended(self) -> int:
        """The child's exit code; minus the signal's number when one ended it."""
        assert self._child is not None
        os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT)
        self._block()
        _, status = os.waitpid(self._child, 0)
        self._child = None  # its number is another's from here on
        self._unblock()
        return os.waitstatus_to_exitcode(status)

    def _is_told_within(self, seconds: float) -> bool:
        self._block()
        told = signal.sigtimedwait(self._passed_on, seconds) is not None
        self._unblock()
        return told or self._is_told

    def _end_as(self, code: int) -> NoReturn:
        """As the child did, so that a supervisor sees the same end."""
        if -code in self._passed_on:
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        # a container's first process outlives its own signals
        sys.exit(code if code >= 0 else 128 - code)

    def _block(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, self._passed_on)

    def _unblock(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._passed_on)

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        self._is_told = True
        if self._child is not None:
            os.kill(self._child, number)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m core.prefork",
        description="Import MODULE, and run it in a process that is forked again when it dies.",
    )
    parser.add_argument("module", help="api.main, keeper.main or indexer.main")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the module's own")
    asked = parser.parse_args()
    if not is_heap_count_asked():
        share_one_heap()
    configure_logs(asked_log_format())
    gc.disable()  # what imports make stays: looking through it again took a sixth of a start
    module = importlib.import_module(asked.module)
    run: Callable[[], object] = module.main if hasattr(module, "main") else module.app
    import_tables()
    configure_mappers()
    if hasattr(module, "preload"):
        module.preload()
    gc.collect()
    gc.freeze()  # what a child leaves alone stays one copy in memory
    gc.enable()
    Parent().fork_until_ended()
    sys.argv = [asked.module, *asked.arguments]
    run()


if __name__ == "__main__":
    main()
