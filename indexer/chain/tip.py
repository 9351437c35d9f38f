"""The tip loop: follow the chain block by block, each block one transaction, each reorg one unwind.

    poll latest --- known? ------------------------> nothing to do
         |--------- higher, linked to the cursor --> fetch, verify, write; up to BLOCKS_A_ROUND, then poll again
         |--------- not linked, or other hash -----> unwind to the common ancestor, then forward again
         '--------- lower, our hash there ---------> a lagging node: wait

Laws
- Blocks are written strictly in order, and only on top of the cursor (compare-and-set on its hash).
- What a node says is verified before it is written; a contradiction ends the round, and the next one asks again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import structlog

from core.chain.abi import AbiDecodeError
from core.chain.rpc import RpcRefusedError, RpcRevertedError
from core.db.repositories import chain as repository
from core.db.repositories.chain import Cursor
from core.domain.blocks import BlockHeader
from core.domain.events import AdapterListed
from core.domain.mandate.terms import Rule
from indexer.chain.context import FINALIZED, TIP, ChainContext
from indexer.chain.facts import BlockFacts, facts_of
from indexer.chain.fetch import BlockUnavailableError, fetch_block
from indexer.chain.reverts import explain_pending
from indexer.chain.unwind import Fork, find_fork, unwind
from indexer.chain.watch import WatchList, read_watch_list
from indexer.chain.write import Written, move_on, write_block

BLOCKS_A_ROUND = 50
Clock = Callable[[], datetime]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Round:
    """What one look at the chain did. `head` None: the node has no block to show."""

    head: int | None
    cursor: int
    written: int = 0
    unwound: Fork | None = None

    @property
    def is_behind(self) -> bool:
        """True when there is more to do at once."""
        return self.unwound is not None or (self.head is not None and self.written > 0 and self.cursor < self.head)


class TipLoop:
    """Follows one chain. One instance at a time (leadership); not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Clock) -> None:
        """Takes the position from the database, or starts before the deployment's block.

        Errors: BlockUnavailableError when the node does not have the first block yet, and the reader's.
        """
        self._chain = chain
        self._clock = clock
        self._cursor = self._open_cursor()
        self._watch = self._read_watch_list()
        self._may_have_pending_reverts = True

    @property
    def cursor(self) -> Cursor:
        return self._cursor

    def round(self) -> Round:
        """Look at the chain once and follow it.

        Errors: OutsideError of any kind; nothing half-done stays, and the next round starts from what is committed.
        """
        seen_at = self._clock()
        head = self._chain.reader.header()
        result = Round(None, self._cursor.number) if head is None else self._follow(head, seen_at)
        if self._may_have_pending_reverts:
            self._explain_reverts()
        return result

    def note_finalized(self) -> None:
        """Write down how far the chain calls itself final; a chain without the tag says nothing."""
        try:
            header = self._chain.reader.header("finalized")
        except RpcRefusedError:
            return
        if header is None or header.number > self._cursor.number:
            return
        at = Cursor(header.number, header.hash)
        with self._chain.database.write() as session:
            self._chain.fence(session)
            if repository.canonical_hash(session, self._chain.chain_id, at.number) != at.hash:
                return  # Before our first block, or a reorg is under way.
            repository.save_mark(session, FINALIZED, self._chain.chain_id, at, self._chain.epoch, self._clock())

    def _follow(self, head: BlockHeader, seen_at: datetime) -> Round:
        if head.number <= self._cursor.number:
            with self._chain.database.read() as session:
                ours = repository.canonical_hash(session, self._chain.chain_id, head.number)
            is_reorg = ours is not None and ours != head.hash
            return self._unwind(head) if is_reorg else Round(head.number, self._cursor.number)
        written = 0
        for header in self._headers_to(head):
            if header.parent_hash != self._cursor.hash:
                return self._unwind(head)
            self._take(header, seen_at)
            written += 1
        return Round(head.number, self._cursor.number, written)

    def _headers_to(self, head: BlockHeader) -> Iterator[BlockHeader]:
        """The next headers after the cursor, at most BLOCKS_A_ROUND; fewer when the node lags."""
        first = self._cursor.number + 1
        if head.number > first:
            last = min(head.number - 1, first + BLOCKS_A_ROUND - 1)
            for header in self._chain.reader.headers(range(first, last + 1)):
                if header is None:
                    return
                yield header
        if head.number < first + BLOCKS_A_ROUND:
            yield head

    def _take(self, header: BlockHeader, seen_at: datetime) -> None:
        block = fetch_block(self._chain.reader, header)
        facts = facts_of(block, self._watch, self._chain.chain_id)
        published = {event.adapter: self._rules_of(event.adapter, header) for event in facts.events_of(AdapterListed)}
        now = self._clock()
        with self._chain.database.write() as session:
            written = write_block(session, self._chain, facts, self._watch, published, self._cursor, now)
        self._cursor = Cursor(header.number, header.hash)
        move_on(self._watch, facts, written, published)
        self._may_have_pending_reverts = self._may_have_pending_reverts or bool(facts.reverts)
        self._tell(facts, written, seen_at)

    def _rules_of(self, adapter: str, header: BlockHeader) -> tuple[Rule, ...]:
        """What the adapter publishes at that very block; a contract that is none publishes nothing."""
        try:
            return self._chain.reader.adapter_rules(adapter, header.hash)
        except (RpcRevertedError, AbiDecodeError) as error:
            log.warning("adapter publishes no rules", adapter=adapter, block=header.number, error=str(error))
            return ()

    def _unwind(self, head: BlockHeader) -> Round:
        with self._chain.database.read() as session:
            fork = find_fork(session, self._chain, self._cursor)
        if not fork.orphans:
            # The node's next block did not fit, yet it holds our head: it is changing its mind. The next round sees.
            return Round(head.number, self._cursor.number)
        old_head = self._cursor
        with self._chain.database.write() as session:
            rows_reversed = unwind(session, self._chain, fork, old_head, self._clock())
        self._cursor = fork.ancestor
        self._watch = self._read_watch_list()
        self._chain.metrics.unwound(fork.ancestor.number, len(fork.orphans), rows_reversed)
        log.warning("reorg", ancestor=fork.ancestor.number, old_head=old_head.number, depth=len(fork.orphans), rows_reversed=rows_reversed)
        return Round(head.number, self._cursor.number, unwound=fork)

    def _explain_reverts(self) -> None:
        found, self._may_have_pending_reverts = explain_pending(self._chain, self._clock())
        self._chain.metrics.reverts_explained.inc(len(found))
        for explained in found:
            log.info("reverted call explained", reason=explained.reason, attempted=explained.attempted)

    def _open_cursor(self) -> Cursor:
        with self._chain.database.read() as session:
            found = repository.cursor(session, TIP)
        if found is not None:
            return found
        number = max(self._chain.start_block - 1, 0)
        header = self._chain.reader.header(number)
        if header is None:
            raise BlockUnavailableError(number, "")
        start = Cursor(header.number, header.hash)
        with self._chain.database.write() as session:
            self._chain.fence(session)
            repository.add_block(session, self._chain.chain_id, header, self._clock())
            repository.start_cursor(session, TIP, self._chain.chain_id, start, self._chain.epoch, self._clock())
        return start

    def _read_watch_list(self) -> WatchList:
        with self._chain.database.read() as session:
            return read_watch_list(session, self._chain)

    def _tell(self, facts: BlockFacts, written: Written, seen_at: datetime) -> None:
        """One line a block. `since_seen_ms`: from the poll that showed the head to the commit."""
        self._chain.metrics.block_written(facts.header.number, facts.header.timestamp, written.rows, len(facts.reverts))
        now = self._clock()
        since_seen_ms = round((now - seen_at).total_seconds() * 1000)
        events = [type(item.event).__name__ for item in facts.found]
        says = log.info if events or facts.reverts else log.debug
        says(
            "block",
            number=facts.header.number,
            hash=facts.header.hash,
            events=events,
            reverts=len(facts.reverts),
            rows=written.rows,
            since_seen_ms=since_seen_ms,
            age_s=round(now.timestamp() - facts.header.timestamp, 1),
        )
        for reference in facts.undecodable:
            log.warning("log could not be decoded", number=facts.header.number, log=reference)
