"""Logs that money hangs on, confirmed by ranges of blocks before anything of them is final.

    mark ... [a range: each node is asked for its logs] ... safe
                 |-> two say the same, and fewer say anything else; or the only one --> written, and the mark moves
                 '-> else: the mark stays, and the next round asks for half as many blocks

Laws
- What is in a log's body is one node's word at the tip: no bloom covers it. What nodes agree about
  replaces what the record says of these blocks, in the transaction that moves the mark.
- A node counts that has our block at the end of the range: one that lacks it has not all of the logs.
  One that does not answer says nothing, and the only one that is set is enough.
- A rollback of blocks takes the marks back too: what is at or below a mark is no single node's word.
- The loop of the tip waits meanwhile: nodes have NODES_WITHIN_S each, and a turn that has taken TURN_S
  begins no other range.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import RESERVE_CONFIRMED, SPONSORED_CONFIRMED, Cursor
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from indexer.chain.context import ChainContext
from indexer.chain.range_size import RangeSize

NODES_WITHIN_S = 2.0
TURN_S = 2.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConfirmedLogs:
    """Of the blocks above < number <= last.number, in the order of the chain. `times`: unix seconds of
    the blocks that they stand in, by hash.
    """

    above: int
    last: Cursor
    logs: tuple[RawLog, ...] = ()
    times: Mapping[str, int] = field(default_factory=dict)


# filters of what may stand above a block: where there are none no node is asked
Wanted = Callable[[Session, Cursor], Sequence[Mapping[str, Any]]]
Write = Callable[[WriteSession, ConfirmedLogs], None]


class ConfirmedRanges:
    """Of one mark. Not thread-safe."""

    def __init__(self, chain: ChainContext, mark: str, clock: Callable[[], datetime]) -> None:
        self._chain, self._mark, self._clock = chain, mark, clock
        self._size = RangeSize()

    def at(self, session: Session) -> Cursor:
        """Up to where; at first our oldest block."""
        oldest = repository.oldest_block(session, self._chain.chain_id)
        return repository.cursor(session, self._mark) or oldest

    def confirm(
        self, at: Cursor, up_to: Cursor, over_at: float, wanted: Wanted, write: Write
    ) -> Cursor:
        """Move the mark from `at` towards `up_to` until `over_at` (monotonic); how far it is.

        Errors: LeadershipLostError, and the database's.
        """
        chain, chain_id = self._chain, self._chain.chain_id
        while at.number < up_to.number and time.monotonic() < over_at:
            found = self._read(at, up_to, wanted)
            if found is None:
                break
            with chain.database.write() as session:
                chain.fence(session)
                last = found.last
                if repository.canonical_hash(session, chain_id, last.number) != last.hash:
                    break  # a reorg since it was read
                write(session, found)
                now = self._clock()
                repository.save_mark(session, self._mark, chain_id, last, chain.epoch, now)
            at = last
        with chain.database.read() as session:
            times = repository.canonical_times(session, chain_id, (at.hash, up_to.hash))
        if at.hash in times and up_to.hash in times:
            behind_s = times[up_to.hash] - times[at.hash]
            chain.metrics.confirmed_behind.labels(self._mark).set(behind_s)
        return at

    def _read(self, at: Cursor, up_to: Cursor, wanted: Wanted) -> ConfirmedLogs | None:
        """The next range; None: it is not confirmed now."""
        chain = self._chain
        with chain.database.read() as session:
            if repository.canonical_hash(session, chain.chain_id, up_to.number) != up_to.hash:
                return None  # a reorg since the position was read
            filters = wanted(session, at)
            if not filters:
                return ConfirmedLogs(at.number, up_to)
            number = min(up_to.number, at.number + self._size.blocks)
            last_hash = repository.canonical_hash(session, chain.chain_id, number)
        assert last_hash is not None, "a block below one that is canonical"
        names = chain.reader.rpc.names
        found = chain.reader.logs_of_each(at.number + 1, number, filters, NODES_WITHIN_S, names)
        by_node = {
            name: tuple(sorted(logs, key=lambda one: (one.block_number, one.log_index)))
            for name, (logs, header) in found.items()
            if header.hash == last_hash
        }
        answers = Counter(by_node.values()).most_common()
        logs, votes = answers[0] if answers else ((), 0)
        if len(answers) > 1:
            span = {"above": at.number, "up_to": number}
            log.error("nodes disagree about logs", mark=self._mark, nodes=sorted(by_node), **span)
        if votes < min(2, len(names)) or 2 * votes <= len(by_node):
            self._size.failed(number - at.number)
            return None
        self._size.took(number - at.number, len(logs))
        hashes = {one.block_hash for one in logs}
        with chain.database.read() as session:
            times = repository.canonical_times(session, chain.chain_id, hashes)
        if times.keys() != hashes:
            return None
        return ConfirmedLogs(at.number, Cursor(number, last_hash), logs, times)


def unwind_confirmed(
    session: WriteSession, chain: ChainContext, ancestor: Cursor, now: datetime
) -> None:
    """How far logs are confirmed goes back with the record."""
    for mark in (RESERVE_CONFIRMED, SPONSORED_CONFIRMED):
        at = repository.cursor(session, mark)
        if at is not None and at.number > ancestor.number:
            repository.move_cursor(session, mark, at, ancestor, chain.epoch, now)
