"""All SQL of the reserve token but the crediting of conversions (conversions.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_FOLLOWED, TIP, not_orphaned
from core.db.engine import WriteSession
from core.hexes import address_or_none
from core.reserve.rules import ConversionStatus, ReserveEventKind, ReserveTotals
from core.reserve.tables import (
    ReserveClaim,
    ReserveConversion,
    ReserveConverted,
    ReserveEvent,
    ReserveReading,
    ReserveRef,
)


@dataclass(frozen=True, slots=True)
class ReserveState:
    """The contract's numbers at the block that the indexer stands at. `at`: unix seconds of it.

    `treasury_owed_e6`: USDC base units that conversions owe the treasury. `treasury` None: not
    known.
    """

    reserve_usdc_e6: int
    supply: int
    treasury_owed_e6: int
    block: int
    block_hash: str
    at: int
    is_paused: bool
    treasury: str | None


def state(session: Session) -> ReserveState | None:
    """None: the token is not followed, or not yet from its creation up to the cursor."""
    tip = blocks.cursor(session, TIP)
    if tip is None or blocks.cursor(session, RESERVE_FOLLOWED) is None:
        return None
    chain_id = blocks.cursor_chain(session, TIP)
    at = None if chain_id is None else blocks.block_time(session, chain_id, tip.hash)
    if chain_id is None or at is None:
        return None
    totals = totals_at(session, chain_id, tip.number)
    return ReserveState(
        reserve_usdc_e6=totals.reserve_e6,
        supply=totals.supply,
        treasury_owed_e6=totals.owed_e6,
        block=tip.number,
        block_hash=tip.hash,
        at=at,
        is_paused=totals.is_paused,
        treasury=totals.treasury,
    )


def totals_at(session: Session, chain_id: int, number: int) -> ReserveTotals:
    """The contract's numbers after all events up to that height that no reorg took back."""
    query = (
        select(
            ReserveEvent.reserve_after_e6,
            ReserveEvent.supply_after,
            ReserveEvent.owed_after_e6,
            ReserveEvent.is_paused_after,
            ReserveEvent.treasury_after,
        )
        .where(
            ReserveEvent.chain_id == chain_id,
            ReserveEvent.number <= number,
            not_orphaned(ReserveEvent.chain_id, ReserveEvent.block_hash),
        )
        .order_by(ReserveEvent.number.desc(), ReserveEvent.log_index.desc())
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    if row is None:
        return ReserveTotals()
    return ReserveTotals(
        row.reserve_after_e6,
        row.supply_after,
        row.owed_after_e6,
        row.is_paused_after,
        address_or_none(row.treasury_after),
    )


# Conversions


# What is counted all the time; credited and reversed ones only grow.
_OPEN = (ConversionStatus.WAITING, ConversionStatus.HELD, ConversionStatus.SET_ASIDE)


def conversion_counts(session: Session, chain_id: int) -> dict[str, int]:
    """status -> how many wait, are held or set aside; all three are named."""
    query = (
        select(ReserveConversion.status, func.count())
        .where(
            ReserveConversion.chain_id == chain_id,
            ReserveConversion.status.in_([status.value for status in _OPEN]),
        )
        .group_by(ReserveConversion.status)
    )
    found = {row.status: row[1] for row in session.execute(query)}
    return {status.value: found.get(status.value, 0) for status in _OPEN}


def conversions_of(
    session: Session, account_id: int, account_ref: bytes | None, wallet: bytes | None, limit: int
) -> Sequence[ReserveConversion]:
    """Those of an account's reference and those that its wallet made, and what was credited to it;
    the newest first.
    """
    row = ReserveConversion
    mine = [row.account_id == account_id]
    mine += [] if account_ref is None else [row.account_ref == account_ref]
    mine += [] if wallet is None else [row.holder == wallet]
    found = (
        select(row)
        .where(or_(*mine), row.status != ConversionStatus.REVERSED.value)
        .order_by(row.number.desc(), row.log_index.desc())
        .limit(limit)
    )
    return session.scalars(found).all()


def is_held(session: Session, account_ref: bytes, holder: bytes | None = None) -> bool:
    """Whether a conversion for this reference is held, of that holder or of anybody."""
    row = ReserveConversion
    where = [row.account_ref == account_ref, row.status == ConversionStatus.HELD.value]
    where += [] if holder is None else [row.holder == holder]
    return bool(session.scalar(select(exists().where(*where))))


# References and claims


def ref_of(session: Session, account_id: int) -> bytes | None:
    """None: none was issued to the account."""
    query = select(ReserveRef.account_ref).where(ReserveRef.account_id == account_id)
    return session.scalar(query)


def owner_of_ref(session: Session, account_ref: bytes) -> int | None:
    """The account that the reference was issued to; None: to nobody."""
    query = select(ReserveRef.account_id).where(ReserveRef.account_ref == account_ref)
    return session.scalar(query)


def issue_ref(session: WriteSession, account_id: int, account_ref: bytes, now: datetime) -> bytes:
    """The account's reference: the one that it has, or this one from now on."""
    session.execute(
        insert(ReserveRef)
        .values(account_ref=account_ref, account_id=account_id, issued_at=now)
        .on_conflict_do_nothing(index_elements=["account_id"])
    )
    found = ref_of(session, account_id)
    assert found is not None, "the account has one now"
    return found


def claimant_of(session: Session, account_ref: bytes, holder: bytes) -> int | None:
    """Whose account gets what the holder converts for the reference; None: nobody claimed it."""
    query = select(ReserveClaim.account_id).where(
        ReserveClaim.account_ref == account_ref, ReserveClaim.holder == holder
    )
    return session.scalar(query)


def add_claim(
    session: WriteSession, account_ref: bytes, holder: bytes, account_id: int, now: datetime
) -> None:
    """Under `conversions.claim_lock`. A claim that stands stays."""
    session.execute(
        insert(ReserveClaim)
        .values(account_ref=account_ref, holder=holder, account_id=account_id, claimed_at=now)
        .on_conflict_do_nothing()
    )


def purchases_of(session: Session, wallet: bytes, limit: int) -> Sequence[ReserveEvent]:
    """Purchases that a wallet paid for or got the tokens of, the newest first."""
    row = ReserveEvent

    def some(column: InstrumentedAttribute[bytes | None]) -> Select[Any]:
        return (
            select(row)
            .where(
                column == wallet,
                row.kind == ReserveEventKind.BOUGHT.value,
                not_orphaned(row.chain_id, row.block_hash),
            )
            .order_by(row.number.desc(), row.log_index.desc())
            .limit(limit)
        )

    found = {
        (one.number, one.log_index): one
        for query in (some(row.party), some(row.recipient))
        for one in session.scalars(query)
    }
    return [found[place] for place in sorted(found, reverse=True)[:limit]]


# Readings


def reading(session: Session) -> ReserveReading | None:
    """What the contract said the last time that it was asked; None: never, or of a block that a
    reorg took back.
    """
    query = select(ReserveReading).where(
        not_orphaned(ReserveReading.chain_id, ReserveReading.block_hash)
    )
    return session.scalars(query.limit(1)).one_or_none()


def reconciled_at(session: Session, chain_id: int) -> datetime | None:
    """When record and contract were compared last; None: never."""
    query = select(ReserveReading.read_at).where(ReserveReading.chain_id == chain_id)
    return session.scalar(query)


def save_reading(session: WriteSession, values: Mapping[str, Any]) -> None:
    """By column; the one before is replaced."""
    fresh = {name: value for name, value in values.items() if name != "chain_id"}
    session.execute(
        insert(ReserveReading)
        .values(**values)
        .on_conflict_do_update(index_elements=["chain_id"], set_=fresh)
    )


def note_audit(session: WriteSession, chain_id: int, number: int, now: datetime) -> None:
    """All rows up to that block were summed."""
    session.execute(
        update(ReserveReading)
        .where(ReserveReading.chain_id == chain_id)
        .values(audited_number=number, audited_at=now)
    )


def converted_e6(session: Session, account_id: int, account_ref: bytes) -> int:
    """USDC base units that were converted and credited to the account by this reference."""
    query = select(ReserveConverted.usdc_e6).where(
        ReserveConverted.account_id == account_id, ReserveConverted.account_ref == account_ref
    )
    return session.scalar(query) or 0
