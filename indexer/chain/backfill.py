"""History that is final, taken in ranges; each range is one transaction, and the next one is
fetched while it is written.

    cursor ... [range being written][range being fetched] ............ finalized . . . tip (block by block)

Laws
- Only blocks up to the very one that is agreed to be final are taken so, and only above everything
  that was ever seen: nothing to unwind.
- A range is as long as its logs are few: memory does not grow with the distance.
- Vaults prove their own logs (log_proof.py). What no vault logs is asked of each other node too; where
  they differ the range is halved, and of a single block its receipts are believed. Whoever had it
  otherwise rests, and is not asked meanwhile. Where none answers the range waits: for ALONE,
  after which one node's word is enough until another answers several ranges in a row.
- Ranges hold logs, not receipts. Reverted calls of these blocks are looked up afterwards
  (reverts.py).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from core.blocks import queries as repository
from core.blocks.queries import Cursor
from core.blocks.registry import KnownVault
from core.chain.blocks import BlockHeader, RawLog
from core.chain.errors import RpcError
from core.errors import OutsideError
from core.identity.queries import linked_wallets
from core.mandate.rules.events import AdapterListed
from indexer.chain import reverts
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts, facts_of
from indexer.chain.fetch import (
    BlockContradictionError,
    BlockUnavailableError,
    FetchedBlock,
    fetch_block,
)
from indexer.chain.fetch_range import RangeReader, filters_of
from indexer.chain.range_size import RangeSize
from indexer.chain.rules import published_rules
from indexer.chain.watch import WatchList
from indexer.chain.write import BlockWriter

log = structlog.get_logger(__name__)

WORTH_IT = 32  # blocks below `finalized`; a shorter way is gone block by block
WITHIN_S = 5.0  # for another node to answer
REST_S = 120.0  # of a node that left something out
ALONE = timedelta(minutes=10)


class RangeDisputedError(OutsideError):
    """Nodes say different things of some blocks."""


class RangeUnconfirmedError(RangeDisputedError):
    """Only one node says anything of some blocks."""


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A range under way: how long it is, and on which block it starts."""

    blocks: int
    parent_hash: str
    facts: Future[list[BlockFacts]]


@dataclass(frozen=True, slots=True)
class Filled:
    """A range that was committed."""

    cursor: Cursor
    watch: WatchList
    blocks: int
    rows: int
    newest_at: int  # unix second of the last block


