"""Full garbage collections by the clock, where the thresholds are high.

A process that makes a hundred thousand objects which die together raises the collector's thresholds: by
default it traverses them over and over. Cyclic garbage that survives a young collection then waits for
millions of further objects, which takes hours, and memory grows until then.
"""

import gc
import threading
from typing import Final

EVERY_S: Final = 60.0


def collect_by_the_clock(after: tuple[int, int, int], every_s: float = EVERY_S) -> threading.Event:
    """`after`: the thresholds for `gc.set_threshold`; a full collection every `every_s` seconds, in a thread
    of its own. Setting the returned event ends the thread.

    A full collection takes some 50 ms of a core; what the process was forked with is frozen and left out
    (core/prefork.py).
    """
    gc.set_threshold(*after)
    ended = threading.Event()

    def collect() -> None:
        while not ended.wait(every_s):
            gc.collect()

    threading.Thread(target=collect, name="garbage", daemon=True).start()
    return ended
