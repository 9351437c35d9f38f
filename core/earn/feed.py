"""The public ledger of work: rows are added by whoever does what they say, in its transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.earn.rules.feed import FeedKind, FeedRow
from core.earn.tables import EarnFeedRow

__all__ = ["FeedKind", "FeedRow", "note", "note_all", "rows_before", "rows_of"]


def note(session: WriteSession, row: FeedRow) -> None:
    """Add one row."""
    session.execute(insert(EarnFeedRow).values(asdict(row)))


def note_all(session: WriteSession, rows: Iterable[FeedRow]) -> None:
    """Add rows, in their order."""
    new = [asdict(row) for row in rows]
    if new:
        session.execute(insert(EarnFeedRow), new)


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
