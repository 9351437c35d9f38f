"""Writes of the token's events, and of the conversions among them.

Laws
- Events are written in the order of the chain, from the contract's creation on: each row's numbers
  follow from the row before it.
- What a row that stands says of its event is never changed by what one node says. What all nodes
  that answer say of a safe block replaces its rows, and moves the numbers of all that follow; of a
  block that was away meanwhile, when it comes back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, exists, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.blocks.queries import Cursor, insert_new, not_orphaned
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from core.hexes import address_or_none, bytes_of, hex_of
from core.reserve import conversions
from core.reserve.queries import totals_at
from core.reserve.rules import (
    ConversionStatus,
    ReserveEventKind,
    ReserveFact,
    ReserveTotals,
    after,
)
from core.reserve.tables import ReserveConversion, ReserveEvent


@dataclass(frozen=True, slots=True)
class NewReserveEvent:
    """`at`: unix seconds of its block."""

    fact: ReserveFact
    log: RawLog
    at: int


def add_events(session: WriteSession, chain_id: int, events: Iterable[NewReserveEvent]) -> None:
    """Events of blocks in a row, each block after all that was written before."""
    found = sorted(events, key=lambda one: (one.log.block_number, one.log.log_index))
    if not found:
        return
    totals, rows = totals_at(session, chain_id, found[0].log.block_number - 1), []
    for one in found:
        totals = after(totals, one.fact, one.at)
        log = one.log
        rows.append(
            {
                "chain_id": chain_id,
                "block_hash": bytes_of(log.block_hash),
                "log_index": log.log_index,
                "number": log.block_number,
                "at": one.at,
                "tx_hash": bytes_of(log.tx_hash),
                **_terms(one.fact),
                **_numbers(totals),
            }
        )
    first, is_back = found[0].log.block_number, _is_back(session, chain_id, found)
    insert_new(session, ReserveEvent, rows)
    if is_back:
        _renumber(session, chain_id, first - 1)


def _is_back(session: Session, chain_id: int, events: Iterable[NewReserveEvent]) -> bool:
    """Whether the record has rows of one of these blocks already."""
    event, hashes = ReserveEvent, {bytes_of(one.log.block_hash) for one in events}
    has = exists().where(event.chain_id == chain_id, event.block_hash.in_(hashes))
    return bool(session.scalar(select(has)))


def _terms(fact: ReserveFact) -> dict[str, Any]:
    return {
        "kind": fact.kind.value,
        "party": _bytes_or_none(fact.party),
        "recipient": _bytes_or_none(fact.recipient),
        "account_ref": _bytes_or_none(fact.account_ref),
        "tokens": fact.tokens,
        "usdc_e6": fact.usdc_e6,
    }


def _numbers(totals: ReserveTotals) -> dict[str, Any]:
    return {
        "reserve_after_e6": totals.reserve_e6,
        "supply_after": totals.supply,
        "owed_after_e6": totals.owed_e6,
        "is_paused_after": totals.is_paused,
        "treasury_after": _bytes_or_none(totals.treasury),
        "lock_after_e6": totals.lock.amount_e6,
        "lock_since_after": totals.lock.since,
        "lock_until_after_ns": totals.lock.until_ns,
    }


def _fact(row: ReserveEvent) -> ReserveFact:
    return ReserveFact(
        ReserveEventKind(row.kind),
        party=address_or_none(row.party),
        recipient=address_or_none(row.recipient),
        account_ref=None if row.account_ref is None else hex_of(row.account_ref),
        tokens=row.tokens,
        usdc_e6=row.usdc_e6,
    )


# What nodes agree about


def recorded(
    session: Session, chain_id: int, above: int, up_to: int
) -> dict[Cursor, list[tuple[int, ReserveFact]]]:
    """The events of the canonical blocks above < number <= up_to, by log index."""
    event, found = ReserveEvent, dict[Cursor, list[tuple[int, ReserveFact]]]()
    query = select(event).where(
        event.chain_id == chain_id,
        event.number > above,
        event.number <= up_to,
        not_orphaned(event.chain_id, event.block_hash),
    )
    for row in session.scalars(query.order_by(event.number, event.log_index)):
        block = Cursor(row.number, hex_of(row.block_hash))
        found.setdefault(block, []).append((row.log_index, _fact(row)))
    return found


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
    return select(event).where(event.chain_id == chain_id, event.block_hash == bytes_of(block_hash))


def _conversions(session: Session, chain_id: int, block_hash: str) -> set[tuple[int, ReserveFact]]:
    kind = ReserveEvent.kind == ReserveEventKind.CONVERTED.value
    rows = session.scalars(_of_block(chain_id, block_hash).where(kind))
    return {(row.log_index, _fact(row)) for row in rows}


def _renumber(session: WriteSession, chain_id: int, number: int) -> None:
    event = ReserveEvent
    totals = totals_at(session, chain_id, number)
    later = select(event).where(
        event.chain_id == chain_id,
        event.number > number,
        not_orphaned(event.chain_id, event.block_hash),
    )
    for row in session.scalars(later.order_by(event.number, event.log_index)):
        totals = after(totals, _fact(row), row.at)
        for name, value in _numbers(totals).items():
            setattr(row, name, value)
    session.flush()


def _amend_conversions(session: WriteSession, chain_id: int, block_hash: str) -> None:
    """Reversed ones of the block get the terms of their events; those without one go."""
    row = ReserveConversion
    facts = dict(_conversions(session, chain_id, block_hash))
    kept = session.scalars(
        select(row).where(row.chain_id == chain_id, row.block_hash == bytes_of(block_hash))
    )
    for one in kept:
        fact = facts.get(one.log_index)
        if fact is None:
            session.delete(one)
            continue
        one.holder, one.account_ref = (
            bytes_of(fact.party or "0x"),
            bytes_of(fact.account_ref or "0x"),
        )
        one.tokens, one.usdc_e6 = fact.tokens, fact.usdc_e6
    session.flush()


def _bytes_or_none(text: str | None) -> bytes | None:
    return None if text is None else bytes_of(text)


def adopt_conversions(
    session: WriteSession, chain_id: int, first: int, last: int, now: datetime
) -> None:
    """Conversions of the blocks first to last begin to wait for their credit, once each; one that a
    reorg reversed waits again when its block is back.
    """
    event, waits = ReserveEvent, ConversionStatus.WAITING.value
    columns = ("chain_id", "block_hash", "log_index", "number", "tx_hash")
    seen = select(
        *(getattr(event, name) for name in columns),
        event.party,
        event.account_ref,
        event.tokens,
        event.usdc_e6,
        literal(waits),
        literal(1),
        literal(now),
    ).where(
        event.chain_id == chain_id,
        event.number.between(first, last),
        event.kind == ReserveEventKind.CONVERTED.value,
        not_orphaned(event.chain_id, event.block_hash),
    )
    names = (
        *columns,
        "holder",
        "account_ref",
        "tokens",
        "usdc_e6",
        "status",
        "occurrence",
        "seen_at",
    )
    fresh = insert(ReserveConversion).from_select(list(names), seen)
    again = {
        "status": waits,
        "occurrence": ReserveConversion.occurrence + 1,
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
            where=ReserveConversion.status == ConversionStatus.REVERSED.value,
        )
    )
