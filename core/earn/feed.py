"""The public ledger of work: rows are added by whoever does what they say, in its transaction."""

from collections.abc import Sequence
from dataclasses import asdict, fields

from sqlalchemy import BigInteger, Text, insert, select
from sqlalchemy.orm import Session

from core.db.arrays import table_of
from core.db.base import Timestamp
from core.db.engine import WriteSession
from core.earn.rules.feed import FeedKind, FeedRow
from core.earn.tables import EarnFeedRow

__all__ = ["FeedKind", "FeedRow", "note", "note_all", "rows_before", "rows_of"]

_NUMBERS = frozenset({"account_id", "tenths", "credits", "task_id", "room_id"})
_KINDS = {
    field.name: BigInteger()
    if field.name in _NUMBERS
    else Timestamp
    if field.name == "at"
    else Text()
    for field in fields(FeedRow)
}


def note(session: WriteSession, row: FeedRow) -> None:
    """Add one row."""
    session.execute(insert(EarnFeedRow).values(asdict(row)))


def note_all(session: WriteSession, rows: Sequence[FeedRow]) -> None:
    """Add rows, in their order."""
    if not rows:
        return
    columns = {name: (kind, [getattr(row, name) for row in rows]) for name, kind in _KINDS.items()}
    added = table_of("added", columns)
    cells = [added.c[name] for name in _KINDS]
    session.execute(insert(EarnFeedRow).from_select(list(_KINDS), select(*cells)))


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
