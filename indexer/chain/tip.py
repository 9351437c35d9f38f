"""The tip loop: follow the chain block by block, each reorg one unwind.

    poll latest --- known? ------------------------> nothing to do
         |--------- far below `finalized` ---------> a range in one transaction (backfill.py), then poll again
         |--------- higher, linked to the cursor --> fetch, verify; written, up to BLOCKS_A_TRANSACTION at once; poll again
         |--------- not linked, or other hash -----> unwind to the common ancestor, then forward again
         '--------- lower, our hash there ---------> ignored: behind one URL stand machines of several heights

Laws
- Blocks are written strictly in order, and only on top of the cursor (compare-and-set on its hash);
  one at the head, and where we are behind a few in one transaction.
- What a node says is verified before it is written; a contradiction ends the round, its node rests,
  and the next round asks again.
- One URL answers a whole round, not one machine. What is missing within NEAR of the head that was
  shown ends the round quietly, with the blocks that came; the next poll asks again, another node
  where there is one. After STALE without a block it is an error: no standstill is taken for calm.
- What would take blocks back, or halt, is confirmed by a second node (confirmation.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from core.blocks import queries as repository
from core.blocks.queries import FINALIZED, RESERVE_FOLLOWED, TIP, Cursor
from core.chain.blocks import BlockHeader
from core.chain.errors import AnswerTooLargeError
from core.errors import OutsideError
from core.identity.queries import linked_wallets
from core.quarantine import queries as quarantine
from indexer.chain.backfill import WORTH_IT, Backfill
from indexer.chain.confirmation import Confirmation, DisputedError, UnconfirmedError
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts, facts_of, usdc_payees
from indexer.chain.fetch import (
    BlockContradictionError,
    BlockUnavailableError,
    fetch_block,
)
from indexer.chain.finality import Finality
from indexer.chain.quarantine import notify_whole
from indexer.chain.rules import published_rules
from indexer.chain.unwind import FinalityBrokenError, Fork, ForkUnclearError, find_fork, unwind
from indexer.chain.watch import WatchChangedError, WatchList, read_watch_list
from indexer.chain.write import BlockWriter

BLOCKS_A_ROUND, BLOCKS_A_TRANSACTION = 50, 10
HEADERS_A_REQUEST = 10  # a plan of 25 calls a second grants them beside their receipts
NEAR = 3  # blocks that the machines behind one URL may be apart
STALE = timedelta(seconds=10)  # without a new block, where blocks come every 2 s
Clock = Callable[[], datetime]
REST_S = 2.0  # of a node that lacks what it showed, where another one may have it
log = structlog.get_logger(__name__)


class HeadMissingError(OutsideError):
    """The node names no newest block."""


NODE_AT_FAULT = (
    HeadMissingError,
    BlockUnavailableError,
    BlockContradictionError,
    ForkUnclearError,
    FinalityBrokenError,
    DisputedError,
    AnswerTooLargeError,
)


@dataclass(frozen=True, slots=True)
class TipRound:
    """What one look at the chain did."""

    head: int
    cursor: int
    written: int = 0
    unwound: Fork | None = None

    @property
    def is_behind(self) -> bool:
        """True when there is more to do at once."""
        return self.unwound is not None or (self.written > 0 and self.cursor < self.head)


class TipLoop:
    """Follows one chain. One instance at a time (leadership); not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Clock) -> None:
        """Takes the position from the database, or starts before the deployment's block.

        Errors: BlockUnavailableError when the node does not have the first block yet, and the
        reader's.
        """
        self.chain = self._chain = chain
        self._clock = clock
        self._cursor, self._moved_at = self._open_cursor(), clock()
        self._watch = self._read_watch_list()
        self._nodes = Confirmation(chain.reader)
        self._finality = Finality(chain, self._nodes, clock)
        self._backfill = Backfill(chain, clock)

    @property
    def cursor(self) -> Cursor:
        return self._cursor

    def round(self) -> TipRound:
        """Look at the chain once and follow it.

        Errors: OutsideError of any kind; nothing half-done stays, and the next round starts from
        what is committed.
        """
        if self._chain.watch_changed.is_set():
            with self._chain.database.write() as session:
                self._chain.fence(session)  # after the transaction that changed it
                self._chain.watch_changed.clear()
                self._watch = read_watch_list(session, self._chain)
        with self._chain.reader.rpc.pinned():
            try:
                return self._look()
            except NODE_AT_FAULT:
                self._nodes.at_fault()
                raise

    def _look(self) -> TipRound:
        """What is missing, or not confirmed, and may come yet, ends it quietly."""
        seen_at, rpc = self._clock(), self._chain.reader.rpc
        head = self._chain.reader.header()
        if head is None:
            raise HeadMissingError("the node returns no latest block")
        self._nodes.gets_on(rpc.pinned_name, head, head.number)
        try:
            return self._follow(head, seen_at)
        except (BlockUnavailableError, ForkUnclearError) as error:
            is_far = isinstance(error, BlockUnavailableError) and error.number <= head.number - NEAR
            if is_far or self._is_stale:
                raise
            if len(rpc.names) > 1:
                rpc.distrust("not there", REST_S)
        except DisputedError:
            if self._is_stale:
                raise
            self._nodes.at_fault()
        except (UnconfirmedError, WatchChangedError):
            pass
        return TipRound(head.number, self._cursor.number)

    @property
    def _is_stale(self) -> bool:
        return self._clock() - self._moved_at > STALE

    def close(self) -> None:
        """Let go of what is fetched ahead."""
        self._backfill.close()

    def note_finality(self) -> dict[str, int]:
        """Write down how far the chain calls itself safe and final; the heights by tag. A chain
        without the tags says nothing.
        """
        with self._chain.reader.rpc.pinned():
            found = self._finality.note(self._cursor)
        return {tag: header.number for tag, header in found.items()}

    def _follow(self, head: BlockHeader, seen_at: datetime) -> TipRound:
        if head.number <= self._cursor.number:
            with self._chain.database.read() as session:
                ours = repository.canonical_hash(session, self._chain.chain_id, head.number)
            if ours is not None and ours != head.hash:
                return self._unwind(head)
            # the chain ends where we do, or the machine that answers is behind
            self._nodes.holds_ours()
            if self._is_stale:
                # a quiet chain or a node that does not move: another may know more
                self._chain.reader.rpc.distrust("stale")
            return TipRound(head.number, self._cursor.number)
        final = self._final_far_ahead(head)
        if final is not None:
            return self._fill(head, final)
        first, blocks = self._cursor.number, list[BlockFacts]()
        try:
            for header in self._headers_to(head):
                if header.parent_hash != (blocks[-1].header if blocks else self._cursor).hash:
                    if not blocks:
                        return self._unwind(head)
                    break
                self._nodes.confirm_back(Cursor(header.number, header.hash), head)
                blocks.append(self._facts(header))
                # what follows an event of ours is judged by a watch list that knows it
                if blocks[-1].found or len(blocks) == BLOCKS_A_TRANSACTION:
                    self._write(blocks, seen_at)
        finally:
            self._write(blocks, seen_at)
        return TipRound(head.number, self._cursor.number, self._cursor.number - first)

    def _final_far_ahead(self, head: BlockHeader) -> BlockHeader | None:
        """The finalized block, when the way to it is worth taking in ranges and starts on our own
        cursor.
        """
        if head.number - self._cursor.number < WORTH_IT:
            return None
        final = self._finality.look().get(FINALIZED)
        if final is None or not self._backfill.is_worth_it(self._cursor, final):
            return None
        ours = self._chain.reader.header(self._cursor.number)
        return final if ours is not None and ours.hash == self._cursor.hash else None

    def _fill(self, head: BlockHeader, final: BlockHeader) -> TipRound:
        filled = self._backfill.step(self._cursor, self._watch, final)
        if filled is None:
            return TipRound(head.number, self._cursor.number)
        self._cursor, self._watch, self._moved_at = filled.cursor, filled.watch, self._clock()
        self._nodes.gave(filled.cursor.number)
        self._chain.metrics.blocks_written(
            filled.cursor.number, filled.newest_at, filled.blocks, filled.rows
        )
        log.info(
            "range",
            number=filled.cursor.number,
            blocks=filled.blocks,
            rows=filled.rows,
            finalized=final.number,
            log_calls=self._backfill.log_calls,
        )
        return TipRound(head.number, self._cursor.number, filled.blocks)

    def _headers_to(self, head: BlockHeader) -> Iterator[BlockHeader]:
        """The next headers after the cursor, at most BLOCKS_A_ROUND, asked for as they are taken.

        Errors: BlockUnavailableError: the next one is not there.
        """
        first = self._cursor.number + 1
        last = min(head.number, first + BLOCKS_A_ROUND - 1)
        for start in range(first, last + 1, HEADERS_A_REQUEST):
            numbers = range(start, min(start + HEADERS_A_REQUEST, last + 1, head.number))
            headers = self._chain.reader.headers(numbers) if numbers else []
            for number, header in zip(numbers, headers, strict=True):
                if header is None:
                    raise BlockUnavailableError(number, "")
                yield header
        if last == head.number:
            yield head

    def _facts(self, header: BlockHeader) -> BlockFacts:
        block = fetch_block(self._chain.reader, header, self._watch.may_concern, self._chain.sign)
        self._watch.wallets = {}
        if payees := usdc_payees(block.logs, self._chain.usdc):
            with self._chain.database.read() as session:
                # asked again: wallets are linked without the chain's knowing
                self._watch.wallets = linked_wallets(session, payees)
        return facts_of(block, self._watch, self._chain.chain_id)

    def _write(self, blocks: list[BlockFacts], seen_at: datetime) -> None:
        """Write these, if there are any, and empty the list."""
        facts = blocks.copy()
        blocks.clear()
        if not facts:
            return
        published = published_rules(self._chain.reader, facts, self._chain.refusals)
        last, now = facts[-1].header, self._clock()
        watch = self._watch.copy() if facts[-1].found else self._watch
        with self._chain.database.write() as session:
            writer = BlockWriter(session, self._chain, watch, now)
            rows = writer.blocks(facts, published, self._cursor)
        self._cursor, self._watch, self._moved_at = Cursor(last.number, last.hash), watch, now
        self._nodes.gave(last.number)
        self._chain.metrics.blocks_written(last.number, last.timestamp, len(facts), rows)
        for one in facts:
            self._log_block(one, seen_at)

    def _unwind(self, head: BlockHeader) -> TipRound:
        try:
            with self._chain.database.read() as session:
                fork = find_fork(session, self._chain, self._cursor, head.number)
        except FinalityBrokenError as broken:
            self._nodes.confirm_gone(broken.boundary, head)
            raise
        if not fork.orphans:
            raise ForkUnclearError(
                f"its next block does not follow {self._cursor.number} {self._cursor.hash}, "
                "yet it holds that block"
            )
        self._nodes.confirm_gone(fork.orphans[-1], head)
        old_head = self._cursor
        with self._chain.database.write() as session:
            rows_reversed = unwind(session, self._chain, fork, old_head, self._clock())
        self._cursor = fork.ancestor
        self._nodes.took_back(fork.orphans)
        self._watch = self._read_watch_list()
        self._chain.metrics.unwound(fork.ancestor.number, len(fork.orphans), rows_reversed)
        log.warning(
            "reorg",
            ancestor=fork.ancestor.number,
            old_head=old_head.number,
            depth=len(fork.orphans),
            rows_reversed=rows_reversed,
        )
        return TipRound(head.number, self._cursor.number, unwound=fork)

    def _open_cursor(self) -> Cursor:
        chain, now = self._chain, self._clock()
        with chain.database.read() as session:
            found = repository.cursor(session, TIP)
        if found is not None:
            return found
        number = max(chain.start_block - 1, 0)
        header = chain.reader.header(number)
        if header is None:
            raise BlockUnavailableError(number, "")
        start = Cursor(header.number, header.hash)
        with chain.database.write() as session:
            chain.fence(session)
            repository.add_blocks(session, chain.chain_id, [header], now)
            repository.start_cursor(session, TIP, chain.chain_id, start, chain.epoch, now)
            # what was held is met again on the way
            notify_whole(session, quarantine.withdraw(session, chain.chain_id, None, now), now)
            if chain.reserve_token is not None:
                mark = RESERVE_FOLLOWED
                repository.save_mark(session, mark, chain.chain_id, start, chain.epoch, now)
        return start

    def _read_watch_list(self) -> WatchList:
        with self._chain.database.read() as session:
            return read_watch_list(session, self._chain)

    def _log_block(self, facts: BlockFacts, seen_at: datetime) -> None:
        """One line a block. `since_seen_ms`: from the poll that showed the head to the commit."""
        header, reverts, now = facts.header, len(facts.reverts), self._clock()
        self._chain.metrics.reverts_found.inc(reverts)
        events = [type(item.event).__name__ for item in facts.found if item.event is not None]
        says = log.info if events or reverts else log.debug
        says(
            "block",
            number=header.number,
            hash=header.hash,
            events=events,
            reverts=reverts,
            since_seen_ms=round((now - seen_at).total_seconds() * 1000),
            age_s=round(now.timestamp() - header.timestamp, 1),
        )
        if undecodable := len(facts.found) - len(events):
            log.warning("logs could not be decoded", number=header.number, logs=undecodable)
