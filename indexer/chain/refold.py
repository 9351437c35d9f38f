"""After an upgrade: books whose heads an older fold wrote are folded again, a few beside each round that is at the head."""

from collections import deque

from core.books.mandate_refold import older_books, refold
from indexer.chain.context import ChainContext

BOOKS_A_ROUND = 20


class OlderBooks:
    """What is left of them in this process. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._left: deque[int] | None = None  # None: not looked yet

    @property
    def is_done(self) -> bool:
        return self._left is not None and not self._left

    def step(self) -> None:
        """The next few, each in its own transaction. One that fails is left to the next process. Errors: LeadershipLostError."""
        if self._left is None:
            with self._chain.database.read() as session:
                self._left = deque(older_books(session))
        for _ in range(min(BOOKS_A_ROUND, len(self._left))):
            mandate_id = self._left.popleft()
            with self._chain.database.write() as session:
                self._chain.fence(session)
                refold(session, mandate_id)
