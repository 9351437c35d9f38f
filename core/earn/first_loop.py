"""One complete case of the public ledger: submitted, approved, paid."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from core.earn import feed
from core.earn.rules.feed import FeedKind
from core.earn.tables import EarnFeedRow

LOOKED_AT: Final = 200  # of the newest approvals, whatever came of them
ROWS: Final = 50
NOT_A_LOOP: Final = (FeedKind.MINE_REVERSED, FeedKind.WITHDRAWN)


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
    return [] if ref is None else feed.rows_of(session, ref, ROWS)
