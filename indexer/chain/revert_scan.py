"""Reverted calls of blocks that were taken by ranges, which hold no receipts: looked up afterwards,
block by block.

    cursor `reverts` -- at most 50 blocks a step --> cursor `reverts_until`       both gone: nothing is owed

Laws
- What a range leaves open is written down in the range's own transaction; a kill at any point loses
  none of it.
- When the first vault is met, attempts further back than LOOK_BACK blocks before the finalized
  block are not reconstructed (docs/reverts.md#what-is-not-seen). After a pause of the indexer
  nothing is left out, however long it was.
"""

from datetime import datetime

import structlog

from core.blocks import queries as repository
from core.blocks import reverts
from core.blocks.queries import REVERTS, REVERTS_SINCE, REVERTS_UNTIL, Cursor
from core.blocks.registry import agents_since
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcError
from core.db.engine import WriteSession
from indexer.chain.context import ChainContext
from indexer.chain.facts import by_then, reverts_of
from indexer.chain.fetch import BlockUnavailableError, FetchedBlock, fetch_blocks
from indexer.chain.range_size import RangeSize
from indexer.chain.watch import WatchList

LOOK_BACK = 2_000
BLOCKS_A_STEP = 50

log = structlog.get_logger(__name__)


def step_size() -> RangeSize:
    """How many blocks a scan takes at once: BLOCKS_A_STEP, or what nodes give."""
    return RangeSize(BLOCKS_A_STEP, BLOCKS_A_STEP)


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
    if repository.cursor(session, REVERTS) is None:
        start = max(at.number, final - LOOK_BACK if is_first_sight else 0)
        _note_left_out(session, chain, at, min(start, to.number), now)
        start_hash = (
            repository.canonical_hash(session, chain.chain_id, start) if start < to.number else None
        )
        if start_hash is None:
            return
        repository.start_cursor(
            session, REVERTS, chain.chain_id, Cursor(start, start_hash), chain.epoch, now
        )
    repository.save_mark(session, REVERTS_UNTIL, chain.chain_id, to, chain.epoch, now)


def _note_left_out(
    session: WriteSession, chain: ChainContext, at: Cursor, up_to: int, now: datetime
) -> None:
    """Write down up to where nothing will be looked up, so that nobody takes it for a loss."""
    block_hash = (
        repository.canonical_hash(session, chain.chain_id, up_to) if up_to > at.number else None
    )
    if block_hash is not None:
        repository.save_mark(
            session, REVERTS_SINCE, chain.chain_id, Cursor(up_to, block_hash), chain.epoch, now
        )


def scan(chain: ChainContext, watch: WatchList, size: RangeSize, now: datetime) -> int | None:
    """Look up the next `size` blocks; how many are still owed, None when none were.

    Receipts that do not come are asked for in smaller steps the next time, and hold up nothing
    else.
    Errors: BlockUnavailableError, BlockContradictionError, LeadershipLostError; nothing is
    half-done.
    """
    with chain.database.read() as session:
        at, until = repository.cursor(session, REVERTS), repository.cursor(session, REVERTS_UNTIL)
        if at is None or until is None:
            return None
        last = min(until.number, at.number + size.blocks)
        since = agents_since(session, chain.chain_id)
        owed = list(reversed(repository.canonical_blocks(session, chain.chain_id, at.number, last)))
    try:
        blocks = _fetch(chain, owed)
    except RpcError as error:
        size.failed(len(owed))
        log.warning(
            "receipts of past blocks did not come",
            first=owed[0].number,
            blocks=len(owed),
            error=str(error),
        )
        return until.number - at.number
    size.took(len(blocks), sum(len(block.logs) for block in blocks))
    with chain.database.write() as session:
        chain.fence(session)
        for block in blocks:
            reverts.add_reverts(
                session,
                chain.chain_id,
                block.header,
                by_then(reverts_of(block.receipts, watch, ()), since, block.header.number),
            )
        repository.move_cursor(session, REVERTS, at, owed[-1], chain.epoch, now)
        if last == until.number:
            repository.drop_cursors(session, [REVERTS, REVERTS_UNTIL])
    return until.number - last


def _fetch(chain: ChainContext, owed: list[Cursor]) -> list[FetchedBlock]:
    """Of blocks whose receipts do not come whole no logs are kept: a call that failed has none."""
    headers = list[BlockHeader]()
    for block, header in zip(
        owed, chain.reader.headers([block.number for block in owed]), strict=True
    ):
        if header is None or header.hash != block.hash:
            raise BlockUnavailableError(block.number, block.hash)
        headers.append(header)
    return fetch_blocks(chain.reader, headers, lambda log: False, chain.sign)
