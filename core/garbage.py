"""Garbage that refers to itself, collected by the clock where the collector is told to look seldom.

A process that makes a hundred thousand objects which die together sets the collector's thresholds high:
its default looks at them over and over. What outlives a look is then next looked at when millions more were
made, hours later, and memory grows until then. So all of it is looked at every so often as well.
"""

import gc
import threading
from typing import Final

EVERY_S: Final = 60.0


def collect_by_the_clock(after: tuple[int, int, int], every_s: float = EVERY_S) -> threading.Event:
    """Collect the young after as many objects and generations as `gc.set_threshold` is to be given, and
    everything each `every_s` seconds, in a thread of its own. The event ends it.

    A look at everything takes some 50 ms of a core; what the process was forked with is not looked at
    (core/prefork.py).
    """
    gc.set_threshold(*after)
    ended = threading.Event()

    def collect() -> None:
        while not ended.wait(every_s):
            gc.collect()

    threading.Thread(target=collect, name="garbage", daemon=True).start()
    return ended
