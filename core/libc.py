"""What the C library is asked for that Python has no name for (glibc on Linux)."""

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_M_ARENA_MAX: Final = -8  # malloc.h
_LIBC: Final = ctypes.CDLL(None, use_errno=True)  # loaded before a fork, where little may be done


def end_with_parent(by: signal.Signals = signal.SIGTERM) -> None:
    """The kernel sends `by` to this process when its parent ends. Errors: OSError."""
    if _LIBC.prctl(_PR_SET_PDEATHSIG, by):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def share_one_heap() -> None:
    """All threads of this process, and of those that it forks, allocate from one heap.

    By default each has its own, up to eight per core, and each keeps the most that ever lived in it:
    a job that runs now in one thread and now in another is paid for once per thread. Most is
    allocated under Python's lock, so that threads seldom wait for the heap. Errors: OSError.
    """
    if not _LIBC.mallopt(_M_ARENA_MAX, 1):
        raise OSError("mallopt refused M_ARENA_MAX")
