"""A process that ends with its parent, however that one ends."""

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_LIBC: Final = ctypes.CDLL(None, use_errno=True)  # loaded before a fork, where little may be done


def end_with_parent(by: signal.Signals = signal.SIGTERM) -> None:
    """The kernel sends `by` to this process when its parent ends. Errors: OSError."""
    if _LIBC.prctl(_PR_SET_PDEATHSIG, by):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
