"""The indexer's process: settings in, one loop out.

`python -m indexer.main [run | scan | status | acknowledge]`

It leads or waits to lead; leading, it follows the chain, says every second how it is (row
`leader`), and ends when the right to write is lost, or when it hangs (core.watchdog). No failure of
a round ends it (loop.py).
"""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog
import typer
from rich.console import Console
from sqlalchemy.exc import SQLAlchemyError

from core.audit import queries as findings
from core.chain.nodes import Nodes
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership, LeadershipLostError, require_epoch
from core.db.outage import no_database
from core.exporter import serve_or_log
from core.mandate.chain.lens import LENS
from core.mandate.chain.reader import VaultReader
from core.market import scans
from core.settings import Deployment, Settings
from core.startup import read_settings, refusals
from core.targets.limits import target_limits
from core.watchdog import Watchdog
from indexer import status
from indexer.loop import AuditPlace, Indexer, now_utc
from indexer.metrics import IndexerMetrics, TimedDatabase

if TYPE_CHECKING:
    from indexer.venues import scanner
    from indexer.venues.port import MarketVenue

NAME = "indexer"
COLLECT_AFTER = 50_000  # objects
CONTRACTS = "factory", "usdc", LENS  # that nothing can be followed without
STATUS_ANSWER_S = 2.0  # a person waits

log = structlog.get_logger("indexer")
# A pretty traceback shows values, and those may be secrets.
app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Follows the chain into Postgres; without a command it runs.",
)


def build(settings: Settings, metrics: IndexerMetrics) -> Indexer:
    deployment = settings.deployment(*CONTRACTS)
    database = TimedDatabase(settings.database_url, metrics, application_name=NAME)
    leadership = Leadership(settings.database_url, NAME, f"{socket.gethostname()}:{os.getpid()}")
    rpc = Nodes(
        settings.rpc_urls, answer_s=settings.rpc_answer_s, calls_per_s=settings.rpc_requests_per_s
    )
    metrics.count_rpc(rpc)
    reader = VaultReader(rpc, deployment.contracts)
    audit, watchdog = build_audit(settings, deployment), Watchdog(settings.indexer_watchdog_s)
    return Indexer(
        reader,
        database,
        leadership,
        chain_id=deployment.chain_id,
        start_block=deployment.block,
        poll_s=settings.poll_interval_ms / 1000,
        metrics=metrics,
        watchdog=watchdog,
        audit=audit,
    )


def build_audit(settings: Settings, deployment: Deployment) -> AuditPlace | None:
    """The second of RPC_URLS audits what came from the first; one that is alone can only be held
    against itself.
    """
    if settings.audit_blocks == 0:
        return None
    urls = settings.rpc_urls
    rpc = Nodes(
        [urls[min(1, len(urls) - 1)]],
        answer_s=settings.rpc_answer_s,
        calls_per_s=settings.rpc_requests_per_s,
    )
    return AuditPlace(
        VaultReader(rpc, deployment.contracts),
        settings.audit_blocks,
        settings.audit_every_s,
        is_same_provider=len(urls) == 1,
    )


@app.callback(invoke_without_command=True)
def without_a_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        run()


@app.command()
def run() -> None:
    """Follow the chain until SIGTERM."""
    # A range makes a hundred thousand small objects that die together: the collector's default
    # looks at them over and over.
    gc.set_threshold(COLLECT_AFTER)
    settings, metrics = read_settings(), IndexerMetrics(time.time)
    with refusals():
        indexer = build(settings, metrics)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: indexer.stop())
    serve_or_log(
        metrics.registry, settings.host, settings.indexer_metrics_port, "INDEXER_METRICS_PORT"
    )
    try:
        indexer.run()
        indexer.close()
    except LeadershipLostError as error:
        # The supervisor starts a fresh process, which waits for its turn.
        log.error("no longer leading", error=str(error))
        sys.exit(1)
    log.info("stopped")


