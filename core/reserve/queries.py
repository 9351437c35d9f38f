"""All SQL of the reserve token but the crediting of conversions (conversions.py)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_FOLLOWED, TIP, not_orphaned
from core.db.engine import WriteSession
from core.hexes import address_or_none
from core.reserve.rules import ConversionStatus, ReserveEventKind, ReserveLock, ReserveTotals
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

    `reserve_usdc_e6`: with what is locked, `locked_e6` at that second. `treasury_owed_e6`: USDC base
    units that conversions owe the treasury. `treasury` None: not known.
    """

    reserve_usdc_e6: int
    supply: int
    treasury_owed_e6: int
    block: int
    block_hash: str
    at: int
    is_paused: bool
    treasury: str | None
    lock: ReserveLock

    @property
    def locked_e6(self) -> int:
        return self.lock.left_e6(self.at)

    @property
    def unlocked_e6(self) -> int:
        return self.reserve_usdc_e6 - self.locked_e6


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
        lock=totals.lock,
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
            ReserveEvent.lock_after_e6,
            ReserveEvent.lock_since_after,
            ReserveEvent.lock_until_after_ns,
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
        ReserveLock(row.lock_after_e6, row.lock_since_after, row.lock_until_after_ns),
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


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A row of an account's list: its own wallet's rows come first, then what others sent it, each the
    newest first.
    """

    is_others: bool
    number: int
    log_index: int


def conversions_of(
    session: Session,
    account_id: int,
    account_ref: bytes | None,
    wallet: bytes | None,
    limit: int,
    after: ListPlace | None = None,
) -> list[ReserveConversion]:
    """What an account's wallet converted, unless another account got it, and then what others
    converted for it. `after`: exclusive.

    Each part is read backwards in an index of its own, so that a page costs the same however many
    rows strangers send.
    """
    row = ReserveConversion
    mine = row.account_id == account_id

    def part(left: int, place: ListPlace | None, *where: ColumnElement[bool]) -> Sequence[Any]:
        query = select(row).where(*where, row.status != ConversionStatus.REVERSED.value)
        return session.scalars(_backwards(query, row, place).limit(left)).all()

    found: list[ReserveConversion] = []
    if wallet is not None and not (after and after.is_others):
        is_or_may_be_mine = or_(mine, row.account_id.is_(None))
        found += part(limit, after, row.holder == wallet, is_or_may_be_mine)
    left, place = limit - len(found), after if after and after.is_others else None
    if left:
        of_others = [] if wallet is None else [row.holder != wallet]
        branches = [mine] + ([] if account_ref is None else [row.account_ref == account_ref])
        found += _newest([part(left, place, one, *of_others) for one in branches], left)
    return found


def _backwards(
    query: Select[Any],
    row: type[ReserveConversion] | type[ReserveEvent],
    place: ListPlace | None,
) -> Select[Any]:
    if place is not None:
        query = query.where(
            tuple_(row.number, row.log_index) < tuple_(place.number, place.log_index)
        )
    return query.order_by(row.number.desc(), row.log_index.desc())


def _newest(branches: Iterable[Sequence[Any]], limit: int) -> list[Any]:
    """Of several lists, a row that is in two of them once."""
    found = {(one.number, one.log_index): one for branch in branches for one in branch}
    return [found[place] for place in sorted(found, reverse=True)[:limit]]


def is_to_be_credited(session: Session, account_ref: bytes, holder: bytes | None = None) -> bool:
    """Whether a conversion for this reference waits for its credit or is held, of that holder or of
    anybody.
    """
    row = ReserveConversion
    where = [row.account_ref == account_ref, row.status.in_([status.value for status in _OPEN])]
    where += [] if holder is None else [row.holder == holder]
    return bool(session.scalar(select(exists().where(*where))))


def first_holder(session: Session, account_ref: bytes) -> bytes | None:
    """Who made the oldest conversion for the reference that is not credited; None: nobody. Dust that
    others send later does not hide them.
    """
    row = ReserveConversion
    query = (
        select(row.holder)
        .where(row.account_ref == account_ref, row.status.in_([one.value for one in _OPEN]))
        .order_by(row.number, row.log_index)
        .limit(1)
    )
    return session.scalar(query)


@dataclass(frozen=True, slots=True)
class ToBeCredited:
    """What a holder converted for a reference and is not credited yet. `unsafe`: how many of these
    are in blocks that may still be replaced, up to the block `until`; None: none is.
    """

    conversions: int
    usdc_e6: int
    unsafe: int
    until: int | None


def to_be_credited(
    session: Session, account_ref: bytes, holder: bytes, safe: int | None
) -> ToBeCredited:
    """`safe`: the newest safe block; None: there is none yet."""
    row = ReserveConversion
    is_unsafe = true() if safe is None else row.number > safe
    query = select(
        func.count(),
        func.coalesce(func.sum(row.usdc_e6), 0),
        func.count().filter(is_unsafe),
        func.max(row.number).filter(is_unsafe),
    ).where(
        row.account_ref == account_ref,
        row.holder == holder,
        row.status.in_([one.value for one in _OPEN]),
    )
    conversions, usdc_e6, unsafe, until = session.execute(query).one()
    return ToBeCredited(conversions, int(usdc_e6), unsafe, until)


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


def purchases_of(
    session: Session, wallet: bytes, limit: int, after: ListPlace | None = None
) -> list[ReserveEvent]:
    """Purchases that a wallet paid for, and then those that others paid for it. `after`: exclusive.
    Read as `conversions_of`.
    """
    row = ReserveEvent
    is_purchase = row.kind == literal_column(f"'{ReserveEventKind.BOUGHT.value}'")  # as its index

    def part(left: int, place: ListPlace | None, *where: ColumnElement[bool]) -> Sequence[Any]:
        counts = not_orphaned(row.chain_id, row.block_hash)
        query = select(row).where(*where, is_purchase, counts)
        return session.scalars(_backwards(query, row, place).limit(left)).all()

    found: list[ReserveEvent] = []
    if not (after and after.is_others):
        found += part(limit, after, row.party == wallet)
    left, place = limit - len(found), after if after and after.is_others else None
    if left:
        found += part(left, place, row.recipient == wallet, row.party != wallet)
    return found


# Readings


def reading(session: Session) -> ReserveReading | None:
    """What the contract said the last time that it was asked; None: never, or of a block that a
    reorg took back.
    """
    return session.scalars(_reading()).one_or_none()


@cache
def _reading() -> Select[ReserveReading]:
    stands = not_orphaned(ReserveReading.chain_id, ReserveReading.block_hash)
    return select(ReserveReading).where(stands).limit(1)


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


def note_compared(session: WriteSession, chain_id: int, account_id: int | None) -> None:
    """Touched accounts up to this one were compared; None: all were."""
    session.execute(
        update(ReserveReading)
        .where(ReserveReading.chain_id == chain_id)
        .values(compared_account_id=account_id)
    )


def converted_e6(session: Session, account_id: int, account_ref: bytes) -> int:
    """USDC base units that were converted and credited to the account by this reference."""
    query = select(ReserveConverted.usdc_e6).where(
        ReserveConverted.account_id == account_id, ReserveConverted.account_ref == account_ref
    )
    return session.scalar(query) or 0
