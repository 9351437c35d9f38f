"""Garbage is collected by the clock, however seldom the collector looks by itself."""

import gc
import time
import weakref

from core.garbage import collect_by_the_clock

WITHIN_S = 10.0
NEVER = 10_000_000, 1_000, 1_000


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_garbage_that_outlived_a_look__is_collected_within_the_time() -> None:
    before = gc.get_threshold()
    ended = collect_by_the_clock(NEVER, every_s=0.05)
    try:
        assert gc.get_threshold() == NEVER
        node = Node()
        gc.collect(0)
        gc.collect(1)  # it is old now
        gone = weakref.ref(node)
        del node
        until = time.monotonic() + WITHIN_S
        while gone() is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert gone() is None
    finally:
        ended.set()
        gc.set_threshold(*before)