class Backfill:
    """Takes one range a call. Not thread-safe; fetches with a thread of its own."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._ranges = RangeReader(chain.reader, chain.sign)
        self._size = RangeSize()
        self._fetcher = ThreadPoolExecutor(1, thread_name_prefix="backfill")
        self._ahead: _Ahead | None = None
        self._alone_since: datetime | None = None
        self._believed_from = dict[str, datetime]()  # of nodes that left something out

    @property
    def log_calls(self) -> int:
        return self._ranges.log_calls

    def is_worth_it(self, cursor: Cursor, final: BlockHeader) -> bool:
        """Whether there is a way to go, and nothing above us that was seen before."""
        if final.number - cursor.number < WORTH_IT:
            return False
        with self._chain.database.read() as session:
            return not repository.has_orphans_above(session, self._chain.chain_id, cursor.number)

    def step(self, cursor: Cursor, watch: WatchList, final: BlockHeader) -> Filled | None:
        """Write the next range.

        None: nodes refuse it, differ about it, or do not give it in time; the next is half as long.

        Errors: OutsideError of any kind; nothing is half-done.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead.parent_hash != cursor.hash:
            ahead = self._start(cursor.number + 1, cursor.hash, watch, final)
        try:
            facts = ahead.facts.result()
        except (RpcError, RangeDisputedError) as error:
            least = RangeSize.SHORTEST if isinstance(error, RangeUnconfirmedError) else 1
            if not self._size.failed(ahead.blocks, least):
                raise
            next_ = self._size.blocks
            log.info("range failed", blocks=ahead.blocks, next=next_, error=str(error))
            return None
        self._size.took(len(facts), sum(len(block.logs) for block in facts))
        last = facts[-1].header
        if last.number == final.number and last.hash != final.hash:
            raise BlockContradictionError(
                last, f"a range up to what is final ends here, and final is {final.hash}"
            )
        if last.number < final.number:
            self._ahead = self._start(last.number + 1, last.hash, _with_new(watch, facts), final)
        return self._write(facts, watch.copy(), cursor, final)

    def close(self) -> None:
        self._fetcher.shutdown(wait=False, cancel_futures=True)

    def _start(self, first: int, parent_hash: str, watch: WatchList, final: BlockHeader) -> _Ahead:
        last = min(final.number, first + self._size.blocks - 1)
        watch = watch.copy()
        with self._chain.database.read() as session:
            watch.wallets = linked_wallets(session)
        facts = self._fetcher.submit(self._facts, first, last, parent_hash, watch)
        return _Ahead(last - first + 1, parent_hash, facts)

    def _facts(self, first: int, last: int, parent_hash: str, watch: WatchList) -> list[BlockFacts]:
        """The facts of each block, from one node; one that lags or contradicts itself rests. Runs
        in the fetcher's thread.
        """
        rpc = self._chain.reader.rpc
        with rpc.pinned():
            try:
                return self._whole(first, last, parent_hash, watch)
            except (BlockUnavailableError, BlockContradictionError):
                rpc.distrust("contradicts")
                raise

    def _whole(self, first: int, last: int, parent_hash: str, watch: WatchList) -> list[BlockFacts]:
        """Errors: RangeDisputedError, and those of reading."""
        reader = self._chain.reader
        blocks = self._ranges.fetch(first, last, parent_hash, watch)
        facts = self._facts_of(blocks, watch)
        found = self._of_each(blocks, _with_new(watch, facts))
        if not found:
            return facts
        first_logs, *other_logs = found.values()
        disputed = first_logs.union(*other_logs) - first_logs.intersection(*other_logs)
        if not disputed:
            return facts
        if len(blocks) > 1:
            raise RangeDisputedError(f"nodes disagree about {len(blocks)} blocks")
        block = fetch_block(reader, blocks[0].header, watch.may_concern, self._chain.sign)
        for name, logs in found.items():
            if disputed & (logs ^ set(block.logs)):
                reader.rpc.distrust("omits", REST_S, name)
                self._believed_from[name] = self._clock() + timedelta(seconds=REST_S)
                log.warning("node left out logs", node=name, number=first)
        return self._facts_of([replace(block, receipts=())], watch)

    def _of_each(self, blocks: Sequence[FetchedBlock], watch: WatchList) -> dict[str, set[RawLog]]:
        """What no vault logs in these blocks, as the node has it that gave them, and each other one
        that has the last of them; nothing where the giver's word is enough.
        """
        reader, first, last = self._chain.reader, blocks[0].header, blocks[-1].header
        giver, now = reader.rpc.pinned_name or "", self._clock()
        at_rest = {name for name, until in self._believed_from.items() if now < until}
        others = set(reader.rpc.names) - at_rest - {giver}
        if not others:
            return {}
        wanted = filters_of(sorted(watch.adapters | {watch.factory}), watch)
        answers = reader.logs_of_each(first.number, last.number, wanted, WITHIN_S, others)
        self._chain.sign()
        found = {name: logs for name, (logs, newest) in answers.items() if newest.hash == last.hash}
        if not found:
            self._alone_since = self._alone_since or now
            if now - self._alone_since < ALONE:
                raise RangeUnconfirmedError(f"only one node answered for {len(blocks)} blocks")
            return {}
        if self._size.is_calm:  # one that answers now and then is waited for no longer
            self._alone_since = None
        found[giver] = [one for block in blocks for one in block.logs]
        return {
            name: {one for one in logs if one.address not in watch.vaults}
            for name, logs in found.items()
        }

    def _facts_of(self, blocks: Sequence[FetchedBlock], watch: WatchList) -> list[BlockFacts]:
        """With vaults and adapters known from the block on that names them."""
        known, facts = watch.copy(), list[BlockFacts]()
        for block in blocks:
            facts.append(facts_of(block, known, self._chain.chain_id))
            _meet(known, facts[-1])
        return facts

    def _write(
        self, facts: list[BlockFacts], watch: WatchList, cursor: Cursor, final: BlockHeader
    ) -> Filled:
        published = published_rules(self._chain.reader, facts, self._chain.refusals)
        is_first_sight = not watch.vaults
        last, now = facts[-1].header, self._clock()
        to = Cursor(last.number, last.hash)
        with self._chain.database.write() as session:
            writer = BlockWriter(session, self._chain, watch, now)
            rows = writer.blocks(facts, published, cursor, are_new=True)
            reverts.owe(session, self._chain, cursor, to, final.number, is_first_sight, now)
        return Filled(to, watch, len(facts), rows, last.timestamp)


def _with_new(watch: WatchList, facts: Sequence[BlockFacts]) -> WatchList:
    """A watch list that knows the vaults and adapters of these blocks too, by address."""
    known = watch.copy()
    for block in facts:
        _meet(known, block)
    return known


def _meet(known: WatchList, block: BlockFacts) -> None:
    """The watch list knows the vaults and adapters that the block names."""
    known.vaults |= {
        made.address: KnownVault(made.address, made.owner, None, ()) for made in block.created
    }
    known.adapters |= {listed.adapter for listed in block.events_of(AdapterListed)}
