"""The indexer's process: settings in, one loop out. `python -m indexer.main [run | status]`

It leads or waits to lead; leading, it follows the chain, says every second how it is (row `leader`), and ends when the
right to write is lost. An outside failure makes it try again, never end.
"""

import gc
import os
import random
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import structlog
import typer
from rich.console import Console
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from core.chain.reader import ChainReader
from core.chain.rpc import Rpc, RpcRefusedError
from core.db.engine import Bounds, Database
from core.db.leadership import TRY_S, Leadership, LeadershipLostError
from core.db.repositories import audit as findings
from core.db.repositories import health
from core.db.repositories.chain import TIP, CursorMovedError
from core.domain.errors import OutsideError
from core.exporter import serve_or_tell
from core.logs import configure_logs
from core.settings import Deployment, Settings
from indexer import status
from indexer.chain.audit_loop import AuditLoop, Rest
from indexer.chain.auditor import Auditor
from indexer.chain.context import ChainContext
from indexer.chain.deposits import watch_deposits
from indexer.chain.tip import Round, TipLoop
from indexer.chain.unwind import FinalityBrokenError
from indexer.metrics import Metrics, TimedDatabase

NAME = "indexer"
BEAT_S = 1.0
FINALITY_S = 5.0
DEPOSITS_S = 1.0
RETRY_S = 1.0
COLLECT_AFTER = 50_000, 20, 100  # objects, then generations
STATUS_ANSWER_S = 2.0  # a person waits

log = structlog.get_logger("indexer")
app = typer.Typer(add_completion=False, help="Follows the chain into Postgres; without a command it runs.")


