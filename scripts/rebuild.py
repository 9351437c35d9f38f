"""`python -m scripts.rebuild`: scan the chain again beside the record, show every difference, and
repair it when told so.

    python -m scripts.rebuild              compare; nothing of the record is changed. Exit 0: equal, 1: it differs, 2: refused
    python -m scripts.rebuild --accept     as above, and put the rescan in place of what differs
    python -m scripts.rebuild --fresh      do not go on with a rescan that was begun before

Stop the indexer first. Killed halfway, the next start goes on where it stood. A rescan that differs
is kept, so that `--accept` afterwards need not scan again; an equal one is dropped. Connects as the
owner of the tables (it makes a schema).
"""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import structlog
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from core.chain.nodes import Nodes
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership
from core.errors import OutsideError
from core.mandate.chain.lens import LENS
from core.mandate.chain.reader import VaultReader
from core.settings import Deployment, Settings
from core.shadow import queries as shadow
from core.shadow.queries import MissingRow
from core.shadow.views import Difference
from core.startup import read_settings, refusals
from indexer.chain.context import ChainContext
from indexer.chain.rebuild import Comparison, Rebuild, RebuildRefusedError

EQUAL, DIFFERS, REFUSED = 0, 1, 2
# the comparison reads everything that there is
BOUNDS = Bounds(statement_s=0, idle_in_transaction_s=0)

# a pretty traceback shows values, and those may be secrets
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(soft_wrap=True)


def now_utc() -> datetime:
    return datetime.now(UTC)


@app.command()
def rebuild(
    accept: bool = typer.Option(False, "--accept", help="put the rescan in place of what differs"),
    fresh: bool = typer.Option(
        False, "--fresh", help="begin again instead of going on with the last rescan"
    ),
) -> None:
    """Scan the chain again, compare, and repair what differs when told so."""
    settings = read_settings(answers=True)
    with refusals():
        deployment = settings.deployment("factory", "usdc", LENS)
    # The rescan's own lines would say of every block again what the indexer said of it.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        with _opened(settings, deployment) as work:
            code = _run(work, accept=accept, fresh=fresh)
    except OutsideError as error:
        console.print(f"Refused: {error}.", markup=False)
        code = REFUSED
    raise typer.Exit(code)


@contextmanager
def _opened(settings: Settings, deployment: Deployment) -> Iterator[Rebuild]:
    """Hold the indexer's lead for as long as the block lasts.

    Errors: RebuildRefusedError when somebody leads.
    """
    lead = Leadership(
        settings.database_url, "indexer", f"rebuild {socket.gethostname()}:{os.getpid()}"
    )
    record = Database(settings.database_url, application_name="rebuild", bounds=BOUNDS)
    beside = Database(
        settings.database_url,
        application_name="rebuild shadow",
        bounds=BOUNDS,
        search_path=shadow.SEARCH_PATH,
    )
    rpc = Nodes(
        settings.rpc_urls, answer_s=settings.rpc_answer_s, calls_per_s=settings.rpc_requests_per_s
    )
    reader = VaultReader(rpc, deployment.contracts)
    try:
        if not lead.try_take(now_utc()):
            raise RebuildRefusedError("an indexer leads; stop it first, and its spares")
        lead.beat({"state": "rebuilding"})
        chain = ChainContext(
            reader=reader,
            database=record,
            chain_id=deployment.chain_id,
            factory=reader.contracts["factory"],
            usdc=reader.contracts["usdc"],
            x402_adapter=reader.contracts.get("x402_adapter"),
            reserve_token=reader.contracts.get("reserve_token"),
            start_block=deployment.block,
            epoch=lead.epoch,
            fence=lead.fence,
        )
        yield Rebuild(chain, beside, now_utc)
    finally:
        lead.release()
        record.close()
        beside.close()
        rpc.close()


def _run(work: Rebuild, *, accept: bool, fresh: bool) -> int:
    at = work.begin(is_fresh=fresh)
    _scan(work, at)
    found = work.compare()
    _show(found)
    if found.is_equal:
        work.discard()
        console.print(f"Equal up to block {work.end.number}; nothing was changed.")
        return EQUAL
    if not accept:
        console.print(
            "The record differs; nothing was changed. Run it again with --accept to put the "
            "rescan in its place."
        )
        return DIFFERS
    rows = work.accept()
    console.print(f"The rescan is in place; the ledgers got {rows} rows that they lacked.")
    return EQUAL


def _scan(work: Rebuild, at: int) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("blocks"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("rescan", total=work.end.number, completed=at)
        for height in work.scan():
            progress.update(task, completed=height)


def _show(found: Comparison) -> None:
    for one in found.differences:
        console.print(_line(one), markup=False, highlight=False)
    for row in found.missing:
        console.print(_missing_line(row), markup=False, highlight=False)


def _line(one: Difference) -> str:
    says = "the record lacks" if one.is_missing else "only the record has"
    return f"{one.part}: {says} " + ", ".join(
        f"{name}={_text(value)}" for name, value in one.row.items()
    )


def _missing_line(row: MissingRow) -> str:
    return (
        f"ledgers: the ledger of {row.kind} {row.ledger_id} lacks {row.base_key} (block "
        f"{row.row.get('block_number')})"
    )


def _text(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        return "0x" + bytes(value).hex()
    return "[" + " ".join(map(_text, value)) + "]" if isinstance(value, list) else str(value)


if __name__ == "__main__":
    app()
