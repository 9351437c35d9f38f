"""Is a database what it says it is, and what the chain says? `python -m indexer.check_record`, after
a restore and whenever in doubt.

    ledgers     every hash chain from its first row, its head and what follows from it
    place       the block that the record ends with, beside the node's
    sums        cash and totals of every mandate, beside its vault at that block
    anchors     the newest root that was posted, beside the epoch that it was made of

One line a part, `ok` or `WRONG` with what to do; ends with 1 when any is wrong, and 2 when nothing
could be asked. It writes nothing and may run beside everything. Reads the environment of the
processes; of the nodes one with the state of the record's last block.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import typer
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.anchors.chain import CONTRACT, newest_posted
from core.anchors.queries import epoch_after
from core.anchors.rules import START
from core.audit.views import LedgerToVerify, ledgers_in_turn
from core.blocks.queries import TIP, Cursor, cursor
from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcError, RpcRefusedError
from core.chain.nodes import Nodes
from core.credits.ledger import writer as credit_ledger
from core.credits.tables import CreditHead
from core.db.engine import Bounds, Database
from core.errors import OutsideError
from core.findings import PartFinding, right, wrong
from core.fund.ledger import writer as signal_ledger
from core.mandate.chain.reader import VaultReader
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.tables import Mandate, MandateEvent
from core.market.ledger.verify import warning_faults
from core.quarantine.queries import MANDATE, is_held
from core.settings import Deployment
from core.startup import read_settings, refusals
from core.transfers import reports as transfer_reports
from core.transfers.tables import TransferHead
from indexer.chain.auditor import sums_faults

RIGHT, FAULTS, REFUSED = 0, 1, 2
MOST_SHOWN = 5  # faults of a part: the first ones say enough
ALL = 2**31
# it reads everything that there is
BOUNDS = Bounds(pool_size=1, overflow=1, statement_s=0, idle_in_transaction_s=0)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class RecordPlace:
    database: Database
    reader: VaultReader
    chain_id: int


def lines(place: RecordPlace) -> Iterator[PartFinding]:
    """Every part in turn. Errors: SQLAlchemyError; a node's are lines."""
    yield from ledgers(place.database)
    with place.database.read() as session:
        at = cursor(session, TIP)
    if at is None:
        yield wrong("place", "no block has been read yet: start the indexer")
        return
    try:
        found = beside_the_chain(place, at)
        yield found
        if found.is_right:
            yield sums(place, at)
            yield from anchors(place)
    except (RpcError, AbiDecodeError) as error:
        yield wrong("chain", f"no node answers as it should: {error}")


# Ledgers


def ledgers(database: Database) -> Iterator[PartFinding]:
    for what, ids, verify in (
        ("mandates", _mandates, mandate_ledger.verify),
        ("credits", _credits, credit_ledger.verify),
        ("transfers", _transfers, transfer_reports.verify),
        ("signals", _one, lambda session, _: signal_ledger.verify(session)),
        ("warnings", _one, lambda session, _: warning_faults(session)),
    ):
        with database.read() as session:
            wanted = ids(session)
        yield _of_ledgers(database, f"ledgers of {what}", wanted, verify)


def _of_ledgers(
    database: Database,
    what: str,
    ids: list[int],
    verify: Callable[[Session, int], list[str]],
) -> PartFinding:
    faults: list[str] = []
    for id_ in ids:
        with database.read() as session:
            faults += [f"ledger {id_}, {fault}" for fault in verify(session, id_)]
    if not faults:
        return right(what, f"{len(ids):,}, each sound from its first row to its head")
    return wrong(
        what,
        f"{'; '.join(faults[:MOST_SHOWN])}{_more(faults)}. A ledger is never repaired: restore "
        "another backup, and compare with exported records",
    )


def _mandates(session: Session) -> list[int]:
    """Those with rows that are not short of facts (they say so themselves)."""
    has_rows = select(MandateEvent.id).where(MandateEvent.mandate_id == Mandate.id).exists()
    query = select(Mandate.id).where(has_rows, ~is_held(MANDATE, Mandate.id))
    return list(session.scalars(query.order_by(Mandate.id)))


def _credits(session: Session) -> list[int]:
    return list(session.scalars(select(CreditHead.account_id).order_by(CreditHead.account_id)))


def _transfers(session: Session) -> list[int]:
    return list(session.scalars(select(TransferHead.account_id).order_by(TransferHead.account_id)))


def _one(session: Session) -> list[int]:
    return [1]


# The chain


