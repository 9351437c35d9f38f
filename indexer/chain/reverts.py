"""Why a reverted call failed: its transaction is run again on the state before its block, and the
answer is noted.

The raw row was written with the block; this fills in the reason and appends the refusal to
the mandate's ledger. What can't be reproduced (an earlier transaction of the same block was in the
way, out of gas) reads as `unknown`.

Reverted calls of blocks that were taken by ranges, which hold no receipts, are looked up afterwards,
block by block:

    cursor `reverts` -- at most BLOCKS_A_STEP blocks a step --> cursor `reverts_until`       both gone: nothing is owed

Laws
- What a range leaves open is written down in the range's own transaction; a kill at any point loses
  none of it.
- When the first vault is met, attempts further back than LOOK_BACK blocks before the finalized
  block are not reconstructed (docs/reverts.md#what-is-not-seen). After a pause of the indexer
  nothing is left out, however long it was.
Source: docs/reverts.md.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog

from core.blocks import queries as blocks
from core.blocks import reverts as repository
from core.blocks.queries import REVERTS, REVERTS_SINCE, REVERTS_UNTIL, Cursor
from core.blocks.registry import agents_since
from core.blocks.reverts import PendingRevert
from core.chain.abi import decode_revert
from core.chain.errors import RpcError, RpcUnreachableError
from core.db.engine import WriteSession
from core.hexes import bytes_of
from core.mandate.chain.calldata import attempted_of
from core.mandate.chain.reader import VaultReader
from core.mandate.rows import reported_refusal_seq
from core.mandate.rules.new_rows import revert_note
from core.mandate.views import pending_reverts
from core.quarantine.queries import MANDATE
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT, reverts_among
from indexer.chain.fetch import (
    BlockContradictionError,
    BlockUnavailableError,
    FetchedBlock,
    fetch_block,
)
from indexer.chain.quarantine import LedgerEntry, Taking

REVERTS_A_ROUND = 50
UNKNOWN = "unknown"
# A node may lag, lack the state, or not get done in time: the reason is given up when the block is
# this old and this many rounds had no answer.
PATIENCE_S = 60
PATIENCE_ROUNDS = 5

LOOK_BACK = 2_000
BLOCKS_A_STEP = 50

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Explained:
    """`reason` is the Solidity error's name or `unknown`; `input` None: no node could answer."""

    reason: str
    revert_data: bytes | None
    input: bytes | None
    attempted: dict[str, Any] | None


UNEXPLAINED = Explained(UNKNOWN, None, None, None)


def explain(reader: VaultReader, revert: PendingRevert) -> Explained:
    """Look up and replay.

    Errors: BlockUnavailableError and the reader's; then it is asked for again.
    """
    transaction = reader.transaction(revert.tx_hash)
    if transaction is None:  # which another node showed in its block: this one lags
        raise BlockUnavailableError(revert.number, revert.block_hash)
    data = reader.replay(transaction, revert.parent_hash, revert.number, revert.at)
    decoded, sent = None if data is None else decode_revert(data), transaction["input"]
    reason = UNKNOWN if decoded is None else decoded.name
    return Explained(reason, data, bytes_of(sent), attempted_of(sent))


