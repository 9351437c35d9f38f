"""All SQL of the keeper except the vaults that it watches (core.keeper.views): its intents, their
transactions, its judgements.

Laws
- One live intent a subject and kind: the partial unique index decides, not a check before the
  insert.
- A state changes by compare-and-set from the state that was read; False means that somebody else
  changed it.
- Addresses are checksum strings outside and bytes inside; hashes are 0x lower-case hex outside.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as pg_insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from core.chain.blocks import TransactionReceipt
from core.db.engine import WriteSession
from core.db.refused import refused_state
from core.hexes import address_of, bytes_of, hex_of
from core.keeper.rules import IntentState, Purse, TxState
from core.keeper.tables import LIVE_STATES, KeeperEnded, KeeperIntent, KeeperTx, VaultMark
from core.money import UsdcE6

# the roles whose keys are for requests alone
OF_REQUESTS = "custody"
OF_SPONSOR = "sponsor"
# word for word the predicate of the partial index, so that Postgres uses it
LIVE = text(f"keeper_intent.{LIVE_STATES}")
MARKS_A_TIME = 5_000
NOT_KEPT = "not_kept"  # source of a judgement whose worth the database did not take


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntent:
    """`subject`: the contract's address in lower case, or `outbox:<id>`.

    `vault` and `outbox_id` when it is about one.
    """

    chain_id: int
    subject: str
    vault: str | None
    outbox_id: int | None = None
    kind: str
    role: str
    to: str
    data: bytes
    trigger_block_number: int
    trigger_block_hash: str
    reason: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(NewIntent):
    id: int
    state: IntentState
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTx:
    """One signed attempt.

    `raw` is what is sent, as often as needed. `offered_block`: the head at that time, or when its
    block was orphaned.
    """

    intent_id: int
    signer: str
    nonce: int
    raw: bytes
    hash: str
    max_fee_wei: int
    max_priority_fee_wei: int
    offered_block: int
    is_filler: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tx(NewTx):
    id: int
    state: TxState
    mined_block_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVaultMark:
    chain_id: int
    vault: str
    block_number: int
    block_hash: str | None
    worth_usdc_e6: UsdcE6 | None
    floor_usdc_e6: UsdcE6
    source: str


# Judgements


def add_vault_marks(session: WriteSession, marks: Sequence[NewVaultMark], now: datetime) -> None:
    """Write judgements.

    One that the database refuses for what it says (SQLSTATE 22, 23) is kept with an unknown worth.
    """
    for first in range(0, len(marks), MARKS_A_TIME):
        _add_vault_marks(session, marks[first : first + MARKS_A_TIME], now)


def _add_vault_marks(session: WriteSession, marks: Sequence[NewVaultMark], now: datetime) -> None:
    try:
        with session.begin_nested():
            session.execute(insert(VaultMark), [_mark_row(mark, now) for mark in marks])
    except DBAPIError as error:
        if refused_state(error) is None:
            raise
        if len(marks) > 1:
            half = len(marks) // 2
            _add_vault_marks(session, marks[:half], now)
            _add_vault_marks(session, marks[half:], now)
        elif marks[0].worth_usdc_e6 is not None:
            _add_vault_marks(session, [replace(marks[0], worth_usdc_e6=None, source=NOT_KEPT)], now)


def _mark_row(mark: NewVaultMark, now: datetime) -> dict[str, Any]:
    return {
        "chain_id": mark.chain_id,
        "vault": bytes_of(mark.vault),
        "block_number": mark.block_number,
        "block_hash": None if mark.block_hash is None else bytes_of(mark.block_hash),
        "worth_usdc_e6": mark.worth_usdc_e6,
        "floor_usdc_e6": mark.floor_usdc_e6,
        "source": mark.source,
        "at": now,
    }


def marks_sent(
    session: Session, chain_id: int, vaults: Collection[str], since: datetime
) -> dict[str, int]:
    """How many marks of each of these vaults were signed since then; none is 0 and left out."""
    signed = exists().where(KeeperTx.intent_id == KeeperIntent.id)
    query = (
        select(KeeperIntent.vault, func.count())
        .where(
            KeeperIntent.chain_id == chain_id,
            KeeperIntent.vault.in_([bytes_of(vault) for vault in vaults]),
        )
        .where(KeeperIntent.kind == "mark", KeeperIntent.created_at > since, signed)
        .group_by(KeeperIntent.vault)
    )
    return {
        address_of(vault): count for vault, count in session.execute(query) if vault is not None
    }


# Intents


def live_intents(
    session: Session,
    chain_id: int,
    *,
    of_requests: bool | None = None,
    purse: str = Purse.CUSTODY,
) -> list[Intent]:
    """Every intent that is not finished, oldest first; with `of_requests` those alone that requests
    of the outbox led to, and this purse pays for, or all that are no request's.
    """
    return list(map(_intent, session.scalars(_live(chain_id, of_requests, purse))))


@cache
def _live(chain_id: int, of_requests: bool | None, purse: str) -> Select[KeeperIntent]:
    query = select(KeeperIntent).where(KeeperIntent.chain_id == chain_id, LIVE)
    if of_requests is not None:
        own_keys = KeeperIntent.role.in_((OF_REQUESTS, OF_SPONSOR))
        is_of_requests = or_(KeeperIntent.outbox_id.is_not(None), own_keys)
        query = query.where(is_of_requests if of_requests else ~is_of_requests)
    if of_requests:
        is_sponsors = KeeperIntent.role == OF_SPONSOR
        query = query.where(is_sponsors if purse == Purse.SPONSOR else ~is_sponsors)
    return query.order_by(KeeperIntent.id)


def reverted_since(
    session: Session, intents: Collection[Intent], since: datetime
) -> dict[tuple[str, str], int]:
    """How many intents like these, planned since then, were mined without effect; by subject and
    kind, none is left out.
    """
    vaults = [bytes_of(intent.vault) for intent in intents if intent.vault is not None]
    query = (
        select(KeeperIntent.subject, KeeperIntent.kind, func.count())
        .where(or_(KeeperIntent.vault.in_(vaults), KeeperIntent.vault.is_(None)))
        .where(
            KeeperIntent.kind.in_({intent.kind for intent in intents}),
            KeeperIntent.subject.in_({intent.subject for intent in intents}),
        )
        .where(KeeperIntent.state == IntentState.REVERTED, KeeperIntent.created_at > since)
        .group_by(KeeperIntent.subject, KeeperIntent.kind)
    )
    return {(subject, kind): count for subject, kind, count in session.execute(query)}


def add_intent(
    session: WriteSession,
    intent: NewIntent,
    epoch: int,
    now: datetime,
    state: IntentState = IntentState.PLANNED,
) -> Intent | None:
    """Write a planned intent, or one that ends as it begins; None when one of this subject and kind
    is live already, or when the database refuses what it says (SQLSTATE 22, 23).
    """
    statement = (
        pg_insert(KeeperIntent)
        .values(
            **_columns(intent),
            decided_block=intent.trigger_block_number,
            state=state,
            epoch=epoch,
            created_at=now,
            updated_at=now,
        )
        .on_conflict_do_nothing(
            index_elements=[KeeperIntent.subject, KeeperIntent.kind], index_where=text(LIVE_STATES)
        )
        .returning(KeeperIntent)
    )
    try:
        with session.begin_nested():
            row = session.scalars(statement).one_or_none()
    except DBAPIError as error:
        if refused_state(error) is None:
            raise
        return None
    return None if row is None else _intent(row)


def move_intent(
    session: WriteSession, intent: Intent, was: IntentState, epoch: int, now: datetime
) -> bool:
    """Compare-and-set: the row becomes what `intent` says (a signer may have read newer numbers),
    if it is still in `was`.
    """
    statement = (
        update(KeeperIntent)
        .where(KeeperIntent.id == intent.id, KeeperIntent.state == was)
        .values(**_columns(intent), state=intent.state, epoch=epoch, updated_at=now)
        .returning(KeeperIntent.id)
    )
    return session.execute(statement).one_or_none() is not None


def _columns(intent: NewIntent) -> dict[str, Any]:
    return {
        "chain_id": intent.chain_id,
        "subject": intent.subject,
        "vault": None if intent.vault is None else bytes_of(intent.vault),
        "outbox_id": intent.outbox_id,
        "kind": intent.kind,
        "role": intent.role,
        "to": bytes_of(intent.to),
        "data": intent.data,
        "trigger_block_number": intent.trigger_block_number,
        "trigger_block_hash": bytes_of(intent.trigger_block_hash),
        "reason": intent.reason,
    }


def _intent(row: KeeperIntent) -> Intent:
    return Intent(
        id=row.id,
        chain_id=row.chain_id,
        subject=row.subject,
        vault=None if row.vault is None else address_of(row.vault),
        outbox_id=row.outbox_id,
        kind=row.kind,
        role=row.role,
        state=IntentState(row.state),
        to=address_of(row.to),
        data=row.data,
        trigger_block_number=row.trigger_block_number,
        trigger_block_hash=hex_of(row.trigger_block_hash),
        reason=row.reason,
        created_at=row.created_at,
    )


# Transactions


def attempts_of(session: Session, intent_ids: Collection[int]) -> list[Tx]:
    """Every signed attempt of these intents that was not given up, oldest first."""
    query = select(KeeperTx).where(
        KeeperTx.intent_id.in_(intent_ids), KeeperTx.state != TxState.LOST
    )
    return [_tx(row) for row in session.scalars(query.order_by(KeeperTx.id))]


def add_tx(session: WriteSession, tx: NewTx, now: datetime, state: TxState = TxState.SIGNED) -> Tx:
    """Store signed bytes; with BROADCAST what was sent already.

    Attempts of one nonce count from 1; a chain that went back may use a nonce again.
    """
    same_nonce = and_(KeeperTx.signer == bytes_of(tx.signer), KeeperTx.nonce == tx.nonce)
    attempt = (
        select(func.coalesce(func.max(KeeperTx.attempt), 0) + 1).where(same_nonce).scalar_subquery()
    )
    values = {
        "intent_id": tx.intent_id,
        "signer": bytes_of(tx.signer),
        "nonce": tx.nonce,
        "raw": tx.raw,
        "hash": bytes_of(tx.hash),
        "is_filler": tx.is_filler,
        "max_fee_wei": tx.max_fee_wei,
        "max_priority_fee_wei": tx.max_priority_fee_wei,
        "offered_block": tx.offered_block,
    }
    sent_at = now if state is TxState.BROADCAST else None
    statement = insert(KeeperTx).values(
        **values, attempt=attempt, state=state, first_sent_at=sent_at, created_at=now
    )
    return _tx(session.scalars(statement.returning(KeeperTx)).one())


def move_tx(
    session: WriteSession,
    tx: Tx,
    state: TxState,
    now: datetime,
    receipt: TransactionReceipt | None = None,
) -> None:
    """Set the state and the offered block of an attempt; the first move to `broadcast` is when it
    was first sent.

    `receipt`: of the block that it is mined in.
    """
    first_sent_at = (
        func.coalesce(KeeperTx.first_sent_at, now)
        if state is TxState.BROADCAST
        else KeeperTx.first_sent_at
    )
    values = {
        "state": state,
        "offered_block": tx.offered_block,
        "first_sent_at": first_sent_at,
        "mined_block": None if receipt is None else receipt.block_number,
        "mined_block_hash": None if receipt is None else bytes_of(receipt.block_hash),
        "cost_wei": None if receipt is None else receipt.cost_wei,
    }
    session.execute(update(KeeperTx).where(KeeperTx.id == tx.id).values(**values))


def _tx(row: KeeperTx) -> Tx:
    return Tx(
        id=row.id,
        intent_id=row.intent_id,
        signer=address_of(row.signer),
        nonce=row.nonce,
        raw=row.raw,
        hash=hex_of(row.hash),
        max_fee_wei=int(row.max_fee_wei),
        max_priority_fee_wei=int(row.max_priority_fee_wei),
        offered_block=row.offered_block,
        is_filler=row.is_filler,
        state=TxState(row.state),
        mined_block_hash=None if row.mined_block_hash is None else hex_of(row.mined_block_hash),
    )


def add_ended(
    session: WriteSession,
    chain_id: int,
    ended: Iterable[tuple[str, str]],
    block_number: int,
    now: datetime,
) -> None:
    """(vault, `stopped` or `settled`) as it is at a safe block: these are watched no more."""
    values = [
        {
            "chain_id": chain_id,
            "vault": bytes_of(vault),
            "status": status,
            "block_number": block_number,
            "at": now,
        }
        for vault, status in ended
    ]
    if not values:
        return
    statement = pg_insert(KeeperEnded)
    changed = {name: statement.excluded[name] for name in ("status", "block_number", "at")}
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[KeeperEnded.chain_id, KeeperEnded.vault], set_=changed
        ),
        values,
    )


def forget_ended(session: WriteSession, chain_id: int, vaults: Collection[str]) -> None:
    """These work after all, and are watched again."""
    session.execute(
        delete(KeeperEnded).where(
            KeeperEnded.chain_id == chain_id, KeeperEnded.vault.in_(map(bytes_of, vaults))
        )
    )
