"""What a process has worked out and may need again: bounded, what was not asked for longest goes first.

Law: whoever keeps a value names in its key, or checks when it is found, the version of all that it was
made of; nothing here grows old by itself. Values are shared by all who find them, and never changed.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """`most`: the weight of all that is kept, each value's by `weigh`: 1 without it. What weighs more
    than all may is not kept.
    """

    def __init__(self, most: int, weigh: Callable[[V], int] | None = None) -> None:
        self._most, self._weigh = most, weigh
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def find(self, key: K) -> V | None:
        with self._lock:
            known = self._values.get(key)
            if known is None:
                return None
            self._values.move_to_end(key)
            return known[0]

    def keep(self, key: K, value: V) -> None:
        weight = 1 if self._weigh is None else self._weigh(value)
        with self._lock:
            self._drop(key)
            if weight > self._most:
                return
            self._values[key] = value, weight
            self._weight += weight
            while self._weight > self._most:
                self._drop(next(iter(self._values)))

    def _drop(self, key: K) -> None:
        known = self._values.pop(key, None)
        if known is not None:
            self._weight -= known[1]