@app.command()
def scan() -> None:
    """Read the exchanges of VENUES, or their simulator, until SIGTERM. A process of its own: it
    needs no chain.
    """
    # Arrays and exchanges: 30 to 100 MB that the process that follows the chain does without.
    from indexer.venues import chosen, scanner
    from indexer.venues.store import ScannerStore

    settings = read_settings()
    with refusals():
        chosen.require_venues(settings.venues)
    database = Database(
        settings.database_url,
        application_name=scanner.NAME,
        bounds=Bounds(pool_size=10, overflow=5),
        synchronous_commit=False,  # what a venue says now it says again in a minute
    )
    leadership = Leadership(
        settings.database_url, scanner.NAME, f"{socket.gethostname()}:{os.getpid()}"
    )

    def made(store: ScannerStore) -> "Sequence[MarketVenue]":
        if list(settings.venues) == [chosen.SIM] and not chosen.has_past(store):
            store.says(scans.IMPORTING)
            _import_apart(leadership.epoch)
        return chosen.made(settings.venues, settings.sim_listings, store, now_utc)

    found = scanner.Scanner(
        database=database,
        leadership=leadership,
        watchdog=Watchdog(settings.scanner_watchdog_s),
        clock=now_utc,
        venues=made,
        targets=target_limits(settings),
        bursts_at_once=settings.bursts_at_once,
        onchain=chosen.onchain_at,
    )
    try:
        asyncio.run(_scanned(found))
    finally:
        database.close()
    log.info("scanner stopped")
    sys.exit(found.exit_code)


def _import_apart(epoch: int) -> None:
    """The import needs 200 MB, which a process that goes on would keep: it has its own.

    Errors: CalledProcessError, after which the scanner starts again.
    """
    command = [sys.executable, "-m", "indexer.main", "import-past", str(epoch)]
    subprocess.run(command, check=True)  # noqa: S603 (our own command and a number)


@app.command(hidden=True)
def import_past(epoch: int) -> None:
    """For `scan`, which leads by this epoch: import the simulated past into a database that has no
    market data.
    """
    from indexer.venues import chosen, scanner
    from indexer.venues.store import ScannerStore

    settings = read_settings()
    database = Database(
        settings.database_url, application_name=scanner.NAME, synchronous_commit=False
    )
    store = ScannerStore(database, lambda session: require_epoch(session, scanner.NAME, epoch))
    try:
        chosen.made(settings.venues, settings.sim_listings, store, now_utc)
    finally:
        database.close()


async def _scanned(found: "scanner.Scanner") -> None:
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, found.stop)
    await found.run()


@app.command(name="status")
def show_status(
    json: bool = typer.Option(False, "--json", help="one JSON object instead of tables"),
) -> None:
    """How the indexer is, from Postgres and one look at the node.

    Exit 1 when it is down or late, or no node answers.
    """
    settings = read_settings(answers=True)
    with refusals():
        settings.deployment()
    database = Database(settings.database_url, application_name=f"{NAME} status")
    rpc = Nodes(settings.rpc_urls, answer_s=STATUS_ANSWER_S)
    try:
        with database.read() as session:
            report = status.read(session, VaultReader(rpc, {}), settings.chain_id, now_utc())
    except SQLAlchemyError as error:
        typer.echo(no_database(error), err=True)
        raise typer.Exit(1) from None
    finally:
        rpc.close()
        database.close()
    if json:
        typer.echo(status.as_json(report))
    else:
        Console().print(*status.tables(report), *status.scanner_tables(report), sep="\n")
    raise typer.Exit(0 if report.is_healthy else 1)


@app.command()
def acknowledge(
    finding_id: int = typer.Argument(min=1, max=2**63 - 1),
    note: str | None = typer.Option(None, help="why it can be closed"),
) -> None:
    """Close a finding of the auditor that you have looked at.

    Exit 1 when no open one has that id, 2 when it could not be asked.
    """
    database = Database(
        read_settings(answers=True).database_url, application_name=f"{NAME} acknowledge"
    )
    try:
        with database.write() as session:
            is_closed = findings.acknowledge(
                session, finding_id, note and note.encode(errors="replace").decode(), now_utc()
            )
    except SQLAlchemyError as error:
        typer.echo(f"Nothing was closed. {no_database(error)}", err=True)
        raise typer.Exit(2) from None
    finally:
        database.close()
    typer.echo(
        f"Finding {finding_id} is closed."
        if is_closed
        else f"No open finding has the id {finding_id}.",
        err=not is_closed,
    )
    raise typer.Exit(0 if is_closed else 1)


if __name__ == "__main__":
    app()
