"""A lie in the reserve token's record taken out again.

What stands in a log's body is one node's word at the tip: an altered amount in a purchase changes every
number after it. The job `reserve` sees it within a minute, since the contract says otherwise; here the
block is looked for, and what its own hash proves takes the place of what was written.

    record and contract differ --> blocks with events since both were last the same, then all blocks since then, then all with events
        --receipts make up the block's hash--> as recorded: the next one; otherwise: its events are replaced, later numbers follow

Laws
- Nothing is replaced but by what a block's own hash proves; what the contract is said to hold only
  leads here.
- A turn is short, since the next block waits meanwhile; what was looked through in vain rests.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import RESERVE_FOLLOWED, Cursor
from core.reserve import queries
from core.reserve.events import NewReserveEvent, is_as_recorded, replace_events
from core.reserve.tables import ReserveReading
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts, facts_of
from indexer.chain.fetch import FetchedBlock
from indexer.chain.proved_blocks import proved_block, told_of
from indexer.chain.watch import WatchList

TURN_S, NODES_WITHIN_S = 1.0, 2.0
A_TURN = 10
REST = timedelta(minutes=5)  # after all was looked through
RECENT_BLOCKS = 43_200  # of which those without events are looked through
PASSES = 3

log = structlog.get_logger(__name__)


class ReserveRepair:
    """Of one chain, some blocks a turn. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._rest_until: datetime | None = None
        self._looked: int | None = None  # up to this height; None: not yet begun
        self._pass = 0  # which of the three kinds of blocks is looked through

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's."""
        if self._chain.reserve_token is None or self._rests():
            return
        with self._chain.database.read() as session:
            reading = self._wrong_reading(session)
            blocks = [] if reading is None else self._next(session, reading)
        if reading is None:
            self._looked, self._pass = None, 0
            return
        if not blocks:
            self._end_of_blocks()
            return
        over_at = time.monotonic() + TURN_S
        for block in blocks:
            self._look(block)
            self._looked = block.number
            if time.monotonic() >= over_at:
                return

    def _rests(self) -> bool:
        return self._rest_until is not None and self._clock() < self._rest_until

    def _end_of_blocks(self) -> None:
        """The next kind of blocks, or, after a while, all of it again: a node may be away."""
        self._looked, self._pass = None, (self._pass + 1) % PASSES
        if self._pass == 0:
            self._rest_until = self._clock() + REST

    def _wrong_reading(self, session: Session) -> ReserveReading | None:
        """What the contract says otherwise than the record does of the same block."""
        chain_id = self._chain.chain_id
        if repository.cursor(session, RESERVE_FOLLOWED) is None:
            return None
        reading = queries.reading(session)
        if reading is None or reading.chain_id != chain_id:
            return None
        totals = queries.totals_at(session, chain_id, reading.number)
        ours = (
            totals.reserve_e6,
            totals.supply,
            totals.owed_e6,
            totals.lock.left_e6(reading.at),
            totals.lock.until_ns,
        )
        theirs = (
            reading.reserve_e6,
            reading.supply,
            reading.owed_e6,
            reading.locked_e6,
            reading.locked_until_ns,
        )
        return None if ours == theirs else reading

    def _next(self, session: Session, reading: ReserveReading) -> Sequence[Cursor]:
        chain_id, last = self._chain.chain_id, reading.number
        first = (reading.right_number or 0) if self._pass < PASSES - 1 else 0
        above = max(first, self._looked or 0)
        if self._pass != 1:
            return queries.event_blocks(session, chain_id, above, last, A_TURN)
        oldest = repository.oldest_block(session, chain_id).number
        above = max(above, last - RECENT_BLOCKS, oldest - 1)
        up_to = min(last, above + A_TURN)
        return repository.canonical_blocks(session, chain_id, above, up_to)[::-1]

    def _look(self, block: Cursor) -> None:
        proved = proved_block(told_of(self._chain.reader.rpc, block.hash, NODES_WITHIN_S))
        if proved is None:
            log.warning("a block of the reserve token is not proved", block=block.number)
            return
        chain, facts = self._chain, self._facts(proved)
        at = proved.header.timestamp
        events = [NewReserveEvent(one.fact, one.log, at) for one in facts.reserve]
        with chain.database.read() as session:
            if is_as_recorded(session, chain.chain_id, block.hash, events):
                return
        token, now = chain.reserve_token, self._clock()
        assert token is not None, "there is a token to follow"
        with chain.database.write() as session:
            chain.fence(session)
            replace_events(session, chain.chain_id, proved.header, events, now)
            repository.replace_logs(session, chain.chain_id, block.hash, token, facts.logs)
        log.error("events of the reserve token were not as recorded", block=block.number)

    def _facts(self, block: FetchedBlock) -> BlockFacts:
        """Of the token alone."""
        chain = self._chain
        watch = WatchList(chain.factory, chain.usdc, set(), reserve_token=chain.reserve_token)
        own = tuple(one for one in block.logs if one.address == chain.reserve_token)
        return facts_of(FetchedBlock(block.header, (), own), watch, chain.chain_id)
