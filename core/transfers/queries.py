"""All SQL of transfer reports but the ledgers'.

Nothing here commits; hashes are 0x lower-case hex outside, bytes inside.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import any_, cast, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.transfers.rules import Direction, Failure, State
from core.transfers.tables import TransferReport

OPEN = (State.REPORTED.value, State.SEEN.value)
WEIGHED = 10


def add_report(session: WriteSession, tx_hash: str, **values: Any) -> TransferReport | None:
    """None: another report has the transaction.

    Waits for a report of the same one that is not committed yet.
    """
    statement = (
        insert(TransferReport)
        .values(tx_hash=bytes_of(tx_hash), **values)
        .on_conflict_do_nothing()
        .returning(TransferReport)
    )
    return session.scalar(statement)


def find_report(session: Session, chain_id: int, tx_hash: str) -> TransferReport | None:
    """The report that has the transaction."""
    mine = (TransferReport.chain_id == chain_id, TransferReport.tx_hash == bytes_of(tx_hash))
    return session.scalar(
        select(TransferReport).where(
            *mine, TransferReport.failure.is_distinct_from(Failure.CONTRADICTED.value)
        )
    )


def tellers_of(session: Session, chain_id: int, tx_hashes: Collection[str]) -> set[tuple[int, str]]:
    """(account, transaction) of the reports of money in that name these transactions: neither
    contradicted nor closed.
    """
    wanted = cast([bytes_of(one) for one in tx_hashes], ARRAY(BYTEA))
    query = (
        select(TransferReport.account_id, TransferReport.tx_hash)
        .where(TransferReport.chain_id == chain_id, TransferReport.tx_hash == any_(wanted))
        .where(
            TransferReport.direction == Direction.IN.value,
            TransferReport.failure.is_distinct_from(Failure.CONTRADICTED.value),
        )
        .where(
            or_(
                TransferReport.state != State.FAILED.value, TransferReport.next_look_at.is_not(None)
            )
        )
    )
    return (
        {(account_id, hex_of(tx_hash)) for account_id, tx_hash in session.execute(query)}
        if tx_hashes
        else set()
    )


def reports_of(session: Session, account_id: int) -> list[TransferReport]:
    """Every report of an account, oldest first."""
    return list(
        session.scalars(
            select(TransferReport)
            .where(TransferReport.account_id == account_id)
            .order_by(TransferReport.id)
        )
    )


def lock_waiting_reports(
    session: WriteSession, account_id: int, failures: Collection[str]
) -> list[TransferReport]:
    """Reports of an account that failed so and may still come back, oldest first, held until the
    transaction ends.

    One that the deposit watcher holds is left out: it takes the report first and the ledger then,
    the caller the ledger first.
    """
    mine = (TransferReport.account_id == account_id, TransferReport.next_look_at.is_not(None))
    query = select(TransferReport).where(*mine, TransferReport.failure.in_(failures))
    held = query.order_by(TransferReport.id).with_for_update(skip_locked=True)
    return list(session.scalars(held.execution_options(populate_existing=True)))


def open_deadlines(session: Session, account_id: int) -> list[datetime]:
    """Until when each report of an account that is neither confirmed nor failed may wait for the
    chain, the soonest first.
    """
    mine = (
        TransferReport.account_id == account_id,
        TransferReport.next_look_at.is_not(None),
        TransferReport.state.in_(OPEN),
    )
    return list(
        session.scalars(
            select(TransferReport.deadline_at).where(*mine).order_by(TransferReport.deadline_at)
        )
    )


def lock_report(session: WriteSession, report_id: int) -> TransferReport:
    """The row, held until the transaction ends. Errors: sqlalchemy.exc.NoResultFound."""
    query = (
        select(TransferReport)
        .where(TransferReport.id == report_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).one()


def lock_reports_in_blocks(
    session: WriteSession, chain_id: int, block_hashes: Collection[str]
) -> list[TransferReport]:
    """Seen and confirmed reports that stand in those blocks, by rising account, so that two writers
    can't deadlock.
    """
    query = (
        select(TransferReport)
        .where(
            TransferReport.chain_id == chain_id,
            TransferReport.block_hash.in_([bytes_of(one) for one in block_hashes]),
        )
        .where(TransferReport.state.in_([State.SEEN.value, State.CONFIRMED.value]))
        .order_by(TransferReport.account_id, TransferReport.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query)) if block_hashes else []
