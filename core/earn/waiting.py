"""Which approved work still waits to be paid, for those who show it."""

from collections.abc import Collection

from sqlalchemy import BigInteger, ScalarSelect, Text, any_, bindparam, cast, func, literal, select
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


def waiting_count(sources: Collection[Source]) -> ScalarSelect[int]:
    """How many awards of some accounts and of these sources are not wholly paid yet; for use within
    another query, which gives `account_ids`.
    """
    # looked up one by one: a join on a rare source would read the awards of everybody
    source = select(EarnAward.source).where(EarnAward.id == EarnQueue.award_id).scalar_subquery()
    return (
        select(func.count())
        .select_from(EarnQueue)
        .where(
            EarnQueue.account_id == any_(bindparam("account_ids", type_=ARRAY(BigInteger))),
            source == any_(literal([one.value for one in sources], ARRAY(Text))),
        )
        .scalar_subquery()
    )
