"""All SQL of custodial wallets and of what leaves them. Keys stand here sealed; nothing here opens or commits."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from eth_utils.address import to_checksum_address
from sqlalchemy import Select, and_, exists, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.repositories.identity import address_bytes
from core.db.repositories.outbox_queue import SETTLED
from core.db.tables.custody import CustodialTransfer, CustodialWallet
from core.db.tables.identity import Account
from core.db.tables.keeper import KeeperIntent, Outbox
from core.domain.custody import SealedKey
from core.domain.money import UsdcE6


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """`key` is the outbox's. `to` is a checksum address, `expires_at` exclusive."""

    outbox_id: int
    key: str
    to: str
    amount_usdc_e6: UsdcE6
    expires_at: datetime
    created_at: datetime


# Wallets


def find_wallet(session: Session, account_id: int) -> SealedKey | None:
    return _sealed(session.get(CustodialWallet, account_id, populate_existing=True))


def lock_wallet(session: WriteSession, account_id: int) -> SealedKey | None:
    """The wallet, held until the transaction ends: what is asked of it comes one after the other."""
    query = select(CustodialWallet).where(CustodialWallet.account_id == account_id).with_for_update()
    return _sealed(session.scalar(query.execution_options(populate_existing=True)))


def add_wallet(session: WriteSession, sealed: SealedKey, now: datetime) -> bool:
    """False: the account has one already. Waits for another call that makes it."""
    values = {
        "account_id": sealed.account_id,
        "address": address_bytes(sealed.address),
        "ciphertext": sealed.ciphertext,
        "key_version": sealed.key_version,
        "created_at": now,
    }
    statement = insert(CustodialWallet).values(values).on_conflict_do_nothing(index_elements=["account_id"])
    return session.scalar(statement.returning(CustodialWallet.account_id)) is not None


def reseal(session: WriteSession, key_version: str, resealed: Callable[[SealedKey], SealedKey]) -> int:
    """Replace every seal that is not of this version; the number replaced. Errors: those of `resealed`, and then none is kept."""
    query = select(CustodialWallet).where(CustodialWallet.key_version != key_version).order_by(CustodialWallet.account_id)
    others = session.scalars(query.with_for_update()).all()
    for row in others:
        sealed = resealed(_key_of(row))
        row.ciphertext, row.key_version = sealed.ciphertext, sealed.key_version
    session.flush()
    return len(others)


def _sealed(row: CustodialWallet | None) -> SealedKey | None:
    return None if row is None else _key_of(row)


def _key_of(row: CustodialWallet) -> SealedKey:
    return SealedKey(account_id=row.account_id, address=_address(row.address), ciphertext=row.ciphertext, key_version=row.key_version)


def _address(raw: bytes) -> str:
    return str(to_checksum_address(raw))


# Transfers


def add_transfer(session: WriteSession, account_id: int, transfer: Transfer) -> None:
    row = CustodialTransfer(
        outbox_id=transfer.outbox_id,
        account_id=account_id,
        to=address_bytes(transfer.to),
        amount_usdc_e6=transfer.amount_usdc_e6,
        expires_at=transfer.expires_at,
        created_at=transfer.created_at,
    )
    session.add(row)
    session.flush()


def transfers_of(session: Session, account_id: int, before: int | None, limit: int) -> list[Transfer]:
    """The newest first; with `before` those that are older than that outbox id."""
    query = _transfers().where(CustodialTransfer.account_id == account_id)
    if before is not None:
        query = query.where(CustodialTransfer.outbox_id < before)
    return [_transfer(*row) for row in session.execute(query.order_by(CustodialTransfer.outbox_id.desc()).limit(limit))]


def transfers_under_way(session: Session, account_id: int) -> list[Transfer]:
    """Those that are not finished, by the keeper's word."""
    ended = exists().where(KeeperIntent.outbox_id == CustodialTransfer.outbox_id, KeeperIntent.state.in_(SETTLED))
    query = _transfers().where(CustodialTransfer.account_id == account_id, ~ended)
    return [_transfer(*row) for row in session.execute(query.order_by(CustodialTransfer.outbox_id))]


def count_transfers(session: Session, account_id: int, since: datetime) -> int:
    """How many were asked for from `since` on (inclusive)."""
    mine = (CustodialTransfer.account_id == account_id, CustodialTransfer.created_at >= since)
    return session.scalar(select(func.count()).where(*mine)) or 0


def transfer_of_request(session: Session, outbox_id: int) -> tuple[SealedKey, Transfer] | None:
    """What a row of the outbox is to move, and the wallet that it leaves; None unless it goes to the account's linked wallet."""
    query = (
        _transfers()
        .add_columns(CustodialWallet)
        .join(CustodialWallet, CustodialWallet.account_id == CustodialTransfer.account_id)
        .join(Account, and_(Account.id == CustodialTransfer.account_id, Account.wallet_address == CustodialTransfer.to))
    )
    row = session.execute(query.where(CustodialTransfer.outbox_id == outbox_id)).one_or_none()
    if row is None:
        return None
    moved, key, wallet = row
    return _key_of(wallet), _transfer(moved, key)


def _transfers() -> Select[CustodialTransfer, str]:
    return select(CustodialTransfer, Outbox.key).join(Outbox, Outbox.id == CustodialTransfer.outbox_id)


def _transfer(row: CustodialTransfer, key: str) -> Transfer:
    return Transfer(
        outbox_id=row.outbox_id,
        key=key,
        to=_address(row.to),
        amount_usdc_e6=UsdcE6(row.amount_usdc_e6),
        expires_at=row.expires_at,
        created_at=row.created_at,
    )
