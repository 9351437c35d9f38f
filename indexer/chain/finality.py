"""How far the chain calls itself safe and final, as marks that only rise.

Laws
- Nothing is called final that is not below our own position: a node that says so of its head has no notion of it.
- A height is final once two nodes call it so, or the only one that answers has called it so for CONFIRMED_S: below it no reorg is
  believed, so that one wrong answer would halt the record at the next ordinary one.
- `safe` is the second node's word too, where one answers; it halts nothing, and is not waited for.
"""

from collections import deque
from collections.abc import Callable
from datetime import datetime

from core.books import mandate_ledger
from core.chain.rpc import RpcRefusedError
from core.db.repositories import chain as repository
from core.db.repositories.chain import FINALIZED, SAFE, Cursor
from core.domain.blocks import BlockHeader
from indexer.chain.context import ChainContext
from indexer.chain.pool import Pool

CONFIRMED_S = 60


class Finality:
    """The marks of one chain. Not thread-safe."""

    def __init__(self, chain: ChainContext, pool: Pool, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._pool = pool
        self._clock = clock
        self._said = deque[tuple[datetime, BlockHeader]]()  # by one node alone, oldest first

    def note(self, cursor: Cursor) -> None:
        """Write down the marks, `safe` at or below our own position and `finalized` below it. Errors: the reader's, LeadershipLostError."""
        for tag in (SAFE, FINALIZED):
            header, is_agreed = self.agreed(tag)
            if tag == FINALIZED and header is not None and not is_agreed:
                header = self._confirmed(header, cursor)
            if header is not None and header.number < cursor.number + (tag == SAFE):
                self._note(tag, Cursor(header.number, header.hash))

    def agreed(self, tag: str) -> tuple[BlockHeader | None, bool]:
        """The highest block that two nodes call so, and True; where one alone answers, what it says, and False. None: no such tag.

        Call it within `pinned`. Errors: RpcUnreachableError.
        """
        try:
            said = [self._chain.reader.header(tag)]
        except RpcRefusedError:
            return None, False
        said += [found for (found,) in self._pool.others([tag]).values()]
        known = sorted((found for found in said if found is not None), key=lambda found: found.number)
        if len(known) > 1:
            return known[-2], True
        return (known[0] if known and said[0] is not None else None), False

    def _confirmed(self, header: BlockHeader, cursor: Cursor) -> BlockHeader | None:
        """The newest that was called final CONFIRMED_S ago, and is not above what is called so now."""
        while self._said and self._said[-1][1].number > header.number:
            self._said.pop()
        confirmed = None
        while self._said and (self._clock() - self._said[0][0]).total_seconds() >= CONFIRMED_S:
            confirmed = self._said.popleft()[1]
        if header.number < cursor.number:
            self._said.append((self._clock(), header))
        return confirmed

    def _note(self, tag: str, at: Cursor) -> None:
        with self._chain.database.write() as session:
            self._chain.fence(session)
            if repository.canonical_hash(session, self._chain.chain_id, at.number) != at.hash:
                return  # Before our first block, or a reorg is under way.
            repository.save_mark(session, tag, self._chain.chain_id, at, self._chain.epoch, self._clock())
            if tag == FINALIZED:
                mandate_ledger.forget_final(session, at.number)
