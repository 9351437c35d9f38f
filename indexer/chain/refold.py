"""After an upgrade: ledgers whose heads an older fold wrote are folded again, a few beside each
round that is at the head. One that fails is tried again after all others, TRIES times in a process.
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


class OlderLedgers:
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
        chain = self._chain
        if self._left is None:
            with chain.database.read() as session:
                self._left = deque(older_ledgers(session))
        for _ in range(min(LEDGERS_A_ROUND, len(self._left))):
            mandate_id = self._left.popleft()
            try:
                with chain.database.write() as session:
                    chain.fence(session)
                    refold(session, mandate_id)
            except LeadershipLostError:
                raise
            except (*MAY_REFUSE, *OF_ONE_FACT) as error:
                self._failures[mandate_id] += 1
                chain.metrics.failed(error)
                times = self._failures[mandate_id]
                self._left += [mandate_id] if times < TRIES else []
                log.exception("ledger not folded again", mandate_id=mandate_id, times=times)
