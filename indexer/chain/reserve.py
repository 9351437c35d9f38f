"""The reserve token's events: written with their block, confirmed by ranges once they are safe, and
its conversions credited then.

    new database: followed from the first block on
    a record that was begun without it: cursor `reserve`, from the deployment's block, a range a step --> the tip: mark `reserve_followed`
    events up to `safe` --as all nodes that answer have them--> mark `reserve_confirmed`; what the record said otherwise is replaced
    conversion --its block is confirmed--> credited, held or set aside

Laws
- What stands in a log's body is one node's word at the tip: no bloom covers it. So nothing is
  credited before a range with its block is confirmed, by all nodes that answer and have the block
  that ends it; while none does, or they disagree, it waits.
- Where the contract itself says otherwise than the record (job `reserve`), what was confirmed since
  both were last the same is asked for again.
- Until all of its history is read, by ranges that are confirmed alike, the token is not watched, its
  state is unknown, and nothing is credited.
- One conversion is one transaction, fenced; what one fails of is its own trouble.
- The loop of the tip waits meanwhile: nodes have NODES_WITHIN_S each, and a turn that has taken TURN_S
  ends, whatever is left of it; the next one goes on from there.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import RESERVE, RESERVE_CONFIRMED, RESERVE_FOLLOWED, SAFE, TIP, Cursor
from core.chain.blocks import BlockHeader, RawLog
from core.db.engine import WriteSession
from core.reserve import conversions, queries
from core.reserve.conversions import Place
from core.reserve.events import NewReserveEvent, add_events, recorded, replace_events
from core.reserve.rules import ConversionStatus, ReserveEventKind
from indexer.chain.context import ChainContext
from indexer.chain.facts import BlockFacts, facts_of
from indexer.chain.fetch import BlockUnavailableError, FetchedBlock
from indexer.chain.quarantine import MAY_REFUSE, refusal_of
from indexer.chain.range_size import RangeSize
from indexer.chain.watch import WatchList

NODES_WITHIN_S = 2.0
TURN_S = 2.0

log = structlog.get_logger(__name__)


def write_reserve(
    session: WriteSession, chain: ChainContext, blocks: Sequence[BlockFacts], now: datetime
) -> None:
    """What these blocks say of the token; they are written already."""
    events = [one for facts in blocks for one in _events(facts)]
    add_events(session, chain.chain_id, events)
    numbers = [
        one.log.block_number for one in events if one.fact.kind is ReserveEventKind.CONVERTED
    ]
    if numbers:
        chain.ledgers.adopt_conversions(session, chain.chain_id, numbers[0], numbers[-1], now)


def unwind_history(
    session: WriteSession, chain: ChainContext, ancestor: Cursor, now: datetime
) -> None:
    """The positions of what is read of the token go back with the record's."""
    for name in (RESERVE, RESERVE_CONFIRMED):
        at = repository.cursor(session, name)
        if at is not None and at.number > ancestor.number:
            repository.move_cursor(session, name, at, ancestor, chain.epoch, now)


