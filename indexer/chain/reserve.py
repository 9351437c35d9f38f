"""The reserve token's events: written with their block, confirmed by ranges (confirmed_range.py), and
its conversions credited once they are safe.

    new database: followed from the first block on
    a record that was begun without it: confirmed from the deployment's block to `safe`, then followed --> mark `reserve_followed`
    events up to `safe` --as nodes agree about them--> mark `reserve_confirmed`; what the record said otherwise is replaced
    conversion --its block is confirmed and safe--> credited, held or set aside

Laws
- Nothing is credited before a range with its block is confirmed.
- Where the contract itself says otherwise than the record (job `reserve`), what was confirmed since
  both were last the same is asked for again, each time up to the block at which it said so at least:
  where they stay apart, later conversions are credited all the same.
- Until all of its history is confirmed the token is not watched, and nothing is credited. Its state is
  unknown until what lies between, up to the block from which on it is followed, is confirmed too.
- One conversion is one transaction, fenced; what one fails of is its own trouble.
- A turn that has taken TURN_S ends, whatever is left of it; the next one goes on from there.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

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
    recorded,
    replace_events,
)
from core.reserve.rules import ConversionStatus
from indexer.chain.confirmed_range import TURN_S, ConfirmedLogs, ConfirmedRanges
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT
from indexer.chain.quarantine import MAY_REFUSE, refusal_of

log = structlog.get_logger(__name__)


class Crediting:
    """Confirms, and credits what is confirmed and safe, some of it a round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._ranges = ConfirmedRanges(chain, RESERVE_CONFIRMED, clock)
        self._after: bytes | None = None
        self._wrong_at = 0  # height of the reading that was last found wrong

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's that say nothing of a row."""
        chain, now, over_at = self._chain, self._clock(), time.monotonic() + TURN_S
        if chain.reserve_token is None:
            return
        with chain.database.read() as session:
            is_followed = repository.cursor(session, RESERVE_FOLLOWED) is not None
            if (up_to := repository.cursor(session, SAFE)) is None:
                return
            at = self._ranges.at(session)
            again = self._where_it_was_right(session, at)
        if again is not None:
            with chain.database.write() as session:
                chain.fence(session)
                repository.move_cursor(session, RESERVE_CONFIRMED, at, again, chain.epoch, now)
            at = again
        at = self._ranges.confirm(at, up_to, over_at, self._wanted, self._replace)
        if is_followed:
            self._ranges.measure_behind(at, up_to)
            self._credit_some(min(at.number, up_to.number), over_at)
        elif at == up_to:
            self._follow()

    def _wanted(self, session: Session, at: Cursor) -> Sequence[Mapping[str, Any]]:
        return [{"address": self._chain.reserve_token}]

    def _follow(self) -> None:
        """From the tip on the token's events come with their blocks."""
        chain = self._chain
        with chain.database.write() as session:
            chain.fence(session)
            if (tip := repository.cursor(session, TIP)) is None:
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
        if reading.number in (reading.right_number, self._wrong_at) or at.number < self._wrong_at:
            return None
        self._wrong_at = reading.number
        first = repository.oldest_block(session, chain.chain_id)
        number = max(first.number, reading.right_number or 0)
        found = repository.canonical_hash(session, chain.chain_id, number)
        return None if found is None or number >= at.number else Cursor(number, found)

    def _replace(self, session: WriteSession, found: ConfirmedLogs) -> None:
        """Let the record hold of these blocks what nodes agree about, and nothing else."""
        chain, now = self._chain, self._clock()
        token, theirs = chain.reserve_token, dict[Cursor, list[RawLog]]()
        assert token is not None, "there is a token to follow"
        for one in found.logs:
            if one.address == token and is_event_of_reserve(one):
                theirs.setdefault(Cursor(one.block_number, one.block_hash), []).append(one)
        ours = recorded(session, chain.chain_id, found.above, found.last.number)
        followed = repository.cursor(session, RESERVE_FOLLOWED)
        for block in sorted(ours.keys() | theirs.keys(), key=lambda one: one.number):
            logs, events = theirs.get(block, []), list[NewReserveEvent]()
            for one in logs:
                with suppress(*OF_ONE_FACT):  # one that no contract writes moves nothing
                    fact = decode_reserve_log(one)
                    events.append(NewReserveEvent(fact, one, found.times[one.block_hash]))
            if [(one.log.log_index, one.fact, one.at) for one in events] == ours.get(block, []):
                continue
            replace_events(session, chain.chain_id, block, events, now)
            repository.replace_logs(session, chain.chain_id, block.hash, token, logs)
            if followed is not None and block.number > followed.number:
                log.error("corrected recorded events of the reserve token", block=block.number)

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
