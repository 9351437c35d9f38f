"""An account's own approved work: what became of each award, and what each waits for."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from sqlalchemy import BigInteger, Text, and_, any_, bindparam, cast, func, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session
from sqlalchemy.sql.selectable import LateralFromClause, TableValuedAlias

from api.areas.earn import queries
from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.rules.payout import (
    Cap,
    CapKind,
    Item,
    Payee,
    PayoutLimits,
    Source,
    Wait,
    budget_of,
    caps_of,
    waits_of,
)
from api.areas.earn.tables import EarnAward, EarnCancellation, EarnFeedRow, EarnQueue, EarnReversal
from api.areas.earn.views import people
from core.db.arrays import table_of

_CANCELLED: Final = func.coalesce(EarnCancellation.credits, 0)
EVERYTHING: Final = 10**15
PLACES: Final = 10_000  # of the queue are counted; whoever is behind them has no number


@dataclass(frozen=True, slots=True)
class Payout:
    """An award as it is now. `left_credits` and `not_before` (a UTC day) of what waits;
    `cancelled_credits`: what left the queue since the award was its own person's.
    """

    award: EarnAward
    left_credits: int
    not_before: date | None
    withdrawn_credits: int | None  # None: it was not reversed
    cancelled_credits: int

    @property
    def paid_credits(self) -> int:
        """What it repaid included."""
        gone = self.cancelled_credits + (self.withdrawn_credits or 0)
        return self.award.credits - self.left_credits - gone


@dataclass(frozen=True, slots=True)
class Waiting:
    """`place`: in the queue, 1 is the first; None: behind PLACES others. `cap`: what it waits for;
    None: it is paid at the next look. `earliest`: the UTC day on which its first credit can be
    paid, if nobody else takes of the caps; None: its cap is 0.
    """

    place: int | None
    cap: CapKind | None
    earliest: date | None


@dataclass(frozen=True, slots=True)
class Earnings:
    """Credits of awards that stand, without what was cancelled of them, and what still waits."""

    tenths: int = 0
    credits: int = 0
    queued: int = 0
    queued_credits: int = 0


def payouts_before(
    session: Session,
    account_ids: Collection[int],
    before: int | None,
    limit: int,
    *,
    queued_only: bool,
) -> list[Payout]:
    """Newest first, below the award's id `before`; None starts at the newest."""
    mine = table_of("mine", {"account_id": (BigInteger(), list(account_ids))})
    newest = _newest(mine, before, limit, queued_only=queued_only)
    query = (
        select(
            EarnAward,
            func.coalesce(EarnQueue.left_credits, 0),
            EarnQueue.not_before,
            EarnReversal.withdrawn_credits,
            _CANCELLED,
        )
        .select_from(mine)
        .join(newest, true())
        .join(EarnAward, EarnAward.id == newest.c.award_id)
        .outerjoin(EarnQueue, EarnQueue.award_id == EarnAward.id)
        .outerjoin(EarnReversal, EarnReversal.award_id == EarnAward.id)
        .outerjoin(EarnCancellation, EarnCancellation.award_id == EarnAward.id)
        .order_by(EarnAward.id.desc())
        .limit(limit)
    )
    return [Payout(*row) for row in session.execute(query)]


def _newest(
    mine: TableValuedAlias, before: int | None, limit: int, *, queued_only: bool
) -> LateralFromClause:
    """Of each account its own page, out of an index that has them in this order: what a page of all
    of them costs does not grow with what they ever earned.
    """
    if queued_only:
        award_id, is_its = EarnQueue.award_id, EarnQueue.account_id == mine.c.account_id
    else:
        award_id = EarnAward.id
        is_its = and_(EarnAward.account_id == mine.c.account_id, EarnAward.kind == "award")
    query = select(award_id.label("award_id")).where(is_its)
    if before is not None:
        query = query.where(award_id < before)
    return query.order_by(award_id.desc()).limit(limit).correlate(mine).lateral("newest")


def waiting_of(
    session: Session, payouts: Sequence[Payout], limits: PayoutLimits, today: date
) -> dict[int, Waiting]:
    """By award, of those of one page (as `payouts_before` answers it) that wait."""
    items = defaultdict[int, list[Item]](list)
    for one in reversed(payouts):
        if one.left_credits:
            of = one.award
            item = Item(of.id, of.account_id, of.source == Source.ROOM, one.left_credits)
            items[of.account_id].append(item)
    if not items:
        return {}
    not_before = {one.award.id: one.not_before for one in payouts}
    places = _places(session, [item.award_id for some in items.values() for item in some])
    waits = _waits(session, items, limits, today)
    return {
        award_id: Waiting(
            places.get(award_id), wait.cap, _earliest(wait, not_before[award_id], today)
        )
        for award_id, wait in waits.items()
    }


def repaid_of(session: Session, refs: Collection[str]) -> dict[str, int]:
    """By the ref of an award what of it repaid debts, of its account or of others of its group."""
    query = (
        select(EarnFeedRow.ref, func.sum(EarnFeedRow.credits))
        .where(
            EarnFeedRow.ref == any_(cast(list(refs), ARRAY(Text))),
            EarnFeedRow.kind == FeedKind.REPAID,
        )
        .group_by(EarnFeedRow.ref)
    )
    return {ref: int(repaid or 0) for ref, repaid in session.execute(query)}


