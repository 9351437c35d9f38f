"""When a node is left alone.

    closed --failure--> open 1 s --> half-open --success--> closed
                          ^              |
                          '-- 2, 4 .. 60 s <-- failure

Laws
- A failure opens; the next one in a row, once that time is over, opens for twice as long, at most
  MOST_OPEN_S. Failures of requests that were under way together count once.
- Half-open lets one request through at a time. A success closes what failures opened.
- A rest is no failure: it runs its time whatever is answered meanwhile, and doubles nothing.
- A method that is refused rests the node, each time in a row for twice as long; other methods that
  are answered say nothing of it. Not thread-safe: its node holds the lock.
"""

from collections.abc import Iterable
from enum import StrEnum

FIRST_OPEN_S = 1.0
MOST_OPEN_S = 60.0


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """The state of one node. `now` is a monotonic clock's seconds."""

    def __init__(self) -> None:
        self._open_s = 0.0  # 0: closed
        self._failed_until = self._rests_until = float("-inf")
        self._is_probed = False
        self._refused_s: dict[str, float] = {}  # by method: how long the node rested for it last

    @property
    def free_at(self) -> float:
        """From then on (inclusive) a request may pass."""
        return max(self._failed_until, self._rests_until)

    def state(self, now: float) -> BreakerState:
        if now < self.free_at:
            return BreakerState.OPEN
        return BreakerState.HALF_OPEN if self._open_s else BreakerState.CLOSED

    def admits(self, now: float) -> bool:
        """False while open, and while another request is trying a half-open node."""
        state = self.state(now)
        return state is BreakerState.CLOSED or (
            state is BreakerState.HALF_OPEN and not self._is_probed
        )

    def has_failed(self, now: float) -> bool:
        """True while a failure keeps it open; a rest alone does not."""
        return now < self._failed_until

    def entered(self, now: float) -> bool:
        """A request begins; True when it is the one that tries a half-open node.

        Pass that on to `left`.
        """
        is_probe = self.state(now) is BreakerState.HALF_OPEN and not self._is_probed
        self._is_probed = self._is_probed or is_probe
        return is_probe

    def left(self, is_probe: bool) -> None:
        """A request ended, however it did."""
        if is_probe:
            self._is_probed = False

    def succeeded(self) -> None:
        self._open_s = 0.0
        self._failed_until = float("-inf")

    def failed(self, now: float) -> None:
        if now < self._failed_until:
            return
        self._open_s = min(self._open_s * 2 or FIRST_OPEN_S, MOST_OPEN_S)
        self._failed_until = now + self._open_s

    def refused(self, method: str, now: float) -> None:
        """It does not serve this method, or nobody (any more)."""
        if now < self._rests_until:
            return
        self._refused_s[method] = min(
            self._refused_s.get(method, 0.0) * 2 or FIRST_OPEN_S, MOST_OPEN_S
        )
        self.rest(self._refused_s[method], now)

    def answered(self, methods: Iterable[str]) -> None:
        """It served these."""
        for method in methods if self._refused_s else ():
            self._refused_s.pop(method, None)

    def rest(self, seconds: float, now: float) -> None:
        self._rests_until = max(self._rests_until, now + seconds)
