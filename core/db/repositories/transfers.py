"""All SQL of transfer reports but the books'. Nothing here commits; hashes are 0x lower-case hex outside, bytes inside."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Text, any_, cast, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.repositories.chain import bytes_of, hex_of
from core.db.repositories.identity import address_text
from core.db.tables.identity import Account
from core.db.tables.transfers import TransferReport
from core.domain.transfers import Direction, Failure, State

OPEN = (State.REPORTED.value, State.SEEN.value)
WEIGHED = 10


def add_report(session: WriteSession, tx_hash: str, **values: Any) -> TransferReport | None:
    """None: another report has the transaction. Waits for a report of the same one that is not committed yet."""
    statement = insert(TransferReport).values(tx_hash=bytes_of(tx_hash), **values).on_conflict_do_nothing().returning(TransferReport)
    return session.scalar(statement)


def find_report(session: Session, chain_id: int, tx_hash: str) -> TransferReport | None:
    """The report that has the transaction."""
    mine = (TransferReport.chain_id == chain_id, TransferReport.tx_hash == bytes_of(tx_hash))
    return session.scalar(select(TransferReport).where(*mine, TransferReport.failure.is_distinct_from(Failure.CONTRADICTED.value)))


def tellers_of(session: Session, chain_id: int, tx_hashes: Collection[str]) -> set[tuple[int, str]]:
    """(account, transaction) of the reports of money in that tell of these transactions: neither contradicted nor closed."""
    wanted = cast([bytes_of(one) for one in tx_hashes], ARRAY(BYTEA))
    query = (
        select(TransferReport.account_id, TransferReport.tx_hash)
        .where(TransferReport.chain_id == chain_id, TransferReport.tx_hash == any_(wanted))
        .where(TransferReport.direction == Direction.IN.value, TransferReport.failure.is_distinct_from(Failure.CONTRADICTED.value))
        .where(or_(TransferReport.state != State.FAILED.value, TransferReport.next_look_at.is_not(None)))
    )
    return {(account_id, hex_of(tx_hash)) for account_id, tx_hash in session.execute(query)} if tx_hashes else set()


def reports_of(session: Session, account_id: int) -> list[TransferReport]:
    """Every report of an account, oldest first."""
    return list(session.scalars(select(TransferReport).where(TransferReport.account_id == account_id).order_by(TransferReport.id)))


def lock_waiting_reports(session: WriteSession, account_id: int, failures: Collection[str]) -> list[TransferReport]:
    """Reports of an account that failed so and may still come back, oldest first, held until the transaction ends.

    One that the deposit watcher holds is left out: it takes the report first and the book then, the caller the book first.
    """
    mine = (TransferReport.account_id == account_id, TransferReport.next_look_at.is_not(None))
    query = select(TransferReport).where(*mine, TransferReport.failure.in_(failures))
    held = query.order_by(TransferReport.id).with_for_update(skip_locked=True)
    return list(session.scalars(held.execution_options(populate_existing=True)))


def open_deadlines(session: Session, account_id: int) -> list[datetime]:
    """Until when each report of an account that is neither confirmed nor failed may wait for the chain, the soonest first."""
    mine = (TransferReport.account_id == account_id, TransferReport.next_look_at.is_not(None), TransferReport.state.in_(OPEN))
    return list(session.scalars(select(TransferReport.deadline_at).where(*mine).order_by(TransferReport.deadline_at)))


def due_reports(session: Session, chain_id: int, now: datetime, limit: int) -> list[tuple[TransferReport, str | None]]:
    """At most `limit` reports to look at by now, each with its agent's linked wallet (None: none is linked).

    They come in two orders that take turns, so that neither many reports nor large ones keep the others waiting: the longest due first; and
    the largest amount first, of one owner or network address one before the second of anybody. The longest due are weighed, some
    times `limit`.
    """
    due = (TransferReport.chain_id == chain_id, TransferReport.next_look_at <= now)
    longest = select(TransferReport.id).where(*due).order_by(TransferReport.next_look_at, TransferReport.id).limit(limit * WEIGHED)
    person = func.coalesce("owner:" + cast(Account.owner_id, Text), Account.registered_from, "account:" + cast(Account.id, Text))
    turn = func.row_number().over(partition_by=person, order_by=(TransferReport.amount_e6.desc(), TransferReport.id))
    weighed = (
        select(TransferReport.id, TransferReport.amount_e6, TransferReport.next_look_at, Account.wallet_address, turn.label("turn"))
        .join(Account, Account.id == TransferReport.account_id)
        .where(TransferReport.id.in_(longest))
        .subquery()
    )
    age = (weighed.c.next_look_at, weighed.c.id)
    ranked = select(
        weighed.c.id,
        weighed.c.wallet_address,
        func.row_number().over(order_by=age).label("by_age"),
        func.row_number().over(order_by=(weighed.c.turn, weighed.c.amount_e6.desc(), *age)).label("by_amount"),
    ).subquery()
    query = (
        select(TransferReport, ranked.c.wallet_address)
        .join(ranked, ranked.c.id == TransferReport.id)
        .order_by(func.least(ranked.c.by_age, ranked.c.by_amount), ranked.c.by_age)
        .limit(limit)
    )
    return [(report, address_text(wallet)) for report, wallet in session.execute(query)]


def lock_report(session: WriteSession, report_id: int) -> TransferReport:
    """The row, held until the transaction ends. Errors: sqlalchemy.exc.NoResultFound."""
    query = select(TransferReport).where(TransferReport.id == report_id).with_for_update().execution_options(populate_existing=True)
    return session.scalars(query).one()


def lock_reports_in_blocks(session: WriteSession, chain_id: int, block_hashes: Collection[str]) -> list[TransferReport]:
    """Seen and confirmed reports that stand in those blocks, by rising account, so that two writers can't deadlock."""
    query = (
        select(TransferReport)
        .where(TransferReport.chain_id == chain_id, TransferReport.block_hash.in_([bytes_of(one) for one in block_hashes]))
        .where(TransferReport.state.in_([State.SEEN.value, State.CONFIRMED.value]))
        .order_by(TransferReport.account_id, TransferReport.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query)) if block_hashes else []
