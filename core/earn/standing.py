"""Standing, Bronze: three verified task claims. Nothing here commits."""

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import BigInteger, any_, cast, exists, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.earn import queries
from core.earn.rules.payout import Source
from core.earn.rules.points import STANDING_CLAIMS
from core.earn.tables import EarnAward, EarnClaim, EarnReversal, EarnStanding


def note_verified_claim(session: WriteSession, account_id: int, ref: str, now: datetime) -> None:
    """Count a verified claim, once. Who has standing by it is no new account any more: what that
    cap stopped today is looked at again.

    It takes the turn of payouts (core/earn/ledger/awards.py).
    """
    queries.take_turn(session)
    claim = insert(EarnClaim).values(ref=ref, account_id=account_id, verified_at=now)
    is_new = session.scalar(claim.on_conflict_do_nothing().returning(EarnClaim.account_id))
    if is_new is None:
        return
    first = insert(EarnStanding).values(account_id=account_id, verified_claims=1)
    counted = first.on_conflict_do_update(
        index_elements=["account_id"],
        set_={"verified_claims": EarnStanding.verified_claims + 1},
    )
    if session.scalar(counted.returning(EarnStanding.verified_claims)) == STANDING_CLAIMS:
        queries.look_again(session, account_id, now.date())


def take_back_verified_claim(session: WriteSession, ref: str, now: datetime) -> None:
    """Its verdict was reversed: it no longer counts."""
    claim = update(EarnClaim).where(EarnClaim.ref == ref, EarnClaim.taken_back_at.is_(None))
    account_id = session.scalar(claim.values(taken_back_at=now).returning(EarnClaim.account_id))
    if account_id is not None:
        session.execute(
            update(EarnStanding)
            .where(EarnStanding.account_id == account_id)
            .values(verified_claims=EarnStanding.verified_claims - 1)
        )


def verified_claims(session: Session, account_ids: Collection[int]) -> Mapping[int, int]:
    """By account, zero included."""
    wanted = any_(cast(list(account_ids), ARRAY(BigInteger)))
    found = select(EarnStanding.account_id, EarnStanding.verified_claims).where(
        EarnStanding.account_id == wanted
    )
    counted = {row.account_id: row.verified_claims for row in session.execute(found)}
    return dict.fromkeys(account_ids, 0) | counted


def has_standing(session: Session, account_id: int) -> bool:
    return verified_claims(session, [account_id])[account_id] >= STANDING_CLAIMS


def has_contribution(session: Session, account_id: int) -> bool:
    """Whether a mining submission of the account was approved, and the approval stands."""
    approved = (
        select(EarnAward.id)
        .where(
            EarnAward.account_id == account_id,
            EarnAward.source == Source.MINING,
            EarnAward.kind == "award",
        )
        .where(~exists().where(EarnReversal.award_id == EarnAward.id))
    )
    return bool(session.scalar(select(approved.exists())))
