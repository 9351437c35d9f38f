"""How often each thing was asked for without success.

A node may lag, and the next round may do; some things no node will ever answer.
"""

from collections import Counter
from collections.abc import Hashable

MOST_THINGS = 10_000  # that are remembered; the oldest are forgotten first


class Patience:
    """Counts refusals for as long as the process lives; a new process is patient again.

    What was enough stays enough, so that several things that fail together are waited for together.
    """

    def __init__(self) -> None:
        self._refusals: Counter[Hashable] = Counter()

    def tries(self, thing: Hashable) -> int:
        """How often it was asked for without success so far."""
        return self._refusals.get(thing, 0)

    def ends(self, thing: Hashable, rounds: int) -> bool:
        """Count one more refusal; True when `rounds` of them are enough."""
        self._refusals[thing] += 1
        if len(self._refusals) > MOST_THINGS:
            del self._refusals[next(iter(self._refusals))]
        return self._refusals[thing] >= rounds
