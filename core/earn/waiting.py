"""Which approved work still waits to be paid, for those who show it."""

from collections.abc import Collection

from sqlalchemy import BigInteger, Text, any_, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.earn.rules.payout import Source
from core.earn.tables import EarnAward, EarnQueue


def waiting_of(session: Session, refs: Collection[str]) -> frozenset[str]:
    """Those of the refs whose awards are not wholly paid yet."""
    if not refs:
        return frozenset()
    query = (
        select(EarnAward.ref)
        .join(EarnQueue, EarnQueue.award_id == EarnAward.id)
        .where(EarnAward.ref == any_(cast(list(refs), ARRAY(Text))))
    )
    return frozenset(session.scalars(query))


def count_waiting(
    session: Session, account_ids: Collection[int], sources: Collection[Source]
) -> int:
    """How many awards of these accounts and sources are not wholly paid yet."""
    # looked up one by one: a join on a rare source would read the awards of everybody
    source = select(EarnAward.source).where(EarnAward.id == EarnQueue.award_id).scalar_subquery()
    query = (
        select(func.count())
        .select_from(EarnQueue)
        .where(
            EarnQueue.account_id == any_(cast(list(account_ids), ARRAY(BigInteger))),
            source.in_(list(sources)),
        )
    )
    return session.scalar(query) or 0
