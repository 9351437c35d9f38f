"""How many calls a node is sent: a token bucket whose rate gives way to the node's own word.

    rate   per_s ----.  429                          .---- per_s
                     '--- per_s/2 --- +10 % each second with a success

Laws
- In any window of w seconds at most burst + per_s * w calls go out, and what the last request had
  beyond its first call: a request passes when one token is there and takes all that it costs, if
  need be as debt. So a large batch is never starved by small calls, and pays for itself before the
  next request goes out.
- It starts full and at the configured rate. Limited by the node: the rate halves, once a pause
  however many requests were under way, down to a hundredth; nothing goes out before the node's
  Retry-After, at most MAX_PAUSE_S. Not thread-safe: its node holds the lock.
"""

PAUSE_S = 1.0  # when the node does not say how long
MAX_PAUSE_S = 30.0
LOWEST = 0.01
RISE = 1.1
RISE_EVERY_S = 1.0
_ROUNDING = 1e-9  # of a token: a wait that was computed exactly must not end a hair too early


class CallBudget:
    """Tokens of one node.

    `now` is a monotonic clock's seconds; calls with an earlier `now` than before add nothing.
    """

    def __init__(self, per_s: float, burst: float, now: float) -> None:
        if per_s <= 0 or burst < 1:
            raise ValueError("a budget needs a rate above 0 and a burst of at least 1")
        self.configured_per_s = per_s
        self.per_s = per_s
        self._burst = burst
        self._tokens = burst
        self._at = now
        self._paused_until = float("-inf")
        self._changed_at = now

    def wait_s(self, now: float) -> float:
        """Seconds until a request may pass; 0: now."""
        self._fill(now)
        lacking = 1 - self._tokens
        return max(
            0.0, self._paused_until - now, lacking / self.per_s if lacking > _ROUNDING else 0.0
        )

    def take(self, cost: int, now: float) -> None:
        """Pay for a request of `cost` calls.

        Ask `wait_s` first: what it refuses must not be sent.
        """
        self._fill(now)
        self._tokens -= cost

    def limited(self, retry_after_s: float | None, now: float) -> None:
        """The node said that it was asked too fast."""
        self._fill(now)
        if now >= self._paused_until:
            self._set_rate(self.per_s / 2, now)
        pause_s = PAUSE_S if retry_after_s is None else min(max(retry_after_s, 0.0), MAX_PAUSE_S)
        self._paused_until = max(self._paused_until, now + pause_s)

    def succeeded(self, now: float) -> None:
        """The node answered: a lowered rate rises again, a step a second."""
        if (
            self.per_s < self.configured_per_s
            and now >= max(self._changed_at, self._paused_until) + RISE_EVERY_S
        ):
            self._fill(now)
            self._set_rate(self.per_s * RISE, now)

    def _set_rate(self, per_s: float, now: float) -> None:
        self.per_s = min(max(per_s, self.configured_per_s * LOWEST), self.configured_per_s)
        self._tokens = min(self._tokens, self._capacity)
        self._changed_at = now

    @property
    def _capacity(self) -> float:
        """A slowed node is spared the bursts as well."""
        return max(1.0, self._burst * self.per_s / self.configured_per_s)

    def _fill(self, now: float) -> None:
        self._tokens = min(self._capacity, self._tokens + max(0.0, now - self._at) * self.per_s)
        self._at = max(self._at, now)
