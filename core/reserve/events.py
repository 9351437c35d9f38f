"""Writes of the token's events, and of the conversions among them.

Laws
- Events are written in the order of the chain, from the contract's creation on: each row's numbers
  follow from the row before it.
- A row that stands is never changed: a block that comes back after a reorg finds its rows, whose
  numbers are right, since its parents are the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import literal, select
from sqlalchemy.dialects.postgresql import insert

from core.blocks.queries import insert_new, not_orphaned
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from core.hexes import bytes_of
from core.reserve.queries import totals_at
from core.reserve.rules import ConversionStatus, ReserveEventKind, ReserveFact, after
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
        fact, log = one.fact, one.log
        totals = after(totals, fact)
        rows.append(
            {
                "chain_id": chain_id,
                "block_hash": bytes_of(log.block_hash),
                "log_index": log.log_index,
                "number": log.block_number,
                "at": one.at,
                "tx_hash": bytes_of(log.tx_hash),
                "kind": fact.kind.value,
                "party": _bytes_or_none(fact.party),
                "recipient": _bytes_or_none(fact.recipient),
                "account_ref": _bytes_or_none(fact.account_ref),
                "tokens": fact.tokens,
                "usdc_e6": fact.usdc_e6,
                "reserve_after_e6": totals.reserve_e6,
                "supply_after": totals.supply,
                "owed_after_e6": totals.owed_e6,
                "is_paused_after": totals.is_paused,
                "treasury_after": _bytes_or_none(totals.treasury),
            }
        )
    insert_new(session, ReserveEvent, rows)


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
