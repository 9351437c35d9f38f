"""The public ledger of work: rows are added by whoever does what they say, in its transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final

from sqlalchemy import exists, insert, select
from sqlalchemy.orm import Session, aliased

from api.areas.earn.rules.feed import FeedKind, FeedRow
from api.areas.earn.tables import EarnFeedRow
from core.db.engine import WriteSession

__all__ = ["FeedKind", "FeedRow", "newest_loop", "note", "note_all", "rows_before", "rows_of"]

LOOKED_AT: Final = 200  # of the newest approvals, whatever came of them
ROWS: Final = 50  # of a case
NOT_A_LOOP: Final = (FeedKind.MINE_REVERSED, FeedKind.WITHDRAWN)


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


def newest_loop(session: Session) -> Sequence[EarnFeedRow]:
    """The rows of the newest case that was submitted, approved and paid, and not taken back; none:
    there is no such case.
    """
    other = aliased(EarnFeedRow)
    newest = (
        select(EarnFeedRow.id, EarnFeedRow.ref)
        .where(EarnFeedRow.kind == FeedKind.MINE_APPROVED)
        .order_by(EarnFeedRow.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    same_case = other.ref == newest.c.ref
    is_whole = [
        exists().where(same_case, other.kind == kind)
        for kind in (FeedKind.MINE_SUBMIT, FeedKind.PAID)
    ]
    is_back = exists().where(same_case, other.kind.in_(NOT_A_LOOP))
    query = select(newest.c.ref).where(*is_whole, ~is_back).order_by(newest.c.id.desc()).limit(1)
    ref = session.scalar(query)
    return [] if ref is None else rows_of(session, ref, ROWS)
