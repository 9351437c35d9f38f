"""The indexer's process: settings in, one loop out. `python -m indexer.main`

It leads or waits to lead; leading, it follows the chain, says every second how it is (row `leader`), and ends when the
right to write is lost. An outside failure makes it try again, never end.
"""

import os
import signal
import socket
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError

from core.chain.reader import ChainReader
from core.chain.rpc import Rpc
from core.db.engine import Database
from core.db.leadership import TRY_S, Leadership, LeadershipLostError
from core.db.repositories.chain import CursorMovedError
from core.domain.errors import OutsideError
from core.logs import configure_logs
from core.settings import Deployment, Settings
from indexer.chain.context import ChainContext
from indexer.chain.tip import Round, TipLoop
from indexer.chain.unwind import FinalityBrokenError

NAME = "indexer"
BEAT_S = 1.0
FINALITY_S = 5.0
RETRY_S = 1.0

log = structlog.get_logger("indexer")


class WrongChainError(OutsideError):
    """The node serves another chain than the one we were told."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"the node's chain id is {got}, CHAIN_ID is {expected}; check RPC_URLS and DEPLOYMENT_FILE")


def now_utc() -> datetime:
    return datetime.now(UTC)


class Indexer:
    """The loop round the loop: leadership, heartbeat, patience with the outside."""

    def __init__(self, reader: ChainReader, database: Database, leadership: Leadership, deployment: Deployment, poll_s: float) -> None:
        self._reader = reader
        self._database = database
        self._leadership = leadership
        self._deployment = deployment
        self._poll_s = poll_s
        self._stopping = threading.Event()
        self._beat_due = self._finality_due = 0.0
        self._status: dict[str, Any] = {"state": "starting"}
        self._told_waiting = False

    def stop(self) -> None:
        """Ask the loop to end after the step that it is in. Safe in a signal handler."""
        self._stopping.set()

    def close(self) -> None:
        """Give the lead back at once and close what is open."""
        self._leadership.release()
        self._database.close()
        self._reader.rpc.close()

    def run(self) -> None:
        """Until `stop`. Errors: LeadershipLostError; OperationalError when the database is down before this process leads."""
        tip: TipLoop | None = None
        while not self._stopping.is_set():
            if not self._leadership.try_take(now_utc()):
                self._tell_waiting()
                self._stopping.wait(TRY_S)
                continue
            try:
                tip = tip or self._open()
                wait_s = self._step(tip)
            except LeadershipLostError:
                raise
            except (OutsideError, OperationalError) as error:
                wait_s = RETRY_S
                # What was committed last is uncertain after these: read the position again.
                tip = None if isinstance(error, CursorMovedError | OperationalError) else tip
                self._say_trouble(error)
            self._beat()
            self._stopping.wait(wait_s)

    def _open(self) -> TipLoop:
        chain_id = self._reader.chain_id()
        if chain_id != self._deployment.chain_id:
            raise WrongChainError(self._deployment.chain_id, chain_id)
        contracts = self._reader.contracts
        chain = ChainContext(
            reader=self._reader,
            database=self._database,
            chain_id=chain_id,
            factory=contracts["factory"],
            usdc=contracts["usdc"],
            x402_adapter=contracts.get("x402_adapter"),
            start_block=self._deployment.block,
            epoch=self._leadership.epoch,
            fence=self._leadership.fence,
        )
        tip = TipLoop(chain, now_utc)
        log.info("following", chain_id=chain_id, cursor=tip.cursor.number, epoch=chain.epoch)
        return tip

    def _step(self, tip: TipLoop) -> float:
        """One round; seconds to wait after it."""
        done = tip.round()
        if time.monotonic() >= self._finality_due:
            tip.note_finalized()
            self._finality_due = time.monotonic() + FINALITY_S
        self._status = _following(done)
        return 0.0 if done.is_behind else self._poll_s

    def _tell_waiting(self) -> None:
        """Once: a spare may wait for weeks."""
        if not self._told_waiting:
            log.info("another indexer leads, waiting")
        self._told_waiting = True

    def _say_trouble(self, error: Exception) -> None:
        state = "halted" if isinstance(error, FinalityBrokenError) else "degraded"
        log.error("round failed", state=state, error=str(error), kind=type(error).__name__)
        self._status = {**self._status, "state": state, "error": str(error)}

    def _beat(self) -> None:
        if time.monotonic() >= self._beat_due:
            self._leadership.beat(self._status)
            self._beat_due = time.monotonic() + BEAT_S


def _following(done: Round) -> dict[str, Any]:
    lag_blocks = None if done.head is None else max(0, done.head - done.cursor)
    return {"state": "following", "head": done.head, "cursor": done.cursor, "lag_blocks": lag_blocks, "error": None}


def build(settings: Settings) -> Indexer:
    deployment = settings.deployment()
    database = Database(settings.database_url, application_name=NAME)
    leadership = Leadership(settings.database_url, NAME, f"{socket.gethostname()}:{os.getpid()}")
    reader = ChainReader(Rpc(settings.rpc_urls, calls_per_s=settings.rpc_requests_per_s), deployment.contracts)
    return Indexer(reader, database, leadership, deployment, settings.poll_interval_ms / 1000)


def main() -> None:
    settings = Settings()
    configure_logs(settings.log_format)
    indexer = build(settings)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: indexer.stop())
    try:
        indexer.run()
        indexer.close()
    except LeadershipLostError as error:
        # The supervisor starts a fresh process, which waits for its turn.
        log.error("no longer leading", error=str(error))
        sys.exit(1)
    log.info("stopped")


if __name__ == "__main__":
    main()
