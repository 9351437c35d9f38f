"""Who gives out the nonces of an account that two loops share, as on a local chain: the loop of the
stops, and the other one while that rests.

    stops   first: look, sign, commit .....                first ...
    others  look, sign, commit?  no: the stops are at it          look, sign, commit?  no: they have taken a nonce since

Laws
- The loop of the stops waits for nothing but a commit of the other one that is under way.
- The other loop commits what it signed only when no stop is being signed, and none was since it
  looked.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Precedence:
    """Of one process; its two senders share one."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_taken: bool = False
    _turns: int = 0

    @property
    def turns(self) -> int:
        """How often the loop of the stops had its turn: what the other one remembers when it
        looks.
        """
        return self._turns

    @contextmanager
    def first(self) -> Iterator[None]:
        """The turn of the loop of the stops, from its look to its last commit."""
        with self._lock:
            self._is_taken, self._turns = True, self._turns + 1
        try:
            yield
        finally:
            self._is_taken = False

    @contextmanager
    def second(self, turns: int) -> Iterator[bool]:
        """A commit of the other loop, which looked at `turns`; False: it has to look again."""
        with self._lock:
            yield not self._is_taken and self._turns == turns