class ReserveRanges:
    """The token's events in ranges, as all nodes that answer have them. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._size = RangeSize()

    def read(self, above: int, up_to: Cursor) -> tuple[list[BlockFacts], Cursor] | None:
        """The blocks with events above a height, and the last one that was asked about, `up_to` or
        a lower one; None: no node answers, or they disagree.
        """
        chain = self._chain
        last = self._last(above, up_to)
        said = self._said(above + 1, last)
        if len(said) != 1:
            self._size.failed(last.number - above)
            if said:
                log.error("nodes disagree about the token's logs", above=above, up_to=last.number)
            return None
        [logs] = said
        self._size.took(last.number - above, len(logs))
        with chain.database.read() as session:
            times = repository.canonical_times(
                session, chain.chain_id, {one.block_hash for one in logs}
            )
        by_block = dict[tuple[int, str], list[RawLog]]()
        for one in logs:
            if one.block_hash not in times:
                return None
            by_block.setdefault((one.block_number, one.block_hash), []).append(one)
        return [
            self._facts(number, block_hash, times[block_hash], found)
            for (number, block_hash), found in sorted(by_block.items())
        ], last

    def _last(self, above: int, up_to: Cursor) -> Cursor:
        number = min(up_to.number, above + self._size.blocks)
        if number == up_to.number:
            return up_to
        with self._chain.database.read() as session:
            found = repository.canonical_hash(session, self._chain.chain_id, number)
        assert found is not None, "the record has every block up to its position"
        return Cursor(number, found)

    def _said(self, first: int, last: Cursor) -> set[tuple[RawLog, ...]]:
        """By those whose block at the end is ours: one that lacks it has not all of the logs."""
        reader, wanted = self._chain.reader, {"address": self._chain.reserve_token}
        told = reader.logs_of_each(first, last.number, [wanted], NODES_WITHIN_S, reader.rpc.names)
        return {
            tuple(sorted(logs, key=lambda one: (one.block_number, one.log_index)))
            for logs, header in told.values()
            if header.hash == last.hash
        }

    def _facts(self, number: int, block_hash: str, at: int, logs: Sequence[RawLog]) -> BlockFacts:
        """Of the token alone: vaults and the factory are in the record already."""
        chain = self._chain
        watch = WatchList(chain.factory, chain.usdc, set(), reserve_token=chain.reserve_token)
        own = tuple(one for one in logs if one.address == chain.reserve_token)
        header = BlockHeader(number, block_hash, "", at, 0, ())
        return facts_of(FetchedBlock(header, (), own), watch, chain.chain_id)


class ReserveHistory:
    """What the record lacks of the token, a range a step. Not thread-safe."""

    def __init__(self, chain: ChainContext) -> None:
        self._chain = chain
        self._ranges = ReserveRanges(chain)
        self.is_done = chain.reserve_token is None

    def step(self, tip: Cursor, now: datetime) -> bool:
        """Read the next range up to `tip`, where the record stands; whether the token is followed
        from here on. Does nothing where it was before, or while nodes do not agree.

        Errors: OutsideError of any kind; nothing is half-done.
        """
        at = self._position(now)
        if at is None:
            self.is_done = True
            return False
        found = self._ranges.read(at.number, tip) if tip.number > at.number else ([], tip)
        if found is None:
            return False
        blocks, last = found
        self._write(at, blocks, last, tip, now)
        self.is_done = last == tip
        return self.is_done

    def _position(self, now: datetime) -> Cursor | None:
        """None: the token is followed."""
        chain = self._chain
        with chain.database.read() as session:
            if repository.cursor(session, RESERVE_FOLLOWED) is not None:
                return None
            at = repository.cursor(session, RESERVE)
            first = _before_token(session, chain)
        if at is not None:
            return at
        with chain.database.write() as session:
            chain.fence(session)
            repository.start_cursor(session, RESERVE, chain.chain_id, first, chain.epoch, now)
        return first

    def _write(
        self, at: Cursor, blocks: Sequence[BlockFacts], to: Cursor, tip: Cursor, now: datetime
    ) -> None:
        chain = self._chain
        with chain.database.write() as session:
            chain.fence(session)
            repository.add_logs(
                session, chain.chain_id, [one for facts in blocks for one in facts.logs]
            )
            write_reserve(session, chain, blocks, now)
            repository.move_cursor(session, RESERVE, at, to, chain.epoch, now)
            if to == tip and repository.cursor(session, TIP) == tip:
                repository.drop_cursors(session, [RESERVE])
                repository.save_mark(
                    session, RESERVE_FOLLOWED, chain.chain_id, to, chain.epoch, now
                )
        log.info("reserve history", number=to.number, tip=tip.number)


class Crediting:
    """Confirms what is safe, and credits what is confirmed, some of it a round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._ranges = ReserveRanges(chain)
        self._after: bytes | None = None
        self._looked_for: int | None = None  # height of the reading that was last found wrong

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's that say nothing of a row."""
        chain, now, over_at = self._chain, self._clock(), time.monotonic() + TURN_S
        with chain.database.read() as session:
            safe = repository.cursor(session, SAFE)
            if safe is None or repository.cursor(session, RESERVE_FOLLOWED) is None:
                return
            at = repository.cursor(session, RESERVE_CONFIRMED) or _before_token(session, chain)
            again = self._where_it_was_right(session, at)
        if again is not None:
            with chain.database.write() as session:
                chain.fence(session)
                repository.move_cursor(session, RESERVE_CONFIRMED, at, again, chain.epoch, now)
            at = again
        while at.number < safe.number and time.monotonic() < over_at:
            confirmed = self._confirm(at, safe)
            if confirmed is None:
                break
            at = confirmed
        with chain.database.read() as session:
            turn = conversions.due(session, chain.chain_id, at.number, self._after, now)
        for place, holder in turn.holders.items():
            self._credit(place)
            if time.monotonic() >= over_at:
                # what is left of this holder's rows has its turn when the others had theirs
                self._after = holder
                return
        self._after = turn.last

    def _where_it_was_right(self, session: Session, at: Cursor) -> Cursor | None:
        """Where record and contract were last the same, if the newest reading of the contract says
        that they are not: what was confirmed since then is asked for again, once a reading.
        """
        chain, reading = self._chain, queries.reading(session)
        if reading is None or reading.chain_id != chain.chain_id:
            return None
        if reading.number in (reading.right_number, self._looked_for):
            return None
        self._looked_for = reading.number
        first = _before_token(session, chain)
        number = max(first.number, reading.right_number or 0)
        found = repository.canonical_hash(session, chain.chain_id, number)
        return None if found is None or number >= at.number else Cursor(number, found)

    def _confirm(self, at: Cursor, safe: Cursor) -> Cursor | None:
        """The next range, and what the record says otherwise of it replaced; up to where. None: it
        is not confirmed now.
        """
        chain, now = self._chain, self._clock()
        token = chain.reserve_token
        assert token is not None, "there is a token to follow"
        found = self._ranges.read(at.number, safe)
        if found is None:
            return None
        blocks, last = found
        theirs = {Cursor(one.header.number, one.header.hash): one for one in blocks if one.reserve}
        with chain.database.write() as session:
            chain.fence(session)
            ours = recorded(session, chain.chain_id, at.number, last.number)
            for block in sorted(ours.keys() | theirs.keys(), key=lambda one: one.number):
                facts = theirs.get(block)
                events = [] if facts is None else _events(facts)
                if [(one.log.log_index, one.fact) for one in events] == ours.get(block, []):
                    continue
                replace_events(session, chain.chain_id, block, events, now)
                logs = () if facts is None else facts.logs
                repository.replace_logs(session, chain.chain_id, block.hash, token, logs)
                log.error("events of the reserve token were not as recorded", block=block.number)
            repository.save_mark(session, RESERVE_CONFIRMED, chain.chain_id, last, chain.epoch, now)
        return last

    def _credit(self, place: Place) -> None:
        chain, now = self._chain, self._clock()
        try:
            with chain.database.write() as session:
                chain.fence(session)
                status = conversions.credit(session, place, now)
        except MAY_REFUSE as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            log.error("conversion set aside", log_index=place[2], why=refusal.note)
            with chain.database.write() as session:
                chain.fence(session)
                conversions.set_aside(session, place, refusal.note, now)
            status = ConversionStatus.SET_ASIDE
        if status is not None:
            chain.metrics.conversions.labels(status.value).inc()


def _before_token(session: Session, chain: ChainContext) -> Cursor:
    """The block before the deployment's, or our first one. Errors: BlockUnavailableError."""
    number = max(chain.start_block - 1, repository.oldest_block(session, chain.chain_id).number)
    found = repository.canonical_hash(session, chain.chain_id, number)
    if found is None:
        raise BlockUnavailableError(number, "")
    return Cursor(number, found)


def _events(facts: BlockFacts) -> list[NewReserveEvent]:
    return [NewReserveEvent(one.fact, one.log, facts.header.timestamp) for one in facts.reserve]
