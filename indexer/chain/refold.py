"""After an upgrade: ledgers whose heads an older fold wrote are folded again, a few beside each
round that is at the head.
"""

from collections import deque

import structlog

from core.mandate.ledger.writer import older_ledgers, refold
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT
from indexer.chain.quarantine import MAY_REFUSE

LEDGERS_A_ROUND = 20

log = structlog.get_logger(__name__)


class OlderLedgers:
    """What is left of them in this process. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._left: deque[int] | None = None  # None: not looked yet

    def step(self) -> None:
        """The next few, each in its own transaction. One that fails is named in the log, and left to
        the next start of this process.
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
            except (*MAY_REFUSE, *OF_ONE_FACT) as error:
                chain.metrics.failed(error)
                log.exception("could not refold a ledger", mandate_id=mandate_id)
