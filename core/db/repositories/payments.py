"""All SQL of payments in USDC. Each change of state is one statement that names the state it leaves."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import exists, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.tables.mandate import Mandate
from core.db.tables.payments import VaultPayment, X402Payment

Identity = tuple[bytes, bytes, bytes]  # asset, payer, nonce


def try_lock(session: WriteSession, identity: Identity) -> bool:
    """Take the payment for this connection, across its transactions, or answer False at once: another call works on it."""
    return bool(session.scalar(select(func.pg_try_advisory_lock(_lock_number(identity)))))


def unlock(session: WriteSession, identity: Identity) -> None:
    session.execute(select(func.pg_advisory_unlock(_lock_number(identity))))


def _lock_number(identity: Identity) -> int:
    digest = hashlib.sha256(b"x402:" + b"".join(identity)).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def find(session: Session, identity: Identity) -> X402Payment | None:
    """The row as it stands in the database now."""
    return session.get(X402Payment, identity, populate_existing=True)


def claim(session: WriteSession, identity: Identity, **columns: Any) -> bool:
    """Write the row in state claimed; False when it exists."""
    asset, payer, nonce = identity
    statement = insert(X402Payment).values(asset=asset, payer=payer, nonce=nonce, state="claimed", **columns)
    return session.execute(statement.on_conflict_do_nothing().returning(X402Payment.state)).scalar() is not None


@dataclass(frozen=True, slots=True)
class Failures:
    """How many settlements of a payer failed, and when the first of these payments was last claimed. None: none failed."""

    count: int
    since: datetime | None


def lock_payer(session: WriteSession, identity: Identity) -> None:
    """Payments of one payer are claimed one after the other, until the transaction ends."""
    asset, payer, _ = identity
    number = int.from_bytes(hashlib.sha256(b"x402-payer:" + asset + payer).digest()[:8], "big", signed=True)
    session.execute(select(func.pg_advisory_xact_lock(number)))


def promised(session: Session, identity: Identity, unix_s: int) -> Mapping[bytes, int]:
    """Nonce and amount of the payer's other payments that are claimed and can still settle."""
    asset, payer, nonce = identity
    mine = (X402Payment.asset == asset, X402Payment.payer == payer, X402Payment.nonce != nonce, X402Payment.state == "claimed")
    query = select(X402Payment.nonce, X402Payment.amount_usdc_e6).where(*mine, X402Payment.valid_before > unix_s)
    return {row.nonce: row.amount_usdc_e6 for row in session.execute(query)}


def failures(session: Session, identity: Identity, after: datetime) -> Failures:
    """Of the payer's payments that were last claimed later than `after` and have not settled, those that are being tried again included."""
    asset, payer, _ = identity
    mine = (X402Payment.asset == asset, X402Payment.payer == payer, X402Payment.state.in_(("claimed", "failed")))
    query = select(func.coalesce(func.sum(X402Payment.failures), 0), func.min(X402Payment.claimed_at))
    count, since = session.execute(query.where(*mine, X402Payment.claimed_at > after, X402Payment.failures > 0)).one()
    return Failures(int(count), since)


def reclaim(session: WriteSession, identity: Identity, now: datetime) -> None:
    """What did not settle is about to be sent again; `claimed_block` stays, since it may have settled from there on."""
    _move(session, identity, ("claimed", "failed"), state="claimed", tx_hash=None, claimed_at=now)


def mark_sent(session: WriteSession, identity: Identity, tx_hash: bytes) -> None:
    """The transaction that is to settle it is under way."""
    _move(session, identity, ("claimed",), tx_hash=tx_hash)


def mark_settled(session: WriteSession, identity: Identity, tx_hash: bytes, now: datetime) -> None:
    _move(session, identity, ("claimed", "failed"), state="settled", tx_hash=tx_hash, failure=None, settled_at=now)


def mark_failed(session: WriteSession, identity: Identity, failure: str, *, sent: bool) -> None:
    """`sent`: it was sent to settle, and that failed; otherwise it is not fit to be sent."""
    tries = X402Payment.failures + 1 if sent else X402Payment.failures
    _move(session, identity, ("claimed", "failed"), state="failed", failure=failure, tx_hash=None, failures=tries)


def mark_served(session: WriteSession, identity: Identity, now: datetime) -> bool:
    """False: it was served already."""
    return _move(session, identity, ("settled",), state="served", served_at=now)


def _move(session: WriteSession, identity: Identity, leaves: tuple[str, ...], **columns: Any) -> bool:
    asset, payer, nonce = identity
    mine = (X402Payment.asset == asset, X402Payment.payer == payer, X402Payment.nonce == nonce)
    statement = update(X402Payment).where(*mine, X402Payment.state.in_(leaves)).values(**columns).returning(X402Payment.state)
    return session.execute(statement.execution_options(synchronize_session=False)).scalar() is not None


def is_agent_of_vault(session: Session, chain_id: int, vault: bytes, account_id: int) -> bool:
    """Whether a mandate with this vault names the agent."""
    named = exists().where(Mandate.chain_id == chain_id, Mandate.vault_address == vault, Mandate.agent_id == account_id)
    return bool(session.scalar(select(named)))


def serve_vault_payment(session: WriteSession, **columns: Any) -> bool:
    """Write the row; False when that event was served before."""
    statement = insert(VaultPayment).values(**columns).on_conflict_do_nothing()
    return session.execute(statement.returning(VaultPayment.log_index)).scalar() is not None
