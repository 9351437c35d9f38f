"""After an upgrade: ledgers whose heads an older fold wrote are folded again, a few beside each
round that is at the head.

Laws
- A ledger that fails keeps no other from being folded: it is tried again after all others, and
  after TRIES left to the next process.
- It is told when it fails first, and when it is left.
"""

from collections import Counter, deque

import structlog

from core.db.leadership import LeadershipLostError
from core.mandate.ledger.refold import older_ledgers, refold
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT
from indexer.chain.quarantine import MAY_REFUSE

LEDGERS_A_ROUND = 20
TRIES = 3

log = structlog.get_logger(__name__)


class OlderBooks:
    """What is left of them in this process. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._left: deque[int] | None = None  # None: not looked yet
        self._failures = Counter[int]()

    @property
    def is_done(self) -> bool:
        return self._left is not None and not self._left

    def step(self) -> None:
        """The next few, each in its own transaction.

        Errors: LeadershipLostError, and those of the database before any was tried.
        """
        if self._left is None:
            with self._chain.database.read() as session:
                self._left = deque(older_ledgers(session))
        for _ in range(min(LEDGERS_A_ROUND, len(self._left))):
            mandate_id = self._left.popleft()
            try:
                with self._chain.database.write() as session:
                    self._chain.fence(session)
                    refold(session, mandate_id)
            except LeadershipLostError:
                raise
            except (*MAY_REFUSE, *OF_ONE_FACT) as error:
                self._failed(self._left, mandate_id, error)

    def _failed(self, left: deque[int], mandate_id: int, error: Exception) -> None:
        self._failures[mandate_id] += 1
        self._chain.metrics.failed(error)
        if self._failures[mandate_id] < TRIES:
            left.append(mandate_id)
        else:
            log.error(
                "book not folded again, left to the next start",
                mandate_id=mandate_id,
                kind=type(error).__name__,
            )
        if self._failures[mandate_id] == 1:
            log.exception("book not folded again", mandate_id=mandate_id)