class WrongChainError(OutsideError):
    """The node serves another chain than the one we were told."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"the node's chain id is {got}, CHAIN_ID is {expected}; check RPC_URLS and DEPLOYMENT_FILE")


def now_utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Audit:
    """What the auditor stands on: the second node, or the only one; a database of its own; its thread."""

    reader: ChainReader
    database: Database
    loop: AuditLoop
    blocks_a_round: int
    is_same_provider: bool

    def close(self) -> None:
        self.loop.stop()
        self.database.close()
        self.reader.rpc.close()


class Indexer:
    """The loop round the loop: leadership, heartbeat, patience with the outside."""

    def __init__(
        self,
        reader: ChainReader,
        database: Database,
        leadership: Leadership,
        deployment: Deployment,
        poll_s: float,
        metrics: Metrics,
        audit: Audit | None = None,
    ) -> None:
        """`audit` None: nothing is audited."""
        self._metrics = metrics
        self._audit = audit
        self._tags: dict[str, int] = {}
        self._reader = reader
        self._database = database
        self._leadership = leadership
        self._deployment = deployment
        self._poll_s = poll_s
        self._stopping = threading.Event()
        self._beat_due = self._finality_due = self._deposits_due = 0.0
        self._status: dict[str, Any] = {"state": "starting"}
        self._told_waiting = False

    def stop(self) -> None:
        """Ask the loop to end after the step that it is in. Safe in a signal handler."""
        self._stopping.set()

    def close(self) -> None:
        """Give the lead back at once and close what is open."""
        if self._audit is not None:
            self._audit.close()
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
            self._metrics.leading(self._leadership.epoch)
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
            metrics=self._metrics,
        )
        tip = TipLoop(chain, now_utc)
        with self._database.read() as session:
            at = health.position(session, TIP)
        self._metrics.opened(tip.cursor.number, None if at is None else at.block_at)
        log.info("following", chain_id=chain_id, cursor=tip.cursor.number, epoch=chain.epoch)
        self._begin_audit(chain)
        return tip

    def _begin_audit(self, chain: ChainContext) -> None:
        """Once a process; what it writes is fenced, and no sign of the loop."""
        audit = self._audit
        if audit is None:
            return
        beside = replace(chain, reader=audit.reader, database=audit.database, fence=self._leadership.fence_beside)

        def make(rest: Rest) -> Auditor:
            self._metrics.audit_began()
            draw = random.Random()  # noqa: S311 (which blocks are looked at is no secret)
            return Auditor(
                beside, now_utc, blocks_a_round=audit.blocks_a_round, is_same_provider=audit.is_same_provider, draw=draw, rest=rest
            )

        audit.loop.start(make)

    def _step(self, tip: TipLoop) -> float:
        """One round; seconds to wait after it."""
        done = tip.round()
        self._metrics.round_done(done.head, done.cursor)
        if time.monotonic() >= self._finality_due:
            tip.note_finality()
            self._read_tags()
            self._finality_due = time.monotonic() + FINALITY_S
        if not done.is_behind and time.monotonic() >= self._deposits_due:
            watch_deposits(tip.chain, now_utc())
            self._deposits_due = time.monotonic() + DEPOSITS_S
        self._status = _following(done) | self._tags
        if self._audit is not None:
            (self._audit.loop.hold if done.is_behind else self._audit.loop.let_go)()
        return 0.0 if done.is_behind else self._poll_s

    def _read_tags(self) -> None:
        """How far the chain calls itself safe and final; a chain without a tag says nothing of it."""
        for tag in ("safe", "finalized"):
            try:
                header = self._reader.header(tag)
            except RpcRefusedError:
                continue
            if header is not None:
                self._tags[tag] = header.number
                self._metrics.heads.labels(tag).set(header.number)

    def _tell_waiting(self) -> None:
        """Once: a spare may wait for weeks."""
        if not self._told_waiting:
            log.info("another indexer leads, waiting")
        self._told_waiting = True

    def _say_trouble(self, error: Exception) -> None:
        state = "halted" if isinstance(error, FinalityBrokenError) else "degraded"
        log.error("round failed", state=state, error=str(error), kind=type(error).__name__)
        self._metrics.round_failed(error, is_halt=state == "halted")
        self._status = {**self._status, "state": state, "error": str(error)} | _halted_below(error)

    def _beat(self) -> None:
        if time.monotonic() >= self._beat_due:
            self._leadership.beat(self._status)
            self._beat_due = time.monotonic() + BEAT_S


def _following(done: Round) -> dict[str, Any]:
    lag_blocks = None if done.head is None else max(0, done.head - done.cursor)
    return {"state": "following", "head": done.head, "cursor": done.cursor, "lag_blocks": lag_blocks, "error": None}


def _halted_below(error: Exception) -> dict[str, Any]:
    """Stays in the status until a round ends well: a node that is away afterwards does not heal a broken chain."""
    if not isinstance(error, FinalityBrokenError):
        return {}
    return {"halted_below": {"number": error.boundary.number, "hash": error.boundary.hash}}


def build(settings: Settings, metrics: Metrics) -> Indexer:
    deployment = settings.deployment()
    database = TimedDatabase(settings.database_url, metrics, application_name=NAME)
    leadership = Leadership(settings.database_url, NAME, f"{socket.gethostname()}:{os.getpid()}")
    rpc = Rpc(settings.rpc_urls, answer_s=settings.rpc_answer_s, calls_per_s=settings.rpc_requests_per_s)
    metrics.count_rpc(rpc)
    reader = ChainReader(rpc, deployment.contracts)
    audit = build_audit(settings, deployment)
    return Indexer(reader, database, leadership, deployment, settings.poll_interval_ms / 1000, metrics, audit)


def build_audit(settings: Settings, deployment: Deployment) -> Audit | None:
    """The second of RPC_URLS audits what came from the first; one that is alone can only be held against itself."""
    if settings.audit_blocks == 0:
        return None
    urls = list(dict.fromkeys(settings.rpc_urls))
    rpc = Rpc([urls[min(1, len(urls) - 1)]], answer_s=settings.rpc_answer_s, calls_per_s=settings.rpc_requests_per_s)
    return Audit(
        ChainReader(rpc, deployment.contracts),
        Database(settings.database_url, application_name=f"{NAME} auditor", bounds=Bounds(pool_size=1, overflow=1)),
        AuditLoop(settings.audit_every_s),
        settings.audit_blocks,
        is_same_provider=len(urls) == 1,
    )


@app.callback(invoke_without_command=True)
def without_a_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        run()


@app.command()
def run() -> None:
    """Follow the chain until SIGTERM."""
    # A range makes a hundred thousand small objects that die together: the collector's default looks at them over and over.
    gc.set_threshold(*COLLECT_AFTER)
    settings = Settings()
    configure_logs(settings.log_format)
    metrics = Metrics(time.time)
    indexer = build(settings, metrics)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: indexer.stop())
    server = serve_or_tell(metrics.registry, settings.host, settings.indexer_metrics_port, "INDEXER_METRICS_PORT")
    try:
        indexer.run()
        indexer.close()
    except LeadershipLostError as error:
        # The supervisor starts a fresh process, which waits for its turn.
        log.error("no longer leading", error=str(error))
        sys.exit(1)
    finally:
        if server is not None:
            server.close()
    log.info("stopped")


@app.command(name="status")
def show_status(json: bool = typer.Option(False, "--json", help="one JSON object instead of tables")) -> None:
    """How the indexer is, from Postgres and one look at the node. Exit 1 when it is down or late."""
    settings = Settings()
    database = Database(settings.database_url, application_name=f"{NAME} status")
    rpc = Rpc(settings.rpc_urls, answer_s=STATUS_ANSWER_S)
    try:
        with database.read() as session:
            report = status.read(session, ChainReader(rpc, {}), settings.chain_id, now_utc())
    except SQLAlchemyError as error:
        typer.echo(f"The database does not answer; check DATABASE_URL and that it is migrated ({type(error).__name__}).", err=True)
        raise typer.Exit(1) from None
    finally:
        rpc.close()
        database.close()
    if json:
        typer.echo(status.as_json(report))
    else:
        Console().print(*status.tables(report), sep="\n")
    raise typer.Exit(0 if report.is_healthy else 1)


@app.command()
def acknowledge(finding_id: int, note: str | None = typer.Option(None, help="why it may stand")) -> None:
    """Close a finding of the auditor that you have looked at. Exit 1 when no open one has that id."""
    database = Database(Settings().database_url, application_name=f"{NAME} acknowledge")
    try:
        with database.write() as session:
            is_closed = findings.acknowledge(session, finding_id, note, now_utc())
    finally:
        database.close()
    typer.echo(f"Finding {finding_id} is closed." if is_closed else f"No open finding has the id {finding_id}.", err=not is_closed)
    raise typer.Exit(0 if is_closed else 1)


if __name__ == "__main__":
    app()
