"""Which approved work is not paid, for those who show it: it waits, or was cancelled."""

from collections.abc import Collection

from sqlalchemy import (
    BigInteger,
    ScalarSelect,
    Text,
    any_,
    bindparam,
    cast,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from api.areas.earn.rules.payout import Source
from api.areas.earn.tables import EarnAward, EarnCancellation, EarnQueue, EarnReversal


def unpaid_of(session: Session, refs: Collection[str]) -> frozenset[str]:
    """Those of the refs whose awards are not wholly paid."""
    if not refs:
        return frozenset()
    query = (
        select(EarnAward.ref)
        .outerjoin(EarnQueue, EarnQueue.award_id == EarnAward.id)
        .outerjoin(EarnCancellation, EarnCancellation.award_id == EarnAward.id)
        .where(
            EarnAward.ref == any_(cast(list(refs), ARRAY(Text))),
            or_(EarnQueue.award_id.is_not(None), EarnCancellation.award_id.is_not(None)),
        )
    )
    return frozenset(session.scalars(query))


def unpaid_count(sources: Collection[Source]) -> ScalarSelect[int]:
    """How many awards of some accounts and of these sources stand and are not wholly paid; for use
    within another query, which gives `account_ids`.
    """
    mine = any_(bindparam("account_ids", type_=ARRAY(BigInteger)))
    # looked up one by one: a join on a rare source would read the awards of everybody
    source = select(EarnAward.source).where(EarnAward.id == EarnQueue.award_id).scalar_subquery()
    some = any_(literal([one.value for one in sources], ARRAY(Text)))
    waits = select(EarnQueue.award_id).where(EarnQueue.account_id == mine, source == some)
    cancelled = (
        select(EarnCancellation.award_id)
        .join(EarnAward, EarnAward.id == EarnCancellation.award_id)
        .outerjoin(EarnReversal, EarnReversal.award_id == EarnAward.id)
        .where(EarnCancellation.account_id == mine, EarnAward.source == some)
        .where(EarnReversal.id.is_(None))
    )
    unpaid = waits.union_all(cancelled).subquery()
    return select(func.count()).select_from(unpaid).scalar_subquery()
