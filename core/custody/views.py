"""Custodial transfers beside the accounts and the outbox: whether one may still be paid, and which
are under way.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, exists, func, select, true
from sqlalchemy.orm import Session

from core.custody.queries import Transfer, sealed_key_of
from core.custody.rules import SealedKey
from core.custody.tables import CustodialTransfer, CustodialWallet
from core.db.engine import WriteSession
from core.hexes import address_of
from core.identity.tables import Account
from core.keeper.rules import UNPAID_ENDS
from core.keeper.tables import KeeperIntent, KeeperTx, Outbox
from core.money import UsdcE6


@dataclass(frozen=True, slots=True, kw_only=True)
class CustodialPayment:
    """What a request is to move, the wallet that it leaves, and whether it may.

    `is_void`: never more, since another wallet is linked by now or the agent's secrets were
    replaced since it was asked for.
    `payable_at`: from when the linked wallet is paid (inclusive); None: never.
    """

    wallet: SealedKey
    transfer: Transfer
    is_void: bool
    payable_at: datetime | None


def payment_of_request(session: Session, outbox_id: int) -> CustodialPayment | None:
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
    return CustodialPayment(
        wallet=sealed_key_of(wallet),
        transfer=_transfer(moved, key),
        is_void=is_void,
        payable_at=payable_at,
    )


def void_requests_held(session: WriteSession, outbox_ids: Collection[int]) -> set[int]:
    """Those of the requests that are transfers that may be paid no more; until the transaction
    ends, no eviction changes the answer.
    """
    if not outbox_ids:
        return set()
    held = select(CustodialTransfer.outbox_id, _is_void()).join(
        Account, Account.id == CustodialTransfer.account_id
    )
    held = (
        held.where(CustodialTransfer.outbox_id.in_(outbox_ids))
        .order_by(Account.id)
        .with_for_update(read=True, of=Account)
    )
    return {outbox_id for outbox_id, is_void in session.execute(held) if is_void}


def _is_void() -> ColumnElement[bool]:
    is_asked_for = and_(
        Account.wallet_address == CustodialTransfer.to,
        Account.generation == CustodialTransfer.generation,
    )
    return func.coalesce(~is_asked_for, true())


def transfers_of(
    session: Session, account_id: int, before: int | None, limit: int
) -> list[Transfer]:
    """The newest first; with `before` those that are older than that outbox id."""
    query = _transfers().where(CustodialTransfer.account_id == account_id)
    if before is not None:
        query = query.where(CustodialTransfer.outbox_id < before)
    return [
        _transfer(*row)
        for row in session.execute(query.order_by(CustodialTransfer.outbox_id.desc()).limit(limit))
    ]


def transfers_under_way(
    session: Session, account_id: int, head: int, at: datetime
) -> list[Transfer]:
    """Those that the chain may still pay, or paid in a block that a node at the height `head` and the
    time `at` does not show: all whose authorizations are good, but for those that ended unpaid in a
    block that it has.

    The keeper's word that one was paid is none of them: the chain's is, read at that block.
    """
    above = exists().where(KeeperTx.intent_id == KeeperIntent.id, KeeperTx.mined_block > head)
    failed = exists().where(
        KeeperIntent.outbox_id == CustodialTransfer.outbox_id,
        KeeperIntent.state.in_(UNPAID_ENDS),
        ~above,
    )
    query = _transfers().where(
        CustodialTransfer.account_id == account_id, CustodialTransfer.expires_at > at, ~failed
    )
    return [_transfer(*row) for row in session.execute(query.order_by(CustodialTransfer.outbox_id))]


def _transfers() -> Select[CustodialTransfer, str]:
    return select(CustodialTransfer, Outbox.key).join(
        Outbox, Outbox.id == CustodialTransfer.outbox_id
    )


def _transfer(row: CustodialTransfer, key: str) -> Transfer:
    return Transfer(
        outbox_id=row.outbox_id,
        key=key,
        to=address_of(row.to),
        amount_usdc_e6=UsdcE6(row.amount_usdc_e6),
        expires_at=row.expires_at,
        created_at=row.created_at,
    )


def void_intents(session: Session, intent_ids: Collection[int]) -> frozenset[int]:
    """Those of the intents whose requests are transfers that may be paid no more."""
    if not intent_ids:
        return frozenset()
    query = select(KeeperIntent.id).join(
        CustodialTransfer, CustodialTransfer.outbox_id == KeeperIntent.outbox_id
    )
    query = query.join(Account, Account.id == CustodialTransfer.account_id).where(
        KeeperIntent.id.in_(intent_ids), _is_void()
    )
    return frozenset(session.scalars(query))