class RevertedCalls:
    """Finds those of past blocks, and looks up why calls failed. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._tries = Counter[str]()  # in vain, by the hash of what is open

    def round(self) -> bool:
        """A few of the blocks that are owed, and REVERTS_A_ROUND calls; whether some blocks are
        still owed. Errors: as `_scan` and `_explain`.
        """
        left = self._scan()
        self._explain()
        return left > 0

    def _explain(self) -> None:
        """Explain and note what is open, each in its own transaction, the vaults in turn.

        A call that no node answers ends the round's explaining, since the node rests after it, and
        is behind the others then.
        Errors: LeadershipLostError.
        """
        chain = self._chain
        with chain.database.read() as session:
            pending = pending_reverts(session, chain.chain_id, REVERTS_A_ROUND)
        self._tries = Counter({one.tx_hash: self._tries[one.tx_hash] for one in pending})
        for revert in sorted(pending, key=lambda one: self._tries[one.tx_hash]):
            now = self._clock()
            try:
                explained = explain(chain.reader, revert)
            except (RpcError, BlockUnavailableError, *OF_ONE_FACT) as error:
                self._tries[revert.tx_hash] += 1
                is_young = now.timestamp() - revert.at <= PATIENCE_S
                if is_young or self._tries[revert.tx_hash] < PATIENCE_ROUNDS:
                    if isinstance(error, RpcUnreachableError):
                        break
                    continue
                what = "could not look up why a call reverted"
                log.warning(what, tx_hash=revert.tx_hash, error=str(error))
                explained = UNEXPLAINED
            with chain.database.write() as session:
                _note(session, chain, revert, explained, now)
            chain.metrics.reverts_explained.inc()
            reason, attempted = explained.reason, explained.attempted
            log.info("reverted call explained", reason=reason, attempted=attempted)

    def _scan(self) -> int:
        """Look up the next blocks that are owed, up to the first whose receipts do not come; how many
        are owed after them.

        Errors: BlockUnavailableError, BlockContradictionError, LeadershipLostError; nothing is
        half-done.
        """
        chain, chain_id = self._chain, self._chain.chain_id
        with chain.database.read() as session:
            at, until = blocks.cursor(session, REVERTS), blocks.cursor(session, REVERTS_UNTIL)
            if at is None or until is None:
                return 0
            last = min(until.number, at.number + BLOCKS_A_STEP)
            since = agents_since(session, chain_id)
            owed = blocks.canonical_blocks(session, chain_id, at.number, last)[::-1]
        fetched = self._fetch(owed)
        if not fetched:
            return 0

        def was_agent(number: int, vault: str, sender: str) -> bool:
            return since.get((vault, sender), number + 1) <= number

        to = owed[len(fetched) - 1]
        with chain.database.write() as writing:
            chain.fence(writing)
            for one in fetched:
                found = reverts_among(one.receipts, partial(was_agent, one.header.number))
                repository.add_reverts(writing, chain_id, one.header, found)
            blocks.move_cursor(writing, REVERTS, at, to, chain.epoch, self._clock())
            if to.number == until.number:
                blocks.drop_cursors(writing, [REVERTS, REVERTS_UNTIL])
        return until.number - to.number

    def _fetch(self, owed: Sequence[Cursor]) -> list[FetchedBlock]:
        """From one node, which rests when it lacks them or contradicts itself."""
        reader, found = self._chain.reader, list[FetchedBlock]()
        with reader.rpc.pinned():
            try:
                headers = reader.headers([block.number for block in owed])
                for block, header in zip(owed, headers, strict=True):
                    if header is None or header.hash != block.hash:
                        raise BlockUnavailableError(block.number, block.hash)
                    # where receipts do not come whole no log is kept: a call that failed has none
                    found.append(fetch_block(reader, header, lambda log: False, self._chain.sign))
            except (BlockUnavailableError, BlockContradictionError):
                reader.rpc.distrust("contradicts")
                raise
            except RpcError as error:
                number = owed[len(found)].number
                log.warning("cannot fetch past receipts", first=number, error=str(error))
        return found


def _note(
    session: WriteSession,
    chain: ChainContext,
    revert: PendingRevert,
    explained: Explained,
    now: datetime,
) -> None:
    chain.fence(session)
    written = repository.set_revert_reason(
        session, chain.chain_id, revert, explained.reason, explained.revert_data, explained.input
    )
    if not written or revert.mandate_id is None:
        return
    note = revert_note(
        chain_id=chain.chain_id,
        tx_hash=revert.tx_hash,
        block_number=revert.number,
        block_hash=revert.block_hash,
        at=revert.at,
        reason=explained.reason,
        attempted=explained.attempted,
        proves_event_id=reported_refusal_seq(session, revert.mandate_id, revert.tx_hash),
    )
    entries = {revert.mandate_id: [LedgerEntry(note, None)]}
    Taking(session, chain, MANDATE, now).take(entries)


# Of blocks that came without receipts


def owe(
    session: WriteSession,
    chain: ChainContext,
    at: Cursor,
    to: Cursor,
    final: int,
    is_first_sight: bool,
    now: datetime,
) -> None:
    """Write down that the blocks above `at`, up to `to`, are owed.

    Call it in the range's transaction, after the blocks.
    """
    chain_id, epoch = chain.chain_id, chain.epoch
    if blocks.cursor(session, REVERTS) is None:
        start = max(at.number, final - LOOK_BACK if is_first_sight else 0)
        # up to where nothing is looked up, so that nobody takes it for a loss
        left_out = min(start, to.number)
        left_hash = blocks.canonical_hash(session, chain_id, left_out)
        if left_out > at.number and left_hash is not None:
            mark = Cursor(left_out, left_hash)
            blocks.save_mark(session, REVERTS_SINCE, chain_id, mark, epoch, now)
        if start >= to.number or left_hash is None:
            return
        first = Cursor(start, left_hash)
        blocks.start_cursor(session, REVERTS, chain_id, first, epoch, now)
    blocks.save_mark(session, REVERTS_UNTIL, chain_id, to, epoch, now)
