"""The indexer's part of a story: the real one, a round at a time, in the test's own process."""

import time
from contextlib import suppress
from datetime import UTC, datetime

from sqlalchemy.exc import OperationalError

from core.db.engine import Database
from core.db.leadership import Leadership, LeadershipLostError
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.conftest import Follower

PATIENCE_S = 15.0


class Record:
    """Vaults and ledgers as the chain has them, whenever it is asked; begun again after each crash
    of Postgres.
    """

    def __init__(self, chain: DeployedChain, database: Database, url: str) -> None:
        self._chain = chain
        self._database = database
        self._url = url
        self._follower: Follower | None = None

    def catch_up(self) -> None:
        """To the head. Errors: OperationalError when the database stays away."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._follower = self._follower or self._begun()
                self._follower.catch_up()
            except (OperationalError, LeadershipLostError):
                self.close()
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def close(self) -> None:
        if self._follower is not None:
            with suppress(OperationalError):
                self._follower.leadership.release()
        self._follower = None

    def _begun(self) -> Follower:
        leadership = Leadership(self._url, "indexer", "test")
        if not leadership.try_take(datetime.now(UTC)):
            leadership.release()
            raise LeadershipLostError("indexer", 0)
        return Follower(self._chain, self._database, leadership)
