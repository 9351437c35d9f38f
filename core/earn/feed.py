"""The public ledger of work: rows are added by whoever does what they say, in its transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Final

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from core.db.copying import copy_lines, number_cell, text_cell, time_cell
from core.db.engine import WriteSession
from core.earn.rules.feed import FeedKind, FeedRow
from core.earn.tables import EarnFeedRow

__all__ = ["FeedKind", "FeedRow", "note", "note_all", "rows_before", "rows_of"]

COLUMNS: Final = tuple(field.name for field in fields(FeedRow))


def note(session: WriteSession, row: FeedRow) -> None:
    """Add one row."""
    session.execute(insert(EarnFeedRow).values(asdict(row)))


def note_all(session: WriteSession, rows: Iterable[FeedRow]) -> None:
    """Add rows, in their order."""
    copy_lines(session, EarnFeedRow.__tablename__, COLUMNS, map(_line, rows))


def _line(row: FeedRow) -> str:
    """The cells of COLUMNS."""
    return "\t".join(_cell(getattr(row, name)) for name in COLUMNS)


def _cell(value: str | int | datetime | None) -> str:
    if isinstance(value, str):
        return text_cell(value)
    return time_cell(value) if isinstance(value, datetime) else number_cell(value)


def rows_before(
    session: Session,
    before: int | None,
    limit: int,
    kind: FeedKind | None = None,
    account_id: int | None = None,
) -> Sequence[EarnFeedRow]:
    """Newest first, below the id `before`; None starts at the newest."""
    query = select(EarnFeedRow)
    if before is not None:
        query = query.where(EarnFeedRow.id < before)
    if kind is not None:
        query = query.where(EarnFeedRow.kind == kind)
    if account_id is not None:
        query = query.where(EarnFeedRow.account_id == account_id)
    return session.scalars(query.order_by(EarnFeedRow.id.desc()).limit(limit)).all()


def rows_of(session: Session, ref: str, limit: int) -> Sequence[EarnFeedRow]:
    """The first rows of a case, oldest first."""
    query = select(EarnFeedRow).where(EarnFeedRow.ref == ref).order_by(EarnFeedRow.id)
    return session.scalars(query.limit(limit)).all()
