"""A reorg taken back: our branch is walked down to the common ancestor, and what it said is
reversed in one transaction.

    ours    ... 96 - 97 - 98 - 99 - 100 (cursor)
                     \\
    theirs             98'- 99'- 100'- 101'        ancestor 97; blocks 100, 99, 98 are orphaned, newest first

Laws
- A lower head with our own hash at its height is a lagging node, not a reorg. Only a different hash
  is one.
- Nothing is deleted: blocks become orphans, ledger rows get compensating rows, owners' alerts are
  withdrawn, a row of `reorg` reports it. Transfers that the orphans confirmed fail, in the same
  transaction.
- Below what was once seen as finalized no reorg is believed: the indexer halts and says so.
- The search asks for as many headers as the logarithm of the depth, twice.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from core.alerts import queries as alerts
from core.blocks import log_heads
from core.blocks import queries as repository
from core.blocks.queries import FINALIZED, RESERVE_CONFIRMED, SPONSORED_CONFIRMED, TIP, Cursor
from core.chain.blocks import BlockHeader
from core.db.engine import WriteSession
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader
from core.mandate.ledger import deferred
from core.mandate.ledger import writer as mandate_ledger
from core.quarantine import queries as quarantine
from core.reserve import conversions
from core.transfers import reports as transfer_reports
from core.transfers.ledger import writer as transfer_ledger
from indexer.chain.context import ChainContext
from indexer.chain.facts import deposit_key
from indexer.chain.quarantine import notify_whole


class ForkUnclearError(OutsideError):
    """The node's headers are missing, or of two branches: it is busy with the reorg itself, or
    several machines answer under its name. Ask again.
    """


class FinalityBrokenError(OutsideError):
    """The chain differs from ours below what was finalized, or below our first block.

    A person must look: the indexer halts.
    """

    def __init__(self, boundary: Cursor) -> None:
        super().__init__(
            f"the chain no longer holds our block {boundary.number} {boundary.hash}, which was "
            "final"
        )
        self.boundary = boundary


@dataclass(frozen=True, slots=True)
class Fork:
    """Our blocks above the ancestor, newest first, are no longer the chain's.

    No orphans: the branches are one.
    """

    ancestor: Cursor
    orphans: tuple[Cursor, ...]


def common_ancestor(reader: VaultReader, ours: Sequence[Cursor], head: int) -> Cursor | None:
    """The newest of our blocks (given newest first, without gaps) that the node's chain, up to
    `head`, still holds; None: not one.

    Errors: ForkUnclearError, and the reader's.
    """
    asked = dict[int, BlockHeader | None]()

    def is_held(place: int) -> bool:
        number = ours[place].number
        asked[place] = header = reader.header(number)
        if header is None and number <= head:  # as a machine that is behind
            raise ForkUnclearError(f"the node lacks {number}, below its head {head}")
        return header is not None and header.hash == ours[place].hash

    low = high = 0
    while high < len(ours) and not is_held(high):
        low, high = high + 1, 2 * high + 1
    places = range(len(ours))
    kept = bisect_left(places, True, low, min(high, len(ours)), key=is_held)
    if kept == len(ours):
        return None
    above = asked.get(kept - 1)
    if above is not None and above.parent_hash != ours[kept].hash:
        raise ForkUnclearError(f"the node's block {above.number} is not linked to the one below")
    return ours[kept]


def find_fork(session: Session, chain: ChainContext, at: Cursor, head: int) -> Fork:
    """Where the chain of the node, whose newest height is `head`, left ours.

    Errors: FinalityBrokenError, ForkUnclearError, and the reader's.
    """
    final = repository.cursor(session, FINALIZED)
    kept = (
        None if final is None else repository.canonical_hash(session, chain.chain_id, final.number)
    )
    # what must never change: the finalized block, or the one before the deployment
    boundary = (
        repository.oldest_block(session, chain.chain_id)
        if final is None or kept is None
        else Cursor(final.number, kept)
    )
    ours = repository.canonical_blocks(session, chain.chain_id, boundary.number - 1, at.number)
    ancestor = common_ancestor(chain.reader, ours, head)
    if ancestor is None:
        raise FinalityBrokenError(boundary)
    return Fork(ancestor, tuple(block for block in ours if block.number > ancestor.number))


def unwind(
    session: WriteSession, chain: ChainContext, fork: Fork, at: Cursor, now: datetime
) -> int:
    """Reverse the orphans and set the cursor back to the ancestor; how many ledger rows were
    reversed. Does not commit.

    Errors: LeadershipLostError, CursorMovedError.
    """
    chain.fence(session)
    orphans = [block.hash for block in fork.orphans]
    rows_reversed = mandate_ledger.reverse_blocks(session, orphans, now)
    paid = repository.logs_of_blocks(session, chain.chain_id, orphans, chain.usdc)
    keys = [(log.tx_hash, deposit_key(log.tx_hash, log.log_index)) for log in paid]
    rows_reversed += transfer_ledger.reverse_facts(session, chain.chain_id, keys, "reorg", now)
    rows_reversed += conversions.reverse_blocks(session, chain.chain_id, orphans, now)
    transfer_reports.replace_blocks(session, chain.chain_id, orphans, now)
    deferred.forgive(session, chain.chain_id, orphans)
    alerts.withdraw(session, chain.chain_id, orphans, now)
    withdrawn = quarantine.withdraw(session, chain.chain_id, orphans, now)
    notify_whole(session, withdrawn, now)
    repository.orphan_blocks(session, chain.chain_id, fork.ancestor.number)
    log_heads.forget_heads(session, chain.chain_id, fork.ancestor.number)
    agreed = repository.cursor(session, FINALIZED) or fork.ancestor  # whose time is so, too
    for mark in (repository.SAFE, RESERVE_CONFIRMED, SPONSORED_CONFIRMED):
        confirmed = repository.cursor(session, mark)
        if confirmed is not None and confirmed.number > fork.ancestor.number:
            repository.move_cursor(session, mark, confirmed, agreed, chain.epoch, now)
    repository.move_cursor(session, TIP, at, fork.ancestor, chain.epoch, now)
    repository.add_reorg(
        session, chain.chain_id, fork.ancestor.number, at.number, rows_reversed, now
    )
    return rows_reversed
