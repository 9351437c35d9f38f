"""Claims of the community about tokens: made, decided on, read. Nothing here commits.

Law: whoever has published claims to show gets at most VERIFIED_SHOWN verified and UNVERIFIED_SHOWN
unverified ones of a token, and of the unverified ones one of a group (docs/payouts.md#groups): nobody
fills a note alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Text, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from api.areas.claims.rules.claims import (
    UNVERIFIED_SHOWN,
    VERIFIED_SHOWN,
    ClaimKind,
    ClaimState,
    ClaimStateError,
    ClaimsUsedUpError,
    OpenClaimsUsedUpError,
    SameClaimError,
    same_words,
)
from api.areas.claims.tables import IS_PUBLISHED, IS_WAITING, KgClaim, KgClaimVerdict
from core.db import locks
from core.db.bounded import count_up_to
from core.db.engine import WriteSession
from core.db.locks import LockClass
from core.times import start_of_day

_NEWEST_LOOKED_AT = 200
# As SQL, of the ticker asked.token: the newest verified ones, and of the newest others the newest of each group.
SHOWN: Final = f"""
    (select * from kg_claim where token = asked.token and state = '{ClaimState.VERIFIED}'
     order by id desc limit {VERIFIED_SHOWN})
    union all
    (select * from (
        select distinct on (coalesce(counted_as, person)) * from (
            select * from kg_claim where token = asked.token and state = '{ClaimState.UNVERIFIED}'
            order by id desc limit {_NEWEST_LOOKED_AT}
        ) newest order by coalesce(counted_as, person), id desc
     ) one_of_each order by id desc limit {UNVERIFIED_SHOWN})
"""  # noqa: S608 (of constants alone)


@dataclass(frozen=True, slots=True)
class TokenClaimant:
    """`person`: an owner with all agents, or an agent without one; `groups`: what it shares with
    others (api/areas/earn/rules/groups.py).
    """

    agent_id: int
    person: str
    groups: frozenset[str]
    is_owned: bool


@dataclass(frozen=True, slots=True)
class SentClaim:
    """Checked by the rules: api/areas/claims/rules/claims.py."""

    token: str
    kind: ClaimKind
    claim: str
    source_url: str


def page(session: Session, token: str | None, before: int | None, limit: int) -> Sequence[KgClaim]:
    """The newest first; `before`: an id, exclusive; `token` None: of all."""
    query = select(KgClaim).where(IS_PUBLISHED)
    if token is not None:
        query = query.where(KgClaim.token == token)
    if before is not None:
        query = query.where(KgClaim.id < before)
    return session.scalars(query.order_by(KgClaim.id.desc()).limit(limit)).all()


def waiting(session: Session, after: int, limit: int) -> Sequence[KgClaim]:
    """Unverified ones, the oldest first; `after`: an id, exclusive."""
    query = select(KgClaim).where(IS_WAITING, KgClaim.id > after)
    return session.scalars(query.order_by(KgClaim.id).limit(limit)).all()


def add(
    session: WriteSession,
    by: TokenClaimant,
    sent: SentClaim,
    most_a_day: int,
    now: datetime,
    most_waiting: int | None = None,
) -> KgClaim:
    """`most_waiting`: claims of the group that wait for a verdict; None: as many as there are.

    Errors: ClaimsUsedUpError, OpenClaimsUsedUpError, SameClaimError.
    """
    words = same_words(sent.claim)
    for key in sorted({by.person} | by.groups):
        locks.named(LockClass.CLAIM, (key,)).wait(session)
    locks.named(LockClass.CLAIM, (sent.token, words)).wait(session)
    today = select(KgClaim.id).where(
        KgClaim.person == by.person, KgClaim.made_at >= start_of_day(now)
    )
    if count_up_to(session, today, most_a_day) >= most_a_day:
        raise ClaimsUsedUpError(most_a_day, is_owned=by.is_owned)
    if most_waiting is not None:
        of_group = KgClaim.groups.op("&&")(cast(list(by.groups), ARRAY(Text)))
        waiting_ones = select(KgClaim.id).where(IS_WAITING, of_group)
        if count_up_to(session, waiting_ones, most_waiting) >= most_waiting:
            raise OpenClaimsUsedUpError(most_waiting)
    same = session.scalar(
        select(KgClaim.id).where(IS_PUBLISHED, KgClaim.token == sent.token, KgClaim.words == words)
    )
    if same is not None:
        raise SameClaimError(same)
    rejected = session.scalar(
        select(KgClaim.id).where(
            KgClaim.person == by.person, KgClaim.token == sent.token, KgClaim.words == words
        )
    )
    if rejected is not None:
        raise SameClaimError(rejected, is_rejected=True)
    row = KgClaim(
        token=sent.token,
        kind=sent.kind.value,
        claim=sent.claim,
        words=words,
        source_url=sent.source_url,
        agent_id=by.agent_id,
        person=by.person,
        groups=sorted(by.groups),
        counted_as=_counted_as(session, by, sent.token),
        state=ClaimState.UNVERIFIED.value,
        made_at=now,
    )
    session.add(row)
    session.flush()
    return row


def _counted_as(session: Session, by: TokenClaimant, token: str) -> str | None:
    """As the newest unverified claim of somebody of the group counts, of those that may be shown; None:
    there is none.
    """
    newest = (
        select(
            KgClaim.id,
            KgClaim.groups,
            func.coalesce(KgClaim.counted_as, KgClaim.person).label("whose"),
        )
        .where(KgClaim.token == token, KgClaim.state == ClaimState.UNVERIFIED.value)
        .order_by(KgClaim.id.desc())
        .limit(_NEWEST_LOOKED_AT)
        .subquery()
    )
    shares = newest.c.groups.op("&&")(cast(list(by.groups), ARRAY(Text)))
    query = select(newest.c.whose).where(shares).order_by(newest.c.id.desc()).limit(1)
    return session.scalar(query)


def held(session: WriteSession, claim_id: int) -> KgClaim | None:
    """The claim, held until the transaction ends."""
    return session.scalar(select(KgClaim).where(KgClaim.id == claim_id).with_for_update())


def decide(
    session: WriteSession,
    claim: KgClaim,
    verdict: ClaimState,
    operator_id: int,
    note: str | None,
    now: datetime,
) -> None:
    """`claim` is held. Errors: ClaimStateError, SameClaimError (a rejected one that somebody made
    again meanwhile).
    """
    if claim.state == verdict:
        raise ClaimStateError(claim.id, verdict)
    if claim.state == ClaimState.REJECTED.value:
        locks.named(LockClass.CLAIM, (claim.token, claim.words)).wait(session)
        same = session.scalar(
            select(KgClaim.id).where(
                IS_PUBLISHED, KgClaim.token == claim.token, KgClaim.words == claim.words
            )
        )
        if same is not None:
            raise SameClaimError(same)
    claim.state, claim.decided_at = verdict.value, now
    session.add(
        KgClaimVerdict(
            claim_id=claim.id, verdict=verdict.value, operator_id=operator_id, note=note, at=now
        )
    )
    session.flush()
