"""The reserve token's events: written with their block, confirmed by ranges, and its conversions
credited once they are safe.

    new database: followed from the first block on
    a record that was begun without it: confirmed from the deployment's block to the tip --> mark `reserve_followed`
    events up to `safe` --as all nodes that answer have them--> mark `reserve_confirmed`; what the record said otherwise is replaced
    conversion --its block is confirmed and safe--> credited, held or set aside

Laws
- What stands in a log's body is one node's word at the tip: no bloom covers it. So nothing is
  credited before a range with its block is confirmed, by all nodes that answer and have the block
  that ends it; while none does, or they disagree, it waits.
- Where the contract itself says otherwise than the record (job `reserve`), what was confirmed since
  both were last the same is asked for again.
- Until all of its history is confirmed the token is not watched, its state is unknown, and nothing
  is credited.
- One conversion is one transaction, fenced; what one fails of is its own trouble.
- The loop of the tip waits meanwhile: nodes have NODES_WITHIN_S each, and a turn that has taken TURN_S
  ends, whatever is left of it; the next one goes on from there.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import RESERVE_CONFIRMED, RESERVE_FOLLOWED, SAFE, TIP, Cursor
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from core.reserve import conversions, queries
from core.reserve.conversions import Place
from core.reserve.decode import decode_reserve_log, is_event_of_reserve
from core.reserve.events import (
    NewReserveEvent,
    add_events,
    adopt_conversions,
    recorded,
    replace_events,
)
from core.reserve.rules import ConversionStatus, ReserveEventKind
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT, BlockFacts
from indexer.chain.fetch import BlockUnavailableError
from indexer.chain.quarantine import MAY_REFUSE, refusal_of
from indexer.chain.range_size import RangeSize

NODES_WITHIN_S = 2.0
TURN_S = 2.0

TokenLogs = tuple[list[NewReserveEvent], list[RawLog]]

log = structlog.get_logger(__name__)


def write_reserve(
    session: WriteSession, chain: ChainContext, blocks: Sequence[BlockFacts], now: datetime
) -> None:
    """What these blocks say of the token; they are written already."""
    events = [one for facts in blocks for one in facts.reserve]
    add_events(session, chain.chain_id, events)
    converted = ReserveEventKind.CONVERTED
    numbers = [one.log.block_number for one in events if one.fact.kind is converted]
    if numbers:
        adopt_conversions(session, chain.chain_id, numbers[0], numbers[-1], now)


def unwind_confirmed(
    session: WriteSession, chain: ChainContext, ancestor: Cursor, now: datetime
) -> None:
    """How far the token's events are confirmed goes back with the record."""
    at = repository.cursor(session, RESERVE_CONFIRMED)
    if at is not None and at.number > ancestor.number:
        repository.move_cursor(session, RESERVE_CONFIRMED, at, ancestor, chain.epoch, now)


