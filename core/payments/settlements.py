"""All SQL of what settling costs us in gas.

A day's figure is reserved and corrected by one statement each, whoever else does so.

reserve: used + most, unless that is above the budget --> sent --> close: used - reserved + what the
receipt says
"""

from dataclasses import dataclass
from datetime import date, datetime

from eth_utils.address import to_checksum_address
from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.base import Uint256
from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.payments.queries import Identity, authorization_of
from core.payments.rules import Cost, Sent
from core.payments.tables import X402GasDay, X402Payment, X402Settlement


@dataclass(frozen=True, slots=True)
class DailyGasBudget:
    """Wei that may be used in a UTC day: in all, and of these for payers that are contracts."""

    all_wei: int
    contract_wei: int


@dataclass(frozen=True, slots=True)
class Used:
    """Wei of a UTC day, what is reserved included."""

    all_wei: int
    contract_wei: int


def used_on(session: Session, day: date) -> Used:
    row = session.get(X402GasDay, day, populate_existing=True)
    return Used(0, 0) if row is None else Used(row.used_wei, row.contract_wei)


def reserve(
    session: WriteSession,
    identity: Identity,
    wei: int,
    budget: DailyGasBudget,
    *,
    is_contract: bool,
    settler: str | None = None,
    now: datetime,
) -> int | None:
    """The new settlement's id, with `wei` of the day's budget; None: the day has not so much left.

    Held until the transaction ends.
    """
    day, of_contract = now.date(), wei if is_contract else 0
    used, contract = X402GasDay.used_wei + wei, X402GasDay.contract_wei + of_contract
    left = (
        and_(used <= budget.all_wei, contract <= budget.contract_wei)
        if is_contract
        else used <= budget.all_wei
    )
    fits = wei <= budget.all_wei and of_contract <= budget.contract_wei
    first = select(literal(day), literal(wei, Uint256), literal(of_contract, Uint256)).where(
        literal(fits)
    )
    row = insert(X402GasDay).from_select(["day", "used_wei", "contract_wei"], first)
    row = row.on_conflict_do_update(
        index_elements=["day"], set_={"used_wei": used, "contract_wei": contract}, where=left
    )
    if session.execute(row.returning(X402GasDay.day)).scalar() is None:
        return None
    asset, payer, nonce = identity
    values = {"asset": asset, "payer": payer, "nonce": nonce, "day": day}
    values["settler"] = None if settler is None else bytes_of(settler)
    values |= {"reserved_wei": wei, "is_contract": is_contract, "reserved_at": now}
    return session.execute(
        insert(X402Settlement).values(values).returning(X402Settlement.id)
    ).scalar_one()


def name_transaction(session: WriteSession, settlement_id: int, tx_hash: bytes) -> None:
    """What was sent for it, before it is known what that costs."""
    session.execute(
        update(X402Settlement).where(X402Settlement.id == settlement_id).values(tx_hash=tx_hash)
    )


def close(session: WriteSession, settlement_id: int, cost: Cost) -> bool:
    """It has cost this; the rest of what was reserved is free again.

    False: another call has closed it.
    """
    changes = {"cost_wei": cost.wei, "is_reverted": cost.is_reverted, "bars_payer": cost.bars_payer}
    closed = (
        update(X402Settlement)
        .where(X402Settlement.id == settlement_id, X402Settlement.cost_wei.is_(None))
        .values(changes)
    )
    done = closed.returning(
        X402Settlement.day, X402Settlement.reserved_wei, X402Settlement.is_contract
    ).cte("done")
    freed = done.c.reserved_wei - cost.wei
    figures = {
        "used_wei": X402GasDay.used_wei - freed,
        "contract_wei": X402GasDay.contract_wei - case((done.c.is_contract, freed), else_=0),
    }
    day = (
        update(X402GasDay)
        .where(X402GasDay.day == done.c.day)
        .values(figures)
        .returning(X402GasDay.day)
    )
    return session.execute(day.execution_options(synchronize_session=False)).scalar() is not None


@dataclass(frozen=True, slots=True)
class SentSince:
    """Settlements of a key: `most` of them may have been sent, `open` of these have no receipt yet."""

    most: int
    open: int
    newest_id: int


def newest_settler(session: Session) -> str | None:
    """Whose key settles (checksum); None: no settlement says so."""
    query = select(X402Settlement.settler).where(X402Settlement.settler.is_not(None))
    found = session.scalar(query.order_by(X402Settlement.id.desc()).limit(1))
    return None if found is None else to_checksum_address(found)


def sent_since(session: Session, settler: str, since_id: int) -> SentSince:
    """Of this key, after that settlement."""
    is_open = X402Settlement.cost_wei.is_(None)
    sent = or_(is_open, X402Settlement.cost_wei > 0, X402Settlement.tx_hash.is_not(None))
    query = select(
        func.count().filter(sent),
        func.count().filter(is_open),
        func.coalesce(func.max(X402Settlement.id), since_id),
    ).where(X402Settlement.id > since_id, X402Settlement.settler == bytes_of(settler))
    most, open_, newest = session.execute(query).one()
    return SentSince(most, open_, newest)


def open_of(session: Session, identity: Identity, limit: int) -> list[Sent]:
    """The payer's settlements that were sent and have no receipt yet, the oldest first."""
    asset, payer, _ = identity
    return _open(session, limit, X402Settlement.asset == asset, X402Settlement.payer == payer)


def open_after(
    session: Session, after_id: int, reserved_before: datetime, limit: int
) -> list[Sent]:
    """As `open_of`, of whatever payer, from the id after that one on (exclusive), those reserved
    earlier than that.
    """
    return _open(
        session, limit, X402Settlement.id > after_id, X402Settlement.reserved_at < reserved_before
    )


def _open(session: Session, limit: int, *wanted: ColumnElement[bool]) -> list[Sent]:
    same = and_(
        X402Payment.asset == X402Settlement.asset,
        X402Payment.payer == X402Settlement.payer,
        X402Payment.nonce == X402Settlement.nonce,
    )
    query = (
        select(X402Settlement, X402Payment)
        .join(X402Payment, same)
        .where(X402Settlement.cost_wei.is_(None), *wanted)
    )
    found = session.execute(
        query.where(X402Settlement.tx_hash.is_not(None)).order_by(X402Settlement.id).limit(limit)
    )
    return [_sent(row, payment) for row, payment in found]


def _sent(row: X402Settlement, payment: X402Payment) -> Sent:
    assert row.tx_hash is not None  # asked for so
    return Sent(
        id=row.id,
        tx_hash=hex_of(row.tx_hash),
        wanted=authorization_of(payment),
        claimed_block=payment.claimed_block,
        valid_before=payment.valid_before,
        is_contract=row.is_contract,
    )


@dataclass(frozen=True, slots=True)
class Reverts:
    """Settlements of a payer that reverted: how many, when the first of them was sent, and when the
    last one that bars it. None: there is none.
    """

    count: int
    first: datetime | None
    barred: datetime | None


def reverts(
    session: Session, identity: Identity, after: datetime, barred_after: datetime
) -> Reverts:
    """Of those sent later than `after`; what bars the payer, later than `barred_after`."""
    asset, payer, _ = identity
    at = X402Settlement.reserved_at
    mine = (X402Settlement.asset == asset, X402Settlement.payer == payer)
    query = select(
        func.count().filter(at > after),
        func.min(at).filter(at > after),
        func.max(at).filter(at > barred_after, X402Settlement.bars_payer),
    ).where(*mine, X402Settlement.is_reverted, at > min(after, barred_after))
    return Reverts(*session.execute(query).one())
