"""All SQL of payments in USDC.

Each change of state is one statement that names the state it leaves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from eth_utils.address import to_checksum_address
from sqlalchemy import and_, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db import locks
from core.db.engine import WriteSession
from core.db.locks import AdvisoryLock, LockClass
from core.hexes import hex_of
from core.payments.rules import UNSETTLED, Authorization, PaymentState
from core.payments.tables import VaultPayment, X402Payer, X402Payment

Identity = tuple[bytes, bytes, bytes]  # asset, payer, nonce


def try_lock(session: WriteSession, identity: Identity) -> bool:
    """Take the payment for this connection, across its transactions, or answer False at once:
    another call works on it.
    """
    return _lock(identity).try_hold(session)


def unlock(session: WriteSession, identity: Identity) -> None:
    _lock(identity).release(session)


def _lock(identity: Identity) -> AdvisoryLock:
    return locks.named(LockClass.PAYMENT, b"".join(identity))


def find(session: Session, identity: Identity) -> X402Payment | None:
    """The row as it is in the database now."""
    return session.get(X402Payment, identity, populate_existing=True)


def authorization_of(row: X402Payment) -> Authorization:
    return Authorization(
        token=to_checksum_address(row.asset),
        payer=to_checksum_address(row.payer),
        nonce=hex_of(row.nonce),
        pay_to=to_checksum_address(row.pay_to),
        amount=row.amount_usdc_e6,
    )


def claim(session: WriteSession, identity: Identity, **columns: Any) -> bool:
    """Write the row in state claimed; False when it exists."""
    asset, payer, nonce = identity
    statement = insert(X402Payment).values(
        asset=asset, payer=payer, nonce=nonce, state=PaymentState.CLAIMED, **columns
    )
    return (
        session.execute(statement.on_conflict_do_nothing().returning(X402Payment.state)).scalar()
        is not None
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """How many payments of a payer were ever claimed, and for how much."""

    claims: int
    claimed_usdc_e6: int


@dataclass(frozen=True, slots=True)
class Failures:
    """How many settlements of a payer failed, and when the first of these payments was last
    claimed. None: none failed.
    """

    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Promised:
    """What a payer has promised at one moment: amounts by nonce of other payments that are claimed
    and can still settle; the tally then.
    """

    amounts: Mapping[bytes, int]
    tally: Tally


def promised(session: Session, identity: Identity, unix_s: int) -> Promised:
    """One statement, so that no claim falls between the amounts and the tally."""
    asset, payer, nonce = identity
    other = (X402Payment.asset == asset, X402Payment.payer == payer, X402Payment.nonce != nonce)
    under_way = and_(
        *other, X402Payment.state == PaymentState.CLAIMED, X402Payment.valid_before > unix_s
    )
    query = select(
        X402Payer.claims, X402Payer.claimed_usdc_e6, X402Payment.nonce, X402Payment.amount_usdc_e6
    )
    query = (
        query.select_from(X402Payer)
        .outerjoin(X402Payment, under_way)
        .where(X402Payer.asset == asset, X402Payer.payer == payer)
    )
    rows = session.execute(query).all()
    amounts = {row.nonce: row.amount_usdc_e6 for row in rows if row.nonce is not None}
    return Promised(
        amounts, Tally(rows[0].claims, rows[0].claimed_usdc_e6) if rows else Tally(0, 0)
    )


def count_claim(session: WriteSession, identity: Identity, amount_usdc_e6: int) -> Tally:
    """Count one more; answers the tally before.

    Payments of one payer are claimed one after the other, until the transaction ends.
    """
    asset, payer, _ = identity
    row = insert(X402Payer).values(
        asset=asset, payer=payer, claims=1, claimed_usdc_e6=amount_usdc_e6
    )
    more = {
        "claims": X402Payer.claims + 1,
        "claimed_usdc_e6": X402Payer.claimed_usdc_e6 + amount_usdc_e6,
    }
    row = row.on_conflict_do_update(index_elements=["asset", "payer"], set_=more)
    claims, claimed = session.execute(
        row.returning(X402Payer.claims, X402Payer.claimed_usdc_e6)
    ).one()
    return Tally(claims - 1, claimed - amount_usdc_e6)


def failures(session: Session, identity: Identity, after: datetime) -> Failures:
    """Of the payer's payments that were last claimed later than `after` and have not settled, those
    that are being tried again included.
    """
    asset, payer, _ = identity
    mine = (
        X402Payment.asset == asset,
        X402Payment.payer == payer,
        X402Payment.state.in_(UNSETTLED),
    )
    query = select(
        func.coalesce(func.sum(X402Payment.failures), 0), func.min(X402Payment.claimed_at)
    )
    count, since = session.execute(
        query.where(*mine, X402Payment.claimed_at > after, X402Payment.failures > 0)
    ).one()
    return Failures(int(count), since)


def unserved_of_slot(session: Session, slot: bytes) -> Sequence[X402Payment]:
    """Payments that were sent with this idempotency key and have served no call, the oldest
    first.
    """
    mine = (X402Payment.slot == slot, X402Payment.state != PaymentState.SERVED)
    query = select(X402Payment).where(*mine).order_by(X402Payment.claimed_at, X402Payment.nonce)
    return session.scalars(query.execution_options(populate_existing=True)).all()


def reclaim(session: WriteSession, identity: Identity, slot: bytes | None, now: datetime) -> None:
    """What did not settle is about to be sent again; `claimed_block` stays, since it may have
    settled from there on.
    """
    _move(
        session,
        identity,
        UNSETTLED,
        state=PaymentState.CLAIMED,
        tx_hash=None,
        slot=slot,
        claimed_at=now,
    )


def mark_sent(session: WriteSession, identity: Identity, tx_hash: bytes) -> None:
    """The transaction that is to settle it is under way."""
    _move(session, identity, (PaymentState.CLAIMED,), tx_hash=tx_hash)


def mark_settled(session: WriteSession, identity: Identity, tx_hash: bytes, now: datetime) -> None:
    _move(
        session,
        identity,
        UNSETTLED,
        state=PaymentState.SETTLED,
        tx_hash=tx_hash,
        failure=None,
        settled_at=now,
    )


def mark_failed(session: WriteSession, identity: Identity, failure: str, *, sent: bool) -> None:
    """`sent`: it was sent to settle, and that failed; otherwise it is not fit to be sent."""
    tries = X402Payment.failures + 1 if sent else X402Payment.failures
    _move(
        session,
        identity,
        UNSETTLED,
        state=PaymentState.FAILED,
        failure=failure,
        tx_hash=None,
        failures=tries,
    )


def mark_served(session: WriteSession, identity: Identity, now: datetime) -> bool:
    """False: it was served already."""
    return _move(
        session, identity, (PaymentState.SETTLED,), state=PaymentState.SERVED, served_at=now
    )


def _move(
    session: WriteSession, identity: Identity, leaves: tuple[str, ...], **columns: Any
) -> bool:
    asset, payer, nonce = identity
    mine = (X402Payment.asset == asset, X402Payment.payer == payer, X402Payment.nonce == nonce)
    statement = (
        update(X402Payment)
        .where(*mine, X402Payment.state.in_(leaves))
        .values(**columns)
        .returning(X402Payment.state)
    )
    return (
        session.execute(statement.execution_options(synchronize_session=False)).scalar() is not None
    )


def serve_vault_payment(session: WriteSession, **columns: Any) -> bool:
    """Write the row; False when that event was served before."""
    statement = insert(VaultPayment).values(**columns).on_conflict_do_nothing()
    return session.execute(statement.returning(VaultPayment.log_index)).scalar() is not None