class Crediting:
    """Confirms, and credits what is confirmed and safe, some of it a round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._size = RangeSize()
        self._after: bytes | None = None
        self._looked_for: int | None = None  # height of the reading that was last found wrong

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's that say nothing of a row."""
        chain, now, over_at = self._chain, self._clock(), time.monotonic() + TURN_S
        if chain.reserve_token is None:
            return
        with chain.database.read() as session:
            is_followed = repository.cursor(session, RESERVE_FOLLOWED) is not None
            up_to = repository.cursor(session, SAFE if is_followed else TIP)
            if up_to is None:
                return
            at = repository.cursor(session, RESERVE_CONFIRMED) or _before_token(session, chain)
            again = self._where_it_was_right(session, at)
        if again is not None:
            with chain.database.write() as session:
                chain.fence(session)
                repository.move_cursor(session, RESERVE_CONFIRMED, at, again, chain.epoch, now)
            at = again
        while at.number < up_to.number and time.monotonic() < over_at:
            confirmed = self._confirm(at, up_to, is_history=not is_followed)
            if confirmed is None:
                break
            at = confirmed
        if is_followed:
            self._credit_some(min(at.number, up_to.number), over_at)
        elif at == up_to:
            self._follow(up_to)

    def _follow(self, tip: Cursor) -> None:
        """The record has all of the token's events up to there, which is its tip unless it grew."""
        chain = self._chain
        with chain.database.write() as session:
            chain.fence(session)
            if repository.cursor(session, TIP) != tip:
                return
            chain.watch_changed.set()
            repository.save_mark(
                session, RESERVE_FOLLOWED, chain.chain_id, tip, chain.epoch, self._clock()
            )
        log.info("the reserve token is followed", number=tip.number)

    def _credit_some(self, up_to: int, over_at: float) -> None:
        with self._chain.database.read() as session:
            chain_id = self._chain.chain_id
            turn = conversions.due(session, chain_id, up_to, self._after, self._clock())
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

    def _confirm(self, at: Cursor, up_to: Cursor, *, is_history: bool) -> Cursor | None:
        """The next range, and what the record says otherwise of it replaced; up to where. None: it
        is not confirmed now.
        """
        chain, now = self._chain, self._clock()
        token = chain.reserve_token
        assert token is not None, "there is a token to follow"
        found = self._read(at.number, up_to)
        if found is None:
            return None
        theirs, last = found
        with chain.database.write() as session:
            chain.fence(session)
            if repository.canonical_hash(session, chain.chain_id, last.number) != last.hash:
                return None  # a reorg since it was read
            ours = recorded(session, chain.chain_id, at.number, last.number)
            for block in sorted(ours.keys() | theirs.keys(), key=lambda one: one.number):
                events, logs = theirs.get(block, ([], []))
                if [(one.log.log_index, one.fact) for one in events] == ours.get(block, []):
                    continue
                replace_events(session, chain.chain_id, block, events, now)
                repository.replace_logs(session, chain.chain_id, block.hash, token, logs)
                if not is_history:
                    log.error(
                        "events of the reserve token were not as recorded", block=block.number
                    )
            repository.save_mark(session, RESERVE_CONFIRMED, chain.chain_id, last, chain.epoch, now)
        return last

    def _read(self, above: int, up_to: Cursor) -> tuple[dict[Cursor, TokenLogs], Cursor] | None:
        """By block above a height, the token's events and their logs, as all nodes that answer have
        them, and the last block that was asked about, `up_to` or a lower one; None: no node answers,
        or they disagree.
        """
        chain, number = self._chain, min(up_to.number, above + self._size.blocks)
        with chain.database.read() as session:
            last_hash = repository.canonical_hash(session, chain.chain_id, number)
        if last_hash is None:
            return None  # a reorg since the position was read
        wanted = [{"address": chain.reserve_token}]
        told = chain.reader.logs_of_each(
            above + 1, number, wanted, NODES_WITHIN_S, chain.reader.rpc.names
        )
        # by those whose block at the end is ours: one that lacks it has not all of the logs
        said = {
            tuple(sorted(logs, key=lambda one: (one.block_number, one.log_index)))
            for logs, header in told.values()
            if header.hash == last_hash
        }
        if len(said) != 1:
            self._size.failed(number - above)
            if said:
                log.error("nodes disagree about the token's logs", above=above, up_to=number)
            return None
        [logs] = said
        self._size.took(number - above, len(logs))
        own = [log for log in logs if log.address == chain.reserve_token]
        hashes = {log.block_hash for log in own}
        with chain.database.read() as session:
            times = repository.canonical_times(session, chain.chain_id, hashes)
        if times.keys() != hashes:
            return None
        found = dict[Cursor, TokenLogs]()
        for one in filter(is_event_of_reserve, own):
            events, kept = found.setdefault(Cursor(one.block_number, one.block_hash), ([], []))
            kept.append(one)
            with suppress(*OF_ONE_FACT):  # one that no contract writes moves nothing
                fact = decode_reserve_log(one)
                events.append(NewReserveEvent(fact, one, times[one.block_hash]))
        return found, Cursor(number, last_hash)

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
