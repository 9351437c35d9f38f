"""Standing, Bronze: three verified task claims. Nothing here commits."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import BigInteger, DateTime, Text, any_, cast, exists, literal, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from api.areas.earn import queries
from api.areas.earn.rules.payout import Source
from api.areas.earn.rules.points import STANDING_CLAIMS
from api.areas.earn.tables import EarnAward, EarnClaim, EarnReversal, EarnStanding
from core.db.arrays import table_of
from core.db.engine import WriteSession


def note_verified_claims(session: WriteSession, accounts: Mapping[str, int], now: datetime) -> None:
    """Count verified claims, each once; `accounts`: by ref. Who has standing by them is no new account
    any more: what that cap stopped today is looked at again.

    It takes the turn of payouts (api/areas/earn/ledger/awards.py).
    """
    if not accounts:
        return
    queries.take_turn(session)
    claims = table_of(
        "claims",
        {"ref": (Text(), list(accounts)), "account_id": (BigInteger(), list(accounts.values()))},
    )
    rows = select(claims.c.ref, claims.c.account_id, literal(now, DateTime(timezone=True)))
    added = insert(EarnClaim).from_select(["ref", "account_id", "verified_at"], rows)
    new = session.scalars(added.on_conflict_do_nothing().returning(EarnClaim.account_id))
    if not (counts := Counter(new)):
        return
    more = table_of(
        "more",
        {
            "account_id": (BigInteger(), list(counts)),
            "verified_claims": (BigInteger(), list(counts.values())),
        },
    )
    moved = insert(EarnStanding).from_select(
        ["account_id", "verified_claims"], select(more.c.account_id, more.c.verified_claims)
    )
    now_has = EarnStanding.verified_claims + moved.excluded.verified_claims
    counted = moved.on_conflict_do_update(
        index_elements=["account_id"], set_={"verified_claims": now_has}
    ).returning(EarnStanding.account_id, EarnStanding.verified_claims)
    has = {row.account_id: row.verified_claims for row in session.execute(counted)}
    risen = [id_ for id_, n in has.items() if n - counts[id_] < STANDING_CLAIMS <= n]
    queries.look_again(session, risen, now.date())


def take_back_verified_claims(session: WriteSession, refs: Collection[str], now: datetime) -> None:
    """Their verdicts were reversed: they no longer count."""
    some = EarnClaim.ref == any_(cast(list(refs), ARRAY(Text)))
    taken = update(EarnClaim).where(some, EarnClaim.taken_back_at.is_(None))
    rows = session.scalars(taken.values(taken_back_at=now).returning(EarnClaim.account_id))
    if not (counts := Counter(rows)):
        return
    fewer = table_of(
        "fewer",
        {"account_id": (BigInteger(), list(counts)), "n": (BigInteger(), list(counts.values()))},
    )
    session.execute(
        update(EarnStanding)
        .where(EarnStanding.account_id == fewer.c.account_id)
        .values(verified_claims=EarnStanding.verified_claims - fewer.c.n)
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
    """Whether a mining submission of the account was approved, and the approval holds."""
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
