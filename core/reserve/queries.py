"""All SQL of the reserve token but the crediting of conversions (conversions.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import (
    Select,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_CONFIRMED, RESERVE_FOLLOWED, TIP, not_orphaned
from core.db.engine import WriteSession
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
    """The contract's numbers at the block that the indexer is at. `at`: unix seconds of it."""

    totals: ReserveTotals
    block: int
    block_hash: str
    at: int

    @property
    def locked_e6(self) -> int:
        return self.totals.lock.left_e6(self.at)

    @property
    def unlocked_e6(self) -> int:
        return self.totals.unlocked_e6(self.at)


def state(session: Session) -> ReserveState | None:
    """None: the token is not followed, or not yet from its creation up to the cursor."""
    tip, followed = blocks.cursor(session, TIP), blocks.cursor(session, RESERVE_FOLLOWED)
    chain_id = blocks.cursor_chain(session, TIP)
    if tip is None or followed is None or chain_id is None:
        return None
    confirmed = blocks.cursor(session, RESERVE_CONFIRMED) or blocks.oldest_block(session, chain_id)
    at = blocks.block_time(session, chain_id, tip.hash)
    if at is None or confirmed.number < followed.number:
        return None
    return ReserveState(totals_at(session, chain_id, tip.number), tip.number, tip.hash, at)


def totals_at(session: Session, chain_id: int, number: int) -> ReserveTotals:
    """The contract's numbers after all events up to that height that no reorg took back."""
    event = ReserveEvent
    query = select(event).where(
        event.chain_id == chain_id,
        event.number <= number,
        not_orphaned(event.chain_id, event.block_hash),
    )
    row = session.scalars(_newest_first(query, event, None).limit(1)).one_or_none()
    return ReserveTotals() if row is None else row.totals


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
    account_ref: str | None,
    wallet: str | None,
    limit: int,
    after: ListPlace | None = None,
) -> list[ReserveConversion]:
    """What an account's wallet converted, unless another account got it, and then what others
    converted for it. `after`: exclusive.
    """
    row = ReserveConversion
    standing = select(row).where(row.status != ConversionStatus.REVERSED.value)
    mine = row.account_id == account_id
    others = [mine] if account_ref is None else [mine, row.account_ref == account_ref]
    if wallet is None:
        return _own_first(session, row, None, [standing.where(one) for one in others], limit, after)
    own = standing.where(row.holder == wallet, or_(mine, row.account_id.is_(None)))
    of_others = [standing.where(row.holder != wallet, one) for one in others]
    return _own_first(session, row, own, of_others, limit, after)


def purchases_of(
    session: Session, wallet: str, limit: int, after: ListPlace | None = None
) -> list[ReserveEvent]:
    """Purchases that a wallet paid for, and then those that others paid for it. `after`: exclusive."""
    row = ReserveEvent
    is_purchase = row.kind == literal_column(f"'{ReserveEventKind.BOUGHT.value}'")  # as its index
    bought = select(row).where(is_purchase, not_orphaned(row.chain_id, row.block_hash))
    of_others = bought.where(row.recipient == wallet, row.party != wallet)
    return _own_first(session, row, bought.where(row.party == wallet), [of_others], limit, after)


Row = TypeVar("Row", ReserveConversion, ReserveEvent)


def _own_first(
    session: Session,
    row: type[Row],
    own: Select[Row] | None,
    others: Sequence[Select[Row]],
    limit: int,
    after: ListPlace | None,
) -> list[Row]:
    """Own rows and then others', which are in any of `others`, each the newest first.

    Each is read backwards in an index of its own, so that a page costs the same however many rows
    strangers send.
    """
    found = list[Row]()
    if own is not None and not (after and after.is_others):
        found += session.scalars(_newest_first(own, row, after).limit(limit))
    left, place = limit - len(found), after if after and after.is_others else None
    if left:
        theirs = {
            (one.number, one.log_index): one
            for query in others
            for one in session.scalars(_newest_first(query, row, place).limit(left))
        }
        found += [theirs[at] for at in sorted(theirs, reverse=True)[:left]]
    return found


def _newest_first(query: Select[Row], row: type[Row], after: ListPlace | None) -> Select[Row]:
    if after is not None:
        place = tuple_(row.number, row.log_index)
        query = query.where(place < tuple_(after.number, after.log_index))
    return query.order_by(row.number.desc(), row.log_index.desc())


def first_holder(session: Session, account_ref: str) -> str | None:
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
    session: Session, account_ref: str, holder: str, safe: int | None
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


def ref_of(session: Session, account_id: int) -> str | None:
    """None: none was issued to the account."""
    query = select(ReserveRef.account_ref).where(ReserveRef.account_id == account_id)
    return session.scalar(query)


def owner_of_ref(session: Session, account_ref: str) -> int | None:
    """The account that the reference was issued to; None: to nobody."""
    query = select(ReserveRef.account_id).where(ReserveRef.account_ref == account_ref)
    return session.scalar(query)


def issue_ref(session: WriteSession, account_id: int, account_ref: str, now: datetime) -> str:
    """The account's reference: the one that it has, or this one from now on."""
    session.execute(
        insert(ReserveRef)
        .values(account_ref=account_ref, account_id=account_id, issued_at=now)
        .on_conflict_do_nothing(index_elements=["account_id"])
    )
    found = ref_of(session, account_id)
    assert found is not None, "the account has one now"
    return found


def claimant_of(session: Session, account_ref: str, holder: str) -> int | None:
    """Whose account gets what the holder converts for the reference; None: nobody claimed it."""
    query = select(ReserveClaim.account_id).where(
        ReserveClaim.account_ref == account_ref, ReserveClaim.holder == holder
    )
    return session.scalar(query)


def add_claim(
    session: WriteSession, account_ref: str, holder: str, account_id: int, now: datetime
) -> None:
    """Under `conversions.claim_lock`. A claim that is made stays."""
    session.execute(
        insert(ReserveClaim)
        .values(account_ref=account_ref, holder=holder, account_id=account_id, claimed_at=now)
        .on_conflict_do_nothing()
    )


# Readings


def reading(session: Session) -> ReserveReading | None:
    """What the contract said the last time that it was asked; None: never, or of a block that a
    reorg took back.
    """
    return session.scalars(_reading()).one_or_none()


@cache
def _reading() -> Select[ReserveReading]:
    is_standing = not_orphaned(ReserveReading.chain_id, ReserveReading.block_hash)
    return select(ReserveReading).where(is_standing).limit(1)


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


def converted_e6(session: Session, account_id: int, account_ref: str) -> int:
    """USDC base units that were converted and credited to the account by this reference."""
    query = select(ReserveConverted.usdc_e6).where(
        ReserveConverted.account_id == account_id, ReserveConverted.account_ref == account_ref
    )
    return session.scalar(query) or 0
