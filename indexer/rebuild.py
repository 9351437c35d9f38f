"""`python -m indexer.rebuild`: hold every vault's logs against its own hash of them again, from its
terms' digest on, and put right what differs when asked to.

    python -m indexer.rebuild              compare; nothing is changed. Exit 0: all are proven, 1: some are not, 2: refused
    python -m indexer.rebuild --accept     as above, and ask every node for the logs of those that are not

Stop the indexer first. Killed halfway, the next start begins again, and what was proven until then
stays so. Needs a node with the state of the record's last block: start it while the indexer has just
been stopped.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from core.audit import queries as audit
from core.blocks import log_heads
from core.blocks.queries import (
    RESERVE_CONFIRMED,
    RESERVE_FOLLOWED,
    TIP,
    VAULTS_COUNTED,
    cursor,
    drop_cursors,
)
from core.chain.nodes import Nodes
from core.db.engine import Bounds, Database
from core.db.leadership import Leadership
from core.errors import OutsideError
from core.mandate.chain.lens import LENS
from core.mandate.chain.reader import VaultReader
from core.settings import Deployment, Settings
from core.startup import read_settings, refusals
from indexer.chain.context import ChainContext
from indexer.chain.log_proof import LogProof
from indexer.loop import now_utc

PROVEN, DIFFERS, REFUSED = 0, 1, 2
ROUNDS_WITHOUT_A_WORD = 5  # of any node
# the first fold reads every log that there is
BOUNDS = Bounds(statement_s=0, idle_in_transaction_s=0)

# a pretty traceback shows values, and those may be secrets
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(soft_wrap=True)


class RebuildRefusedError(OutsideError):
    """Something is in the way; the sentence says what to do. Nothing was changed."""


@app.command()
def rebuild(
    accept: bool = typer.Option(False, "--accept", help="correct what differs"),
) -> None:
    """Check every vault's logs against its own hash of them; repair what differs when asked to."""
    settings = read_settings(answers=True)
    with refusals():
        deployment = settings.deployment("factory", "usdc", LENS)
    try:
        with _opened(settings, deployment) as chain:
            left = prove_all(chain, is_repairing=accept)
    except OutsideError as error:
        console.print(f"Refused: {error}.", markup=False)
        raise typer.Exit(REFUSED) from error
    for address in sorted(left):
        what = "its count of vaults" if address == chain.factory else "its hash of them"
        console.print(f"{address}: the logs in the record do not produce {what}", markup=False)
    if not left:
        console.print("The record has every log of every vault.")
    elif not accept:
        console.print("Nothing was changed. Run it again with --accept to correct them.")
    else:
        console.print("No node returns logs that do. Their ledgers are held.")
    raise typer.Exit(DIFFERS if left else PROVEN)


def prove_all(chain: ChainContext, *, is_repairing: bool) -> frozenset[str]:
    """Vaults, and the factory, whose logs are not proven at the end.

    Errors: RebuildRefusedError, and those of LogProof.
    """
    with chain.database.read() as session:
        at = cursor(session, TIP)
    if at is None:
        raise RebuildRefusedError("there is no record yet; start `python -m indexer.main`")
    with chain.database.write() as session:
        chain.fence(session)
        log_heads.forget_heads(session, chain.chain_id, -1)
        drop_cursors(session, [VAULTS_COUNTED])
    proof = LogProof(chain, now_utc, at=at, is_repairing=is_repairing)
    changed_in = silent = 0
    while proof.passes < changed_in + 2:
        before = proof.passes, proof.after
        if proof.round():
            changed_in = proof.passes
        silent = silent + 1 if (proof.passes, proof.after) == before else 0
        if silent == ROUNDS_WITHOUT_A_WORD:
            raise RebuildRefusedError(
                f"no node can read the vaults at block {at.number}; start the indexer, and try "
                "again within four minutes after you stop it"
            )
    if is_repairing and not proof.doubted:
        with chain.database.write() as session:
            chain.fence(session)
            # the indexer reads the token's events again, and adds what is missing
            drop_cursors(session, [RESERVE_FOLLOWED, RESERVE_CONFIRMED])
            audit.resolve_rebuilt(session, chain.chain_id, now_utc())
    return frozenset(proof.doubted)


@contextmanager
def _opened(settings: Settings, deployment: Deployment) -> Iterator[ChainContext]:
    """Hold the indexer's lead for as long as the block lasts.

    Errors: RebuildRefusedError when somebody leads.
    """
    lead = Leadership(
        settings.database_url, "indexer", f"rebuild {socket.gethostname()}:{os.getpid()}"
    )
    record = Database(settings.database_url, application_name="rebuild", bounds=BOUNDS)
    rpc = Nodes(
        settings.rpc_urls, answer_s=settings.rpc_answer_s, calls_per_s=settings.rpc_requests_per_s
    )
    reader = VaultReader(rpc, deployment.contracts)
    try:
        if not lead.try_take(now_utc()):
            raise RebuildRefusedError("an indexer is running; stop it and its standbys first")
        lead.beat({"state": "rebuilding"})
        yield ChainContext(
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
            sign=lead.sign,
        )
    finally:
        lead.release()
        record.close()
        rpc.close()


if __name__ == "__main__":
    app()
