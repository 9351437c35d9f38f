"""How many calls one node is sent at once: as many as it takes, learned from what it refuses.

    calls  400 --refused--> 200 --refused--> 100 ... 110 ... 121 --refused--> 110
                                              '-- a step every RISE_EVERY_S with an answer

Laws
- It is each node's own: what one refuses says nothing of another.
- A refused size is halved, but not below a smaller one that was answered since. A success raises it
  again, a step at a time.
- Below FLOOR the node is as good as down for batches: others are asked before it.
Not thread-safe: its node holds the lock.
"""

# geth refuses more than 1,000 and some providers more than 500; an answer stays below a few hundred
# KB
MOST_CALLS = 400
FLOOR = 20
RISE = 1.1
RISE_EVERY_S = 10.0


class BatchSize:
    """The limit of one node. `now` is a monotonic clock's seconds."""

    def __init__(self) -> None:
        self.calls = MOST_CALLS
        self._answered = 0  # the largest batch since the last refusal
        self._changed_at = float("-inf")

    def is_short_of(self, calls: int) -> bool:
        """Whether so many calls would have to go in pieces that are too small to be worth it."""
        return self.calls < min(calls, FLOOR)

    def refused(self, calls: int, now: float) -> None:
        """The node said that so many are too many."""
        known = self._answered if self._answered < calls else 0
        self.calls = min(self.calls, max(1, calls // 2, known))
        self._answered, self._changed_at = 0, now

    def answered(self, calls: int, now: float) -> None:
        self._answered = max(self._answered, calls)
        if self.calls < MOST_CALLS and now >= self._changed_at + RISE_EVERY_S:
            self.calls = min(MOST_CALLS, max(self.calls + 1, int(self.calls * RISE)))
            self._changed_at = now