def owed_by_groups(session: Session, account_ids: Collection[int]) -> dict[int, int]:
    """By account what others of its group owe, which its earnings repay after its own debts."""
    payees = people.payees_of(session, account_ids)
    keys = {key for one in payees.values() for key in one.own_keys}
    by_key = people.group_debts(session, keys, EVERYTHING)
    owed = dict[int, int]()
    for id_, payee in payees.items():
        debtors = {debtor: left for key in payee.own_keys for debtor, left in by_key[key].items()}
        owed[id_] = sum(left for debtor, left in debtors.items() if debtor != id_)
    return owed


def earnings_of(session: Session, account_ids: Collection[int]) -> dict[int, Earnings]:
    """By account; of one without awards zeros."""
    rows = session.execute(_EARNED, {"account_ids": list(account_ids)}).all()
    found = {row[0]: Earnings(*map(int, row[1:])) for row in rows}
    return {account_id: found.get(account_id, Earnings()) for account_id in account_ids}


_EARNED: Final = (
    select(
        EarnAward.account_id,
        func.sum(EarnAward.tenths),
        func.sum(EarnAward.credits - _CANCELLED),
        func.count(EarnQueue.award_id),
        func.coalesce(func.sum(EarnQueue.left_credits), 0),
    )
    .outerjoin(EarnQueue, EarnQueue.award_id == EarnAward.id)
    .outerjoin(EarnReversal, EarnReversal.award_id == EarnAward.id)
    .outerjoin(EarnCancellation, EarnCancellation.award_id == EarnAward.id)
    .where(
        EarnAward.account_id == any_(bindparam("account_ids", type_=ARRAY(BigInteger))),
        EarnAward.kind == "award",
        EarnReversal.id.is_(None),
    )
    .group_by(EarnAward.account_id)
)


def caps_today(
    session: Session, payees: Mapping[int, Payee], limits: PayoutLimits, today: date
) -> dict[int, list[tuple[Cap, int]]]:
    """By account its caps, the Rooms' included, each with what is left of it today."""
    caps = {id_: caps_of(payee, is_room=True, limits=limits) for id_, payee in payees.items()}
    names = {cap.name for some in caps.values() for cap in some}
    used = queries.used_on(session, today, names)
    return {id_: [(cap, cap.room(used)) for cap in some] for id_, some in caps.items()}


def _places(session: Session, award_ids: Collection[int]) -> dict[int, int]:
    """Among the first PLACES of the queue: what it costs does not grow with the rest."""
    first = select(EarnQueue.award_id).order_by(EarnQueue.award_id).limit(PLACES).subquery()
    place = func.row_number().over(order_by=first.c.award_id).label("place")
    numbered = select(first.c.award_id, place).subquery()
    wanted = any_(cast(list(award_ids), ARRAY(BigInteger)))
    query = select(numbered.c.award_id, numbered.c.place).where(numbered.c.award_id == wanted)
    return {row.award_id: row.place for row in session.execute(query)}


def _waits(
    session: Session, items: Mapping[int, Sequence[Item]], limits: PayoutLimits, today: date
) -> dict[int, Wait]:
    payees = people.payees_of(session, items, limits.shared_funders)
    names = {budget_of(limits).name} | {
        cap.name for payee in payees.values() for cap in caps_of(payee, is_room=True, limits=limits)
    }
    used = queries.used_on(session, today, names)
    ahead = _ahead(session, {account_id: some[0].award_id for account_id, some in items.items()})
    waits = dict[int, Wait]()
    for account_id, some in items.items():
        payee = payees[account_id]
        all_ahead, rooms_ahead = ahead.get(account_id, (0, 0))
        outside = {cap.name for cap in caps_of(payee, is_room=False, limits=limits)}
        before = {
            cap.name: all_ahead if cap.name in outside else rooms_ahead
            for cap in caps_of(payee, is_room=True, limits=limits)
        }
        found = waits_of(some, payee, used, before, limits)
        waits |= {item.award_id: wait for item, wait in zip(some, found, strict=True)}
    return waits


def _ahead(session: Session, firsts: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """By account what of its own waits before this award: credits in all, and of Rooms."""
    asked = table_of(
        "asked",
        {
            "account_id": (BigInteger(), list(firsts)),
            "award_id": (BigInteger(), list(firsts.values())),
        },
    )
    left = EarnQueue.left_credits
    query = (
        select(
            EarnQueue.account_id,
            func.sum(left),
            func.coalesce(func.sum(left).filter(EarnQueue.is_room), 0),
        )
        .join(asked, asked.c.account_id == EarnQueue.account_id)
        .where(EarnQueue.award_id < asked.c.award_id)
        .group_by(EarnQueue.account_id)
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in session.execute(query)}


def _earliest(wait: Wait, not_before: date | None, today: date) -> date | None:
    if wait.days is None:
        return None
    return max(today + timedelta(days=wait.days), not_before or today)