def beside_the_chain(place: RecordPlace, at: Cursor) -> PartFinding:
    """Where the record ends, on the chain that the nodes serve. Errors: RpcError."""
    what = "place"
    served = place.reader.chain_id()
    if served != place.chain_id:
        return wrong(
            what,
            f"the nodes serve chain {served}, CHAIN_ID is {place.chain_id}: correct RPC_URLS",
        )
    head = place.reader.header()
    if head is None or head.number < at.number:
        newest = "none" if head is None else head.number
        return wrong(
            what,
            f"the record ends at block {at.number} but the node's latest is {newest}: the "
            "record is ahead of this chain. Wait until the node is synced, or set another one "
            "in RPC_URLS; do not start any process before that",
        )
    theirs = place.reader.header(at.number)
    if theirs is None or theirs.hash != at.hash:
        return wrong(
            what,
            f"block {at.number} is {at.hash} in the record and {theirs and theirs.hash} on the chain: "
            "the record is of another chain, or of blocks that a reorg took back. If a second node says "
            "the same, restore an earlier point",
        )
    behind = head.number - at.number
    return right(
        what,
        f"block {at.number} matches the chain; the indexer still has to read {behind} newer ones",
    )


def sums(place: RecordPlace, at: Cursor) -> PartFinding:
    """Every mandate that has a vault, beside it. Errors: RpcError."""
    what = "sums"
    with place.database.read() as session:
        wanted = ledgers_in_turn(session, place.chain_id, at.number, ALL)
    compared, faults = 0, list[str]()
    for ledger in wanted:
        if ledger.vault is None:
            continue
        try:
            faults += _sums_of(place, ledger, ledger.vault, at)
        except RpcRefusedError as error:
            return wrong(
                what,
                f"the node does not return the state of block {at.number} ({error}): use a node "
                "with old state, or let the indexer catch up and run this again",
            )
        compared += 1
    if faults:
        return wrong(
            what,
            f"{'; '.join(faults[:MOST_SHOWN])}{_more(faults)}. See `python -m indexer.rebuild`",
        )
    return right(
        what, f"cash and totals of {compared:,} vaults match the chain at block {at.number}"
    )


def _sums_of(place: RecordPlace, ledger: LedgerToVerify, vault: str, at: Cursor) -> list[str]:
    with place.database.read() as session:
        state = mandate_ledger.load_at(session, ledger.mandate_id, at.number)
    position = place.reader.lens_position(vault, at.hash)
    if position is None:
        return [f"no node can read vault {vault} at block {at.number}"]
    return [one.what for one in sums_faults(ledger, state, position)]


def anchors(place: RecordPlace) -> Iterator[PartFinding]:
    """Nothing where the deployment has no contract for them. Errors: RpcError, AbiDecodeError."""
    contract = place.reader.contracts.get(CONTRACT)
    head = place.reader.header()
    if contract is None or head is None:
        return
    posted, root = newest_posted(place.reader.rpc, contract, head.hash)
    with place.database.read() as session:
        found = epoch_after(session, posted - 1)
    if root == START:
        yield right("anchors", "no root has been posted yet")
    elif found is not None and (found.epoch, found.root) == (posted, root):
        yield right("anchors", f"the root of epoch {posted} on chain matches this record")
    else:
        yield wrong(
            "anchors",
            f"the root of epoch {posted} on chain does not match this record: anchored rows are "
            "missing. Restore to the end of the log, or deploy another RecordAnchor "
            "(docs/operations/keeper.md)",
        )


def _more(faults: list[str]) -> str:
    left = len(faults) - MOST_SHOWN
    return f"; and {left} more" if left > 0 else ""


def place_of(database_url: str, rpc: Nodes, deployment: Deployment) -> RecordPlace:
    database = Database(database_url, application_name="check record", bounds=BOUNDS)
    return RecordPlace(database, VaultReader(rpc, deployment.contracts), deployment.chain_id)


@app.command()
def check() -> None:
    """One line for each part; 1 when any is wrong, 2 when nothing could be asked."""
    settings = read_settings(answers=True)
    with refusals():
        deployment = settings.deployment("factory", "usdc")
    rpc = Nodes(settings.rpc_urls, answer_s=settings.rpc_answer_s)
    place = place_of(settings.database_url, rpc, deployment)
    code = RIGHT
    try:
        for line in lines(place):
            code = code if line.is_right else FAULTS
            typer.echo(line)
            sys.stdout.flush()
    except (SQLAlchemyError, OutsideError) as error:
        first = str(error).splitlines()[0]
        typer.echo(f"could not check: {first} ({type(error).__name__})", err=True)
        code = REFUSED
    finally:
        rpc.close()
        place.database.close()
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
