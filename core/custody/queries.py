"""All SQL of custodial wallets and of what leaves them.

Keys stand here sealed; nothing here opens or commits.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Exists, SQLColumnExpression, exists, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.custody.rules import SealedKey
from core.custody.tables import CustodialTransfer, CustodialWallet
from core.db.engine import WriteSession
from core.hexes import address_of, bytes_of
from core.money import UsdcE6

NAMED = 20
# The versions in their order, each found from the one before by the index: what it costs is how
# many there are, not how many wallets.
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


# Wallets


def find_wallet(session: Session, account_id: int) -> SealedKey | None:
    return _sealed(session.get(CustodialWallet, account_id, populate_existing=True))


def lock_wallet(session: WriteSession, account_id: int) -> SealedKey | None:
    """The wallet, held until the transaction ends: what is asked of it comes one after the
    other.
    """
    query = (
        select(CustodialWallet).where(CustodialWallet.account_id == account_id).with_for_update()
    )
    return _sealed(session.scalar(query.execution_options(populate_existing=True)))


def add_wallet(session: WriteSession, sealed: SealedKey, now: datetime) -> bool:
    """False: the account has one already. Waits for another call that makes it."""
    values = {
        "account_id": sealed.account_id,
        "address": bytes_of(sealed.address),
        "ciphertext": sealed.ciphertext,
        "key_version": sealed.key_version,
        "created_at": now,
    }
    statement = (
        insert(CustodialWallet).values(values).on_conflict_do_nothing(index_elements=["account_id"])
    )
    return session.scalar(statement.returning(CustodialWallet.account_id)) is not None


def reseal(
    session: WriteSession, key_version: str, resealed: Callable[[SealedKey], SealedKey]
) -> int:
    """Replace every seal that is not of this version; the number replaced.

    Errors: those of `resealed`, and then none is kept.
    """
    query = (
        select(CustodialWallet)
        .where(CustodialWallet.key_version != key_version)
        .order_by(CustodialWallet.account_id)
    )
    others = session.scalars(query.with_for_update()).all()
    for row in others:
        sealed = resealed(sealed_key_of(row))
        row.ciphertext, row.key_version = sealed.ciphertext, sealed.key_version
    session.flush()
    return len(others)


@dataclass(frozen=True, slots=True)
class UnknownSeals:
    """Wallets that are sealed with a key which nobody here has.

    `first`: (account, checksum address) of the first NAMED of them.
    """

    key_version: str
    wallets: int
    first: tuple[tuple[int, str], ...]


def unknown_seals(session: Session, known: Collection[str]) -> list[UnknownSeals]:
    """By key version, those whose version is not among the `known`.

    Reads one row a version, and the wallets of unknown ones.
    """
    versions = [one for one in session.scalars(_KEY_VERSIONS) if one not in known]
    return [_of_version(session, version) for version in versions]


def _of_version(session: Session, version: str) -> UnknownSeals:
    of_it = CustodialWallet.key_version == version
    rows = session.execute(
        select(CustodialWallet.account_id, CustodialWallet.address)
        .where(of_it)
        .order_by(CustodialWallet.account_id)
        .limit(NAMED)
    )
    count = session.scalar(select(func.count()).where(of_it)) or 0
    return UnknownSeals(
        version, count, tuple((account_id, address_of(address)) for account_id, address in rows)
    )


def _sealed(row: CustodialWallet | None) -> SealedKey | None:
    return None if row is None else sealed_key_of(row)


def sealed_key_of(row: CustodialWallet) -> SealedKey:
    return SealedKey(
        account_id=row.account_id,
        address=address_of(row.address),
        ciphertext=row.ciphertext,
        key_version=row.key_version,
    )


# Transfers


def has_transfer(outbox_id: SQLColumnExpression[int]) -> Exists:
    """Whether the request is a custodial transfer."""
    return exists().where(CustodialTransfer.outbox_id == outbox_id)


def add_transfer(
    session: WriteSession, account_id: int, transfer: Transfer, generation: int
) -> None:
    """`generation`: of the account's secrets, as it is while the account's row is held."""
    row = CustodialTransfer(
        outbox_id=transfer.outbox_id,
        account_id=account_id,
        to=bytes_of(transfer.to),
        amount_usdc_e6=transfer.amount_usdc_e6,
        generation=generation,
        expires_at=transfer.expires_at,
        created_at=transfer.created_at,
    )
    session.add(row)
    session.flush()


def count_transfers(session: Session, account_id: int, since: datetime) -> int:
    """How many were asked for from `since` on (inclusive)."""
    mine = (CustodialTransfer.account_id == account_id, CustodialTransfer.created_at >= since)
    return session.scalar(select(func.count()).where(*mine)) or 0
