"""How many transactions of each of our accounts the chain has: no single node's word.

all nodes say the same                 that is it
they differ                            what is nearest to what was believed last; at first what most say, of these the lowest
what was signed so is in no block      the next one, TURN_BLOCKS later
"""

from collections import Counter
from collections.abc import Sequence

TURN_BLOCKS = 3


class Counts:
    """What is believed, by account. It begins again with the process."""

    def __init__(self) -> None:
        self._believed: dict[str, int] = {}
        self._turned: dict[str, int] = {}  # the head at which another node was believed last

    def of(self, account: str, told: Sequence[int], waited_blocks: int, head_number: int) -> int:
        """`told`: by the nodes, at least one.

        `waited_blocks`: how long what was signed first waits for a block.
        """
        last, votes = self._believed.get(account), Counter(told)
        count = min(
            votes, key=lambda one: (0 if last is None else abs(one - last), -votes[one], one)
        )
        turned = self._turned[account] = min(self._turned.get(account, 0), head_number)
        if len(votes) > 1 and min(waited_blocks, head_number - turned) >= TURN_BLOCKS:
            in_order = sorted(votes)
            count = in_order[(in_order.index(count) + 1) % len(in_order)]
            self._turned[account] = head_number
        self._believed[account] = count
        return count

    def passed(self, account: str, count: int) -> None:
        """Transactions up to there were seen in blocks."""
        self._believed[account] = count
