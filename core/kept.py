"""What a process has worked out and may need again: bounded, what was not asked for longest goes first.

Law: whoever keeps a value names in its key, or checks when it is found, the version of all that it was
made of; nothing here grows old by itself. Values are shared by all who find them, and never changed.
"""

from collections.abc import Callable, Hashable
from contextlib import suppress
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """`most`: the weight of all that is kept, each value's by `weigh`: 1 without it. What weighs more
    than all may is not kept. Threads may share it.
    """

    def __init__(self, most: int, weigh: Callable[[V], int] | None = None) -> None:
        self._values: LRUCache[K, V] = LRUCache(most, weigh)
        self._lock = Lock()

    def find(self, key: K) -> V | None:
        with self._lock:
            return self._values.get(key)

    def keep(self, key: K, value: V) -> None:
        with self._lock, suppress(ValueError):  # too heavy
            self._values.pop(key, None)
            self._values[key] = value

    def of(self, key: K, make: Callable[[], V]) -> V:
        """What is kept, or is made now."""
        known = self.find(key)
        if known is None:
            self.keep(key, known := make())
        return known


class KeptNewest(Kept[K, tuple[Hashable, V]]):
    """Of each key the newest version alone, so that what is written anew leaves nothing behind.
    A version is of all that the value is made of.
    """

    def find_at(self, key: K, version: Hashable) -> V | None:
        known = self.find(key)
        return None if known is None or known[0] != version else known[1]

    def of_version(self, key: K, version: Hashable, make: Callable[[], V]) -> V:
        """What is kept of this version, or is made now."""
        known = self.find_at(key, version)
        if known is None:
            self.keep(key, (version, known := make()))
        return known
