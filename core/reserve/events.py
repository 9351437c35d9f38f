"""Writes of the token's events, and of the conversions among them.

Laws
- Events are written in the order of the chain, from the contract's creation on: each row's numbers
  follow from the row before it.
- What a standing row says of its event is never changed by what one node says. What all nodes
  that answer say of a safe block replaces its rows, and moves the numbers of all that follow; of a
  block that was away meanwhile, when it comes back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Select, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.blocks.queries import Cursor, not_orphaned
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from core.reserve import conversions
from core.reserve.queries import totals_at
from core.reserve.rules import (
    ConversionStatus,
    ReserveEventKind,
    ReserveFact,
    after,
)
from core.reserve.tables import ReserveConversion, ReserveEvent


@dataclass(frozen=True, slots=True)
class NewReserveEvent:
    """`at`: unix seconds of its block."""

    fact: ReserveFact
    log: RawLog
    at: int


def take_events(
    session: WriteSession, chain_id: int, events: Sequence[NewReserveEvent], now: datetime
) -> None:
    """Events of blocks in a row, in the order of the chain, each block after all that was written
    before; their conversions begin to wait for their credit.
    """
    add_events(session, chain_id, events)
    converted = ReserveEventKind.CONVERTED
    numbers = [one.log.block_number for one in events if one.fact.kind is converted]
    if numbers:
        adopt_conversions(session, chain_id, numbers[0], numbers[-1], now)


def add_events(session: WriteSession, chain_id: int, events: Iterable[NewReserveEvent]) -> None:
    """Events of blocks in a row, each block after all that was written before."""
    found = sorted(events, key=lambda one: (one.log.block_number, one.log.log_index))
    if not found:
        return
    before = found[0].log.block_number - 1
    totals, row = totals_at(session, chain_id, before), ReserveEvent
    of_blocks = row.block_hash.in_({one.log.block_hash for one in found})
    query = select(row.block_hash, row.log_index).where(row.chain_id == chain_id, of_blocks)
    known = {(block_hash, log_index) for block_hash, log_index in session.execute(query)}
    written = set(known)
    for one in found:
        totals, log = after(totals, one.fact, one.at), one.log
        if (log.block_hash, log.log_index) not in written:
            written.add((log.block_hash, log.log_index))
            fresh = ReserveEvent(
                chain_id=chain_id,
                block_hash=log.block_hash,
                log_index=log.log_index,
                number=log.block_number,
                at=one.at,
                tx_hash=log.tx_hash,
                **asdict(one.fact),
            )
            fresh.totals = totals
            session.add(fresh)
    session.flush()
    if known:
        _renumber(session, chain_id, before)


# What nodes agree about


def recorded(
    session: Session, chain_id: int, above: int, up_to: int
) -> dict[Cursor, list[tuple[int, ReserveFact, int]]]:
    """The events of the canonical blocks above < number <= up_to, each with its log index and time."""
    found = dict[Cursor, list[tuple[int, ReserveFact, int]]]()
    later = _standing_above(chain_id, above).where(ReserveEvent.number <= up_to)
    for row in session.scalars(later):
        block = Cursor(row.number, row.block_hash)
        found.setdefault(block, []).append((row.log_index, row.fact, row.at))
    return found


def _standing_above(chain_id: int, number: int) -> Select[ReserveEvent]:
    """Events of canonical blocks above a height, in the order of the chain."""
    event = ReserveEvent
    is_later = (event.chain_id == chain_id, event.number > number)
    is_standing = not_orphaned(event.chain_id, event.block_hash)
    return select(event).where(*is_later, is_standing).order_by(event.number, event.log_index)


def replace_events(
    session: WriteSession,
    chain_id: int,
    block: Cursor,
    events: Sequence[NewReserveEvent],
    now: datetime,
) -> None:
    """Let a block of the record hold these events and no others: the numbers of all that follow are
    reckoned anew, and its conversions wait again, those that were credited with their credit taken
    back, where one of them is not as it was.
    """
    before = _conversions(session, chain_id, block.hash)
    for row in session.scalars(_of_block(chain_id, block.hash)):
        session.delete(row)
    session.flush()
    add_events(session, chain_id, events)
    _renumber(session, chain_id, block.number)
    if _conversions(session, chain_id, block.hash) == before:
        return
    conversions.reverse_blocks(session, chain_id, [block.hash], now)
    _amend_conversions(session, chain_id, block.hash)
    adopt_conversions(session, chain_id, block.number, block.number, now)


def _of_block(chain_id: int, block_hash: str) -> Select[ReserveEvent]:
    event = ReserveEvent
    return select(event).where(event.chain_id == chain_id, event.block_hash == block_hash)


def _conversions(session: Session, chain_id: int, block_hash: str) -> dict[int, ReserveFact]:
    """By log index."""
    is_conversion = ReserveEvent.kind == ReserveEventKind.CONVERTED.value
    rows = session.scalars(_of_block(chain_id, block_hash).where(is_conversion))
    return {row.log_index: row.fact for row in rows}


def _renumber(session: WriteSession, chain_id: int, number: int) -> None:
    totals = totals_at(session, chain_id, number)
    for row in session.scalars(_standing_above(chain_id, number)):
        totals = row.totals = after(totals, row.fact, row.at)
    session.flush()


def _amend_conversions(session: WriteSession, chain_id: int, block_hash: str) -> None:
    """Reversed ones of the block get the terms of their events; those without one go."""
    row, facts = ReserveConversion, _conversions(session, chain_id, block_hash)
    query = select(row).where(row.chain_id == chain_id, row.block_hash == block_hash)
    for one in session.scalars(query):
        fact = facts.get(one.log_index)
        if fact is None:
            session.delete(one)
            continue
        assert fact.party is not None, "a conversion names its holder"
        assert fact.account_ref is not None, "and its reference"
        one.holder, one.account_ref = fact.party, fact.account_ref
        one.tokens, one.usdc_e6 = fact.tokens, fact.usdc_e6
    session.flush()


def adopt_conversions(
    session: WriteSession, chain_id: int, first: int, last: int, now: datetime
) -> None:
    """Conversions of the blocks first to last begin to wait for their credit, once each; one that a
    reorg reversed waits again when its block is back.
    """
    event, row = ReserveEvent, ReserveConversion
    columns = {
        row.chain_id: event.chain_id,
        row.block_hash: event.block_hash,
        row.log_index: event.log_index,
        row.number: event.number,
        row.tx_hash: event.tx_hash,
        row.holder: event.party,
        row.account_ref: event.account_ref,
        row.tokens: event.tokens,
        row.usdc_e6: event.usdc_e6,
        row.status: literal(ConversionStatus.WAITING.value),
        row.occurrence: literal(1),
        row.seen_at: literal(now),
    }
    seen = select(*columns.values()).where(
        event.chain_id == chain_id,
        event.number.between(first, last),
        event.kind == ReserveEventKind.CONVERTED.value,
        not_orphaned(event.chain_id, event.block_hash),
    )
    fresh = insert(row).from_select([column.key for column in columns], seen)
    again = {
        "status": ConversionStatus.WAITING.value,
        "occurrence": row.occurrence + 1,
        "account_id": None,
        "credits": None,
        "trouble": None,
        "tries": 0,
        "due_at": None,
        "credited_at": None,
    }
    session.execute(
        fresh.on_conflict_do_update(
            index_elements=["chain_id", "block_hash", "log_index"],
            set_=again,
            where=row.status == ConversionStatus.REVERSED.value,
        )
    )
