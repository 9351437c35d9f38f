"""All SQL of custodial wallets and of what leaves them. Keys stand here sealed; nothing here opens or commits."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from eth_utils.address import to_checksum_address
from sqlalchemy import ColumnElement, Select, and_, exists, func, select, text, true
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

NAMED = 20
# The versions in their order, each found from the one before by the index: what it costs is how many there are, not how many wallets.
_KEY_VERSIONS = text("""
with recursive version(key_version) as (
    select min(key_version) from custodial_wallet
    union all
    select (select min(w.key_version) from custodial_wallet w where w.key_version > v.key_version)
    from version v where v.key_version is not null
)
select key_version from version where key_version is not null
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """`key` is the outbox's. `to` is a checksum address, `expires_at` exclusive."""

    outbox_id: int
    key: str
    to: str
    amount_usdc_e6: UsdcE6
    expires_at: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What a request is to move, the wallet that it leaves, and whether it may.

    `is_void`: never more, since another wallet is linked by now or the agent's secrets were replaced since it was asked for.
    `payable_at`: from when the linked wallet is paid (inclusive); None: never.
    """

    wallet: SealedKey
    transfer: Transfer
    is_void: bool
    payable_at: datetime | None


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


@dataclass(frozen=True, slots=True)
class UnknownSeals:
    """Wallets that are sealed with a key which nobody here has. `first`: (account, checksum address) of the first NAMED of them."""

    key_version: str
    wallets: int
    first: tuple[tuple[int, str], ...]


def unknown_seals(session: Session, known: Collection[str]) -> list[UnknownSeals]:
    """By key version, those whose version is not among the `known`. Reads one row a version, and the wallets of unknown ones."""
    versions = [one for one in session.scalars(_KEY_VERSIONS) if one not in known]
    return [_of_version(session, version) for version in versions]


def _of_version(session: Session, version: str) -> UnknownSeals:
    of_it = CustodialWallet.key_version == version
    rows = session.execute(
        select(CustodialWallet.account_id, CustodialWallet.address).where(of_it).order_by(CustodialWallet.account_id).limit(NAMED)
    )
    count = session.scalar(select(func.count()).where(of_it)) or 0
    return UnknownSeals(version, count, tuple((account_id, _address(address)) for account_id, address in rows))


def _sealed(row: CustodialWallet | None) -> SealedKey | None:
    return None if row is None else _key_of(row)


def _key_of(row: CustodialWallet) -> SealedKey:
    return SealedKey(account_id=row.account_id, address=_address(row.address), ciphertext=row.ciphertext, key_version=row.key_version)


def _address(raw: bytes) -> str:
    return str(to_checksum_address(raw))


# Transfers


def add_transfer(session: WriteSession, account_id: int, transfer: Transfer, generation: int) -> None:
    """`generation`: of the account's secrets, as it is while the account's row is held."""
    row = CustodialTransfer(
        outbox_id=transfer.outbox_id,
        account_id=account_id,
        to=address_bytes(transfer.to),
        amount_usdc_e6=transfer.amount_usdc_e6,
        generation=generation,
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


def payment_of_request(session: Session, outbox_id: int) -> Payment | None:
    """None: the request is no custodial transfer."""
    query = (
        _transfers()
        .add_columns(CustodialWallet, _is_void(), Account.wallet_payable_at)
        .join(CustodialWallet, CustodialWallet.account_id == CustodialTransfer.account_id)
        .join(Account, Account.id == CustodialTransfer.account_id)
    )
    row = session.execute(query.where(CustodialTransfer.outbox_id == outbox_id)).one_or_none()
    if row is None:
        return None
    moved, key, wallet, is_void, payable_at = row
    return Payment(wallet=_key_of(wallet), transfer=_transfer(moved, key), is_void=is_void, payable_at=payable_at)


def void_requests(session: Session, outbox_ids: Collection[int]) -> set[int]:
    """Those of the requests that are transfers and may be paid no more."""
    return _void_of(session, outbox_ids, select(CustodialTransfer.outbox_id, _is_void()))


def void_requests_held(session: WriteSession, outbox_ids: Collection[int]) -> set[int]:
    """As `void_requests`; until the transaction ends, no eviction changes the answer."""
    held = select(CustodialTransfer.outbox_id, _is_void()).with_for_update(read=True, of=Account)
    return _void_of(session, outbox_ids, held)


def _void_of(session: Session, outbox_ids: Collection[int], query: Select[int, bool]) -> set[int]:
    if not outbox_ids:
        return set()
    query = query.join(Account, Account.id == CustodialTransfer.account_id).where(CustodialTransfer.outbox_id.in_(outbox_ids))
    return {outbox_id for outbox_id, is_void in session.execute(query.order_by(Account.id)) if is_void}


def _is_void() -> ColumnElement[bool]:
    is_asked_for = and_(Account.wallet_address == CustodialTransfer.to, Account.generation == CustodialTransfer.generation)
    return func.coalesce(~is_asked_for, true())


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
