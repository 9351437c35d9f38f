"""After an upgrade: ledgers whose heads an older fold wrote are folded again, a few beside each
round that is at the head.
"""

from collections import deque

from core.mandate.ledger.refold import older_ledgers, refold
from indexer.chain.context import ChainContext

LEDGERS_A_ROUND = 20


class OlderLedgers:
    """What is left of them in this process. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._left: deque[int] | None = None  # None: not looked yet

    def step(self) -> None:
        """The next few, each in its own transaction. One that fails ends the step, and is tried
        again after all others.
        """
        chain = self._chain
        if self._left is None:
            with chain.database.read() as session:
                self._left = deque(older_ledgers(session))
        for _ in range(min(LEDGERS_A_ROUND, len(self._left))):
            self._left.rotate(-1)
            with chain.database.write() as session:
                chain.fence(session)
                refold(session, self._left[-1])
            self._left.pop()
